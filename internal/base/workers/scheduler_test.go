package workers_test

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/base/workers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gate occupies a worker until it is opened, so that a test can line up tasks
// before any of them runs.
type gate struct{ reached, opened chan struct{} }

func holdWorker(t *testing.T, s *workers.Scheduler) gate {
	t.Helper()
	g := gate{make(chan struct{}), make(chan struct{})}
	q := s.Queue()
	submit(t, q, func(*workers.Worker) { close(g.reached); <-g.opened })
	<-g.reached
	return g
}

func (g gate) open() { close(g.opened) }

func submit(t *testing.T, q *workers.Queue, f workers.Func) {
	t.Helper()
	if err := q.Submit(f); err != nil {
		t.Fatalf("Submit: %v", err)
	}
}

// order runs the tasks that lineUp fills in, on one worker, and returns which
// queue each belonged to in the order in which they ran. The clock is that of a bubble.
func order(
	t *testing.T, lineUp func(s *workers.Scheduler, mark func(q *workers.Queue, id int, takes time.Duration)),
) (ran []int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := workers.New(1)
		defer s.Close()
		g := holdWorker(t, s)
		var pending sync.WaitGroup
		lineUp(s, func(q *workers.Queue, id int, takes time.Duration) {
			pending.Add(1)
			submit(t, q, func(*workers.Worker) { // only the one worker writes, until all is done
				ran = append(ran, id)
				time.Sleep(takes)
				pending.Done()
			})
		})
		g.open()
		pending.Wait()
	})
	return ran
}

func TestQueuesTakeTurns(t *testing.T) {
	const queues, tasks, backlog = 50, 10, 1000
	ran := order(t, func(s *workers.Scheduler, mark func(*workers.Queue, int, time.Duration)) {
		for id := range queues {
			q := s.Queue()
			n := tasks
			if id == 0 {
				n = backlog // the big one comes first and must not starve the rest
			}
			for range n {
				mark(q, id, time.Millisecond)
			}
		}
	})
	counts := make([]int, queues)
	for i, id := range ran[:queues*tasks] {
		counts[id]++
		if round := i / queues; counts[id] != round+1 {
			t.Fatalf("task %d: queue %d has run %d tasks in round %d", i, id, counts[id], round)
		}
	}
}

// A client with many queues has the share of one with one, and its queues take turns.
func TestQueuesOfAClientShareOnePart(t *testing.T) {
	const crowd, tasks = 20, 10
	ran := order(t, func(s *workers.Scheduler, mark func(*workers.Queue, int, time.Duration)) {
		for range crowd {
			q := s.QueueOf("crowd")
			for range tasks {
				mark(q, 0, time.Millisecond)
			}
		}
		for id := 1; id <= 2; id++ {
			q := s.QueueOf([]string{"", "single", ""}[id]) // one with a name, and one without
			for range tasks {
				mark(q, id, time.Millisecond)
			}
		}
	})
	counts := make([]int, 3)
	for i, id := range ran[:3*tasks] {
		if counts[id]++; counts[id] != i/3+1 {
			t.Fatalf("task %d: client %d has run %d tasks", i, id, counts[id])
		}
	}
}

// What a client's queues leave behind is nothing: it begins anew.
func TestClientsAreForgotten(t *testing.T) {
	s := workers.New(1)
	defer s.Close()
	for range 3 {
		first, second := s.QueueOf("a"), s.QueueOf("a")
		var ran sync.WaitGroup
		ran.Add(2)
		for _, q := range []*workers.Queue{first, second} {
			submit(t, q, func(*workers.Worker) { ran.Done() })
		}
		ran.Wait()
		first.Close()
		second.Close()
		if n := s.Clients(); n != 0 {
			t.Fatalf("%d clients are known", n)
		}
	}
}

func TestSharesAreOfTime_NotOfTasks(t *testing.T) {
	const heavy, light, factor = 0, 1, 8
	ran := order(t, func(s *workers.Scheduler, mark func(*workers.Queue, int, time.Duration)) {
		q, p := s.Queue(), s.Queue()
		for range 10 {
			mark(q, heavy, factor*time.Millisecond)
		}
		for range 10 * factor {
			mark(p, light, time.Millisecond)
		}
	})
	balance := 0 // time of the heavy queue less that of the light one
	for i, id := range ran {
		if id == heavy {
			balance += factor
		} else {
			balance--
		}
		if balance > factor || balance < -factor {
			t.Fatalf("after task %d the queues are %d ms apart", i, balance)
		}
	}
}

// What a client did not use it has lost, but for less than a task of this test.
func TestIdleQueueSavesNoTurns(t *testing.T) {
	const busy, sleeper, tasks = 0, 1, 10
	ran := order(t, func(s *workers.Scheduler, mark func(*workers.Queue, int, time.Duration)) {
		q, p := s.Queue(), s.Queue()
		for i := range 2 * tasks {
			if i == tasks {
				// Runs inside the busy queue's turn, and fills the sleeper.
				submit(t, q, func(*workers.Worker) {
					for range tasks {
						mark(p, sleeper, workers.MaxCredit)
					}
				})
			}
			mark(q, busy, workers.MaxCredit)
		}
	})
	// The two alternate after the sleeper has woken: in every stretch of three
	// there is one of each, give or take the first.
	for i := tasks + 1; i+3 < 3*tasks-1; i++ {
		if ran[i] == ran[i+1] && ran[i+1] == ran[i+2] && ran[i+2] == ran[i+3] {
			t.Fatalf("queue %d had four turns in a row at %d: %v", ran[i], i, ran)
		}
	}
}

