package limits

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// small bounds are reached by few requests.
func small() bounds {
	return bounds{
		memory: 100, running: 6, queue: 8, clientMemory: 50, clientRunning: 3, clientQueue: 4, perRepository: 3,
		patience: 10 * time.Second,
	}
}

// step is something that happens at a gate.
type step struct {
	work
	hold  time.Duration // how long the request runs
	leave time.Duration // when its client goes away; 0: it does not
	pause time.Duration // before the next step
}

// The rules of the gate: its bounds hold at every moment, no request waits longer than the patience, the
// reason of a refusal is right, and at the end nothing is reserved.
func TestGateKeepsItsBounds(t *testing.T) {
	refused := make(map[Reason]int)
	var granted atomic.Int64
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
			return step{
				work{
					rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(r, "client"),
					rapid.SampledFrom([]string{"", "x", "y"}).Draw(r, "repository"),
					rapid.SampledFrom([]int64{0, 1, 20, 50, 70}).Draw(r, "memory"),
				},
				rapid.SampledFrom([]time.Duration{0, time.Second, 8 * time.Second, time.Minute}).Draw(r, "hold"),
				rapid.SampledFrom([]time.Duration{0, 0, time.Second, 11 * time.Second}).Draw(r, "leave"),
				rapid.SampledFrom([]time.Duration{0, 0, 0, time.Second, 5 * time.Second}).Draw(r, "pause"),
			}
		}), 30, 90).Draw(r, "steps")
		var err error
		synctest.Test(t, func(t *testing.T) { err = walk(t, steps, refused, &granted) })
		if err != nil {
			r.Fatal(err)
		}
	})
	for _, reason := range []Reason{Client, Repository, Server} {
		if refused[reason] == 0 {
			t.Errorf("no request was refused for %s", reason)
		}
	}
	if granted.Load() == 0 {
		t.Error("no request was admitted")
	}
}

// walk does the steps, and looks at the gate after each change.
func walk(t *testing.T, steps []step, refused map[Reason]int, granted *atomic.Int64) error {
	g := newGate(small())
	outcomes := make(chan error, len(steps))
	report := make(chan *Refusal, len(steps))
	for _, s := range steps {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if s.leave > 0 {
			defer time.AfterFunc(s.leave, cancel).Stop()
		}
		go func() {
			start := time.Now()
			grant, err := g.pass(ctx, s.work)
			if waited := time.Since(start); waited > g.patience || errors.Is(err, context.Canceled) &&
				waited > s.leave {
				outcomes <- fmt.Errorf("%v was waited", waited)
				return
			}
			if refusal := RefusalOf(err); refusal != nil {
				report <- refusal
			}
			if err == nil {
				granted.Add(1)
				time.Sleep(s.hold)
				grant.Release()
				grant.Release()
			}
			if err == nil || errors.Is(err, context.Canceled) && s.leave > 0 || RefusalOf(err) != nil {
				outcomes <- nil
				return
			}
			outcomes <- fmt.Errorf("unexpected: %w", err)
		}()
		synctest.Wait()
		if err := g.check(); err != nil {
			return err
		}
		time.Sleep(s.pause)
	}
	for range steps {
		if err := <-outcomes; err != nil {
			return err
		}
		if err := g.check(); err != nil {
			return err
		}
	}
	close(report)
	for refusal := range report {
		refused[refusal.Reason]++
	}
	if len(g.clients)+len(g.repositories)+g.waiting != 0 || g.used != (usage{}) {
		return fmt.Errorf("left: %d clients, %d repositories, %d waiting, %+v", len(g.clients), len(g.repositories),
			g.waiting, g.used)
	}
	return nil
}

// check adds up what clients have, and looks for one that waits for nothing.
func (g *gate) check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var sum usage
	waiting := 0
	for name, c := range g.clients {
		sum.memory, sum.running = sum.memory+c.used.memory, sum.running+c.used.running
		waiting += c.queue.Len()
		if c.used.memory > g.clientMemory || c.used.running > g.clientRunning || c.queue.Len() > g.clientQueue {
			return fmt.Errorf("client %s has %+v and %d waiting", name, c.used, c.queue.Len())
		}
	}
	for name, running := range g.repositories {
		if name != "" && running > g.perRepository {
			return fmt.Errorf("repository %s: %d run", name, running)
		}
	}
	switch t := g.next(); {
	case sum != g.used || waiting != g.waiting:
		return fmt.Errorf("clients have %+v and %d waiting, the gate %+v and %d", sum, waiting, g.used, g.waiting)
	case sum.memory > g.memory || sum.running > g.running || waiting > g.queue:
		return fmt.Errorf("%+v run and %d wait", sum, waiting)
	case t != nil && g.used.running < g.running && g.used.memory+t.memory <= g.memory:
		return fmt.Errorf("%+v waits though there is room", t.work)
	default:
		return nil
	}
}

// A flood of one client does not delay the single request of another by more than what
// runs.
func TestFloodDelaysNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := small()
		b.clientMemory, b.clientRunning, b.clientQueue = b.memory, b.running, b.queue
		g := newGate(b) // without shares, the queue alone has to be fair
		for range b.running + b.queue - 1 {
			go func() {
				if grant, err := g.pass(t.Context(), work{"flood", "", 1}); err == nil {
					time.Sleep(time.Second)
					grant.Release()
				}
			}()
		}
		synctest.Wait()
		start := time.Now()
		grant, err := g.pass(t.Context(), work{"single", "", 1})
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("it waited %v", waited)
		}
		grant.Release()
		time.Sleep(time.Minute) // the flood ends
	})
}

