package workers_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/repomcp/repomcp/internal/base/workers"
)

// stream is an archive as the scheduler sees it: tasks of one length, and so many under way.
type stream struct {
	name   string
	takes  time.Duration
	window int
}

// submitTo submits the tasks of a stream until the scheduler is closed, and adds up how long they ran.
func (a stream) submitTo(s *workers.Scheduler, spent *atomic.Int64) {
	q := s.QueueOf(a.name)
	returned := make(chan struct{}, a.window)
	for range a.window {
		returned <- struct{}{}
	}
	go func() {
		for {
			select {
			case <-returned:
			case <-q.Done():
				return
			}
			_ = q.Submit(workers.Func(func(*workers.Worker) { // it fails where the queue has ended
				time.Sleep(a.takes)
				spent.Add(int64(a.takes))
				returned <- struct{}{}
			}))
		}
	}()
}

// However long the tasks of a client are, and however many queues it has, another one with short
// tasks gets its share of the workers' time.
func TestLongTasksTakeNoMoreThanTheirShare(t *testing.T) {
	t.Parallel()
	xz := stream{name: "hog", takes: 400 * time.Millisecond, window: 2}
	zst := stream{name: "hog", takes: 60 * time.Millisecond, window: 2}
	gz := stream{name: "hog", takes: 8 * time.Millisecond, window: 3}
	for name, hogs := range map[string][]stream{
		"one tar.xz and one tar.zst": {xz, zst},
		"four tar.xz":                {xz, xz, xz, xz},
		"four tar.zst":               {zst, zst, zst, zst},
		"seven of each":              slices.Repeat([]stream{xz, zst, gz}, 7),
	} {
		for _, size := range []int{1, 2, 4} {
			synctest.Test(t, func(t *testing.T) {
				s := workers.New(size)
				var hog, good atomic.Int64
				for _, a := range hogs {
					a.submitTo(s, &hog)
				}
				for _, a := range []stream{
					{name: "good", takes: time.Millisecond, window: size},
					{name: "good", takes: 8 * time.Millisecond, window: size},
				} {
					a.submitTo(s, &good)
				}
				const lasts = 20 * time.Second
				time.Sleep(lasts)
				share := 100 * good.Load() / int64(size) / int64(lasts)
				s.Close()
				synctest.Wait()
				if share < 45 || share > 55 {
					t.Errorf("%s beside short tasks on %d workers: these got %d percent of the time, want 45 to 55", name, size, share)
				}
			})
		}
	}
}

// A client with long tasks does not get all workers at once while another one has tasks pending.
func TestLongTasksLeaveAWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := workers.New(2)
		defer s.Close()
		var hog, good atomic.Int64
		stream{name: "hog", takes: 400 * time.Millisecond, window: 4}.submitTo(s, &hog)
		stream{name: "good", takes: time.Millisecond, window: 4}.submitTo(s, &good)
		time.Sleep(time.Second) // how long the tasks take is known now
		const look = 100 * time.Millisecond
		for range 100 {
			before := good.Load()
			if time.Sleep(look); good.Load() == before {
				t.Fatalf("no short task ended in %v", look)
			}
		}
	})
}

// A client that has no task pending for some moments gets what it missed when it has more to do.
func TestPausesAreMadeUpFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := workers.New(1)
		defer s.Close()
		var hog, good atomic.Int64
		stream{name: "hog", takes: 20 * time.Millisecond, window: 4}.submitTo(s, &hog)
		q := s.QueueOf("good")
		for i := range 100 {
			tasks := 1 // few, in a time in which the other one gets nearly all, and now and then many
			if i%6 == 5 {
				tasks = 95
			}
			returned := make(chan struct{}, tasks)
			for range cap(returned) {
				submit(t, q, func(*workers.Worker) {
					time.Sleep(time.Millisecond)
					good.Add(int64(time.Millisecond))
					returned <- struct{}{}
				})
			}
			for range cap(returned) {
				<-returned
			}
			time.Sleep(time.Microsecond) // and here the other client gets the worker
		}
		// It would be a third if what it missed were lost.
		if share := 100 * good.Load() / (good.Load() + hog.Load()); share < 40 || share > 55 {
			t.Errorf("a client that pauses got %d percent of the time, want 40 to 55", share)
		}
	})
}

// What a client has had beyond its share is not forgotten when its requests end.
func TestNewRequestsPayForEarlierOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := workers.New(1)
		var hog, good atomic.Int64
		stream{name: "good", takes: time.Millisecond, window: 3}.submitTo(s, &good)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for err := error(nil); err == nil; {
				q, started := s.QueueOf("hog"), make(chan struct{})
				err = q.Submit(workers.Func(func(*workers.Worker) {
					close(started)
					time.Sleep(time.Second)
					hog.Add(int64(time.Second))
				}))
				select {
				case <-started:
				case <-q.Done():
				}
				q.Close() // its client has gone
			}
		}()
		time.Sleep(time.Minute)
		share := 100 * good.Load() / (good.Load() + hog.Load())
		s.Close()
		<-ended
		synctest.Wait()
		if share < 45 || share > 55 {
			t.Errorf("beside requests that are given up, and sent again, a client got %d percent of the time, want 45 to 55", share)
		}
	})
}