func TestTasksOfAQueueStartInOrder(t *testing.T) {
	ran := order(t, func(s *workers.Scheduler, mark func(*workers.Queue, int, time.Duration)) {
		q := s.Queue()
		for id := range 1000 {
			mark(q, id, 0)
		}
	})
	for i, id := range ran {
		if i != id {
			t.Fatalf("task %d ran at place %d", id, i)
		}
	}
}

func TestNeverMoreTasksThanWorkers(t *testing.T) {
	const size = 3
	s := workers.New(size)
	defer s.Close()
	if s.Workers() != size {
		t.Fatalf("Workers() = %d", s.Workers())
	}
	var now, most atomic.Int32
	var pending sync.WaitGroup
	for range 20 {
		q := s.Queue()
		for range 50 {
			pending.Add(1)
			submit(t, q, func(*workers.Worker) {
				defer pending.Done()
				n := now.Add(1)
				defer now.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
			})
		}
	}
	pending.Wait()
	if most.Load() > size {
		t.Fatalf("%d tasks at a time", most.Load())
	}
}

func TestQueueClose_DropsPendingAndWaitsForRunning(t *testing.T) {
	s := workers.New(1)
	defer s.Close()
	q := s.Queue()
	started, finish := make(chan struct{}), make(chan struct{})
	var returned, dropped atomic.Bool
	submit(t, q, func(*workers.Worker) { close(started); <-finish; returned.Store(true) })
	submit(t, q, func(*workers.Worker) { dropped.Store(true) })
	<-started
	go func() { <-q.Done(); close(finish) }() // closing has begun, and must be waiting
	q.Close()
	q.Close()
	if !returned.Load() {
		t.Error("Close returned before the running task")
	}
	if err := q.Submit(workers.Func(func(*workers.Worker) {})); !errors.Is(err, workers.ErrClosed) {
		t.Errorf("Submit after Close: %v", err)
	}
	s.Close()
	if dropped.Load() {
		t.Error("a dropped task ran")
	}
}

func TestSchedulerClose_EndsQueues(t *testing.T) {
	s := workers.New(2)
	q := s.Queue()
	s.Close()
	s.Close()
	<-q.Done()
	if !errors.Is(q.Err(), workers.ErrClosed) {
		t.Errorf("Err() = %v", q.Err())
	}
	late := s.Queue()
	<-late.Done()
	if err := late.Submit(workers.Func(func(*workers.Worker) {})); !errors.Is(err, workers.ErrClosed) {
		t.Errorf("Submit to a closed scheduler: %v", err)
	}
	late.Close()
}

func TestPanicEndsItsQueueOnly(t *testing.T) {
	s := workers.New(1)
	defer s.Close()
	slot := workers.NewSlot(func() *int { return new(int) })
	bad, good := s.Queue(), s.Queue()
	var before, after *int
	var pending sync.WaitGroup
	pending.Add(1)
	g := holdWorker(t, s)
	submit(t, bad, func(w *workers.Worker) { before = slot.Of(w); panic(io.ErrUnexpectedEOF) })
	submit(t, bad, func(*workers.Worker) { t.Error("a task ran in an ended queue") })
	submit(t, good, func(w *workers.Worker) { after = slot.Of(w); pending.Done() })
	g.open()
	<-bad.Done()
	pending.Wait()

	var p *panics.Error
	if err := bad.Err(); !errors.As(err, &p) || !errors.Is(err, io.ErrUnexpectedEOF) || len(p.Stack) == 0 {
		t.Errorf("Err() = %v", err)
	}
	if before == after {
		t.Error("the state a panic left behind was used again")
	}
	if good.Err() != nil {
		t.Errorf("the other queue: %v", good.Err())
	}
	bad.Close()
}

func TestSlotKeepsOneValueForEachWorker(t *testing.T) {
	const size = 4
	s := workers.New(size)
	defer s.Close()
	var made atomic.Int32
	slot := workers.NewSlot(func() int32 { return made.Add(1) })
	other := workers.NewSlot(func() int32 { return -1 })
	q := s.Queue()
	defer q.Close()
	var pending sync.WaitGroup
	for range 200 {
		pending.Add(1)
		submit(t, q, func(w *workers.Worker) {
			defer pending.Done()
			if first := slot.Of(w); slot.Of(w) != first || other.Of(w) != -1 {
				t.Error("a slot changed its value")
			}
		})
	}
	pending.Wait()
	if n := made.Load(); n < 1 || n > size {
		t.Errorf("%d values for %d workers", n, size)
	}
}

// A queue that never runs empty must not grow.
func TestSteadyQueueAllocatesNothing(t *testing.T) {
	s := workers.New(1)
	defer s.Close()
	q := s.Queue()
	defer q.Close()
	ran := make(chan struct{}, 4)
	task := workers.Task(workers.Func(func(*workers.Worker) { ran <- struct{}{} }))
	for range 3 {
		if err := q.Submit(task); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(1000, func() {
		if err := q.Submit(task); err != nil {
			t.Fatal(err)
		}
		<-ran
	}); n != 0 {
		t.Errorf("%v allocations for each task", n)
	}
}

func BenchmarkSubmit(b *testing.B) {
	s := workers.New(0)
	defer s.Close()
	q := s.Queue()
	defer q.Close()
	var pending sync.WaitGroup
	task := workers.Task(workers.Func(func(*workers.Worker) { pending.Done() }))
	b.ReportAllocs()
	for b.Loop() {
		pending.Add(1)
		if err := q.Submit(task); err != nil {
			b.Fatal(err)
		}
	}
	pending.Wait()
}