// What is larger than all there may be runs alone; what is refused says why and when.
func TestRefusalsTellWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(small())
		told := 0
		g.whenFull = func() { told++ }
		large, err := g.pass(t.Context(), work{"a", "", 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		refuse := func(w work, want Reason) {
			t.Helper()
			start := time.Now()
			_, err := g.pass(t.Context(), w)
			refusal := RefusalOf(err)
			if refusal == nil || refusal.Reason != want || refusal.RetryAfter <= 0 || time.Since(start) != g.patience {
				t.Errorf("%+v: %v after %v, want %s", w, err, time.Since(start), want)
			}
		}
		refuse(work{"a", "", 1}, Client)
		if told != 0 {
			t.Error("a full share is not a full server")
		}
		other, err := g.pass(t.Context(), work{"b", "x", 50})
		if err != nil {
			t.Fatal(err)
		}
		refuse(work{"c", "y", 1}, Server)
		if told != 1 {
			t.Errorf("it was told %d times that all is in use", told)
		}
		large.Release()
		other.Release()
		for _, name := range []string{"d", "d", "e"} {
			grant, err := g.pass(t.Context(), work{name, "x", 1})
			if err != nil {
				t.Fatal(err)
			}
			defer grant.Release()
		}
		refuse(work{"f", "x", 1}, Repository)
		if grant, err := g.pass(t.Context(), work{"f", "y", 1}); err != nil {
			t.Error(err)
		} else {
			grant.Release()
		}
	})
}

// Every gate is a part of the memory, and the whole is not exceeded.
func TestLimiterDividesTheMemory(t *testing.T) {
	const memory = 1 << 20
	var sum int64
	for _, s := range New(Options{Memory: memory}).States() {
		if s.Gate != "parts" && s.Gate != "openings" { // which have no memory of their own
			sum += s.Limit
		}
	}
	if sum > memory || sum < memory*99/100 {
		t.Errorf("the gates have %d of %d bytes", sum, memory)
	}
	var none *Limiter
	grant, err := none.Stream(t.Context(), "x", 1<<50)
	if err != nil {
		t.Error(err)
	}
	grant.Release()
}

// A part has a place among the parts as long as it runs, and gives it back where there
// is no memory for it.
func TestPartsGiveTheirPlaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Memory: 160})
		var grants []*Grant
		for range rangesPerClient {
			grant, err := l.Part(t.Context(), "x", 1)
			if err != nil {
				t.Fatal(err)
			}
			grants = append(grants, grant)
		}
		if _, err := l.Part(t.Context(), "x", 1); RefusalOf(err) == nil {
			t.Errorf("one part more: %v", err)
		}
		if grant, err := l.Stream(t.Context(), "x", 1); err != nil {
			t.Errorf("a whole beside parts: %v", err)
		} else {
			grant.Release()
		}
		for _, grant := range grants {
			grant.Release()
		}
		whole, err := l.Stream(t.Context(), "x", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Part(t.Context(), "x", 1<<20); RefusalOf(err) == nil {
			t.Errorf("a part without memory: %v", err)
		}
		whole.Release()
		for _, s := range l.States() {
			if s.Running+s.Waiting != 0 || s.Memory != 0 {
				t.Errorf("left: %+v", s)
			}
		}
	})
}

// TestAGrantShrinks gives back a part of a grant: a waiting request is admitted, and the
// sum is right at the end.
func TestAGrantShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Memory: 16, Share: 100})
		first, err := l.Stream(t.Context(), "r", 8)
		if err != nil {
			t.Fatal(err)
		}
		var second *Grant
		go func() {
			if second, err = l.Stream(t.Context(), "r", 5); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		if second != nil {
			t.Error("13 of 8 are reserved")
		}
		first.Shrink(3)
		first.Shrink(7) // it never grows
		synctest.Wait()
		if state := l.States()[0]; state.Memory != 8 || state.Running != 2 {
			t.Errorf("3 and 5 are reserved, and the gate has %+v", state)
		}
		first.Release()
		second.Release()
		if state := l.States()[0]; state.Memory != 0 || state.Running != 0 {
			t.Errorf("nothing is reserved, and the gate has %+v", state)
		}
	})
}

// What a request costs beside others of its client that wait: it does not grow with their number.
func BenchmarkFloodOfOneClient(b *testing.B) {
	for _, waiting := range []int{100, 10_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			g := New(Options{Memory: 1 << 20}).openings
			var running []work
			for range g.running {
				if _, refusal := g.arrive(work{client: "flood"}); refusal != nil {
					b.Fatal(refusal)
				}
				running = append(running, work{client: "flood"})
			}
			for range waiting - 1 {
				if _, refusal := g.arrive(work{client: "flood"}); refusal != nil {
					b.Fatal(refusal)
				}
			}
			for b.Loop() { // one comes, and one goes
				if _, refusal := g.arrive(running[0]); refusal != nil {
					b.Fatal(refusal)
				}
				g.leave(running[0])
			}
		})
	}
}
