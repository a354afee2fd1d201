// Package workers shares a fixed number of goroutines fairly between any
// number of jobs that need the processor.
//
// A server that compresses fifty archives at once must not run fifty
// pipelines against two cores: each would hold its own compressors, and the
// largest would crowd out the rest. Here the process has one [Scheduler], with
// as many workers as there are processors. Each job opens a [Queue], submits
// small tasks to it and closes it. Heavy reusable state, such as a compressor,
// belongs to the worker and not to the job: see [Slot].
//
//	sched := workers.New(0)          // one for the process
//	defer sched.Close()
//
//	q := sched.Queue()               // one for each job
//	defer q.Close()
//	err := q.Submit(task)            // task.Run(worker) is called later
//
// Promises:
//   - At most as many tasks run at a time as there are workers.
//   - Clients with pending tasks get equal shares of the workers' time, however many tasks and
//     queues they have, and however long their tasks take. The time of a task is measured. The
//     queues of a client share its part in the same way. A queue without a client counts as a
//     client.
//   - A client without pending tasks does not save up its share, except for a moment: see
//     maxCredit. A client that has used more than its share comes after the others until they have
//     used as much, even if it closes its queues and opens new ones.
//   - Tasks of one queue start in the order of submission. They may run concurrently and end in any
//     order.
//   - After [Queue.Close] returns, no task of the queue runs or will run.
//   - A panic in a task ends its queue and nothing else.
//
// Limits: a task occupies a worker until it returns, so it must neither wait for another task nor
// write to a slow destination; it should take milliseconds. The scheduler does not bound the number
// of pending tasks: the submitter must, by holding a bounded window of results.
package workers

import (
	"container/heap"
	"errors"
	"maps"
	"runtime"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/base/panics"
)

const (
	// minTime is the least that a task is charged: about the time to hand one to a worker, so that
	// a flood of empty tasks is not free.
	minTime = 2 * time.Microsecond
	// maxCredit bounds by how much a client may be ahead of the others when it has tasks again. A
	// stream has no pending task for a moment whenever it waits for a worker's result; the credit
	// makes up for a long task of another client that begins in this moment. A larger credit would
	// let a client that was idle occupy all workers for as long.
	maxCredit = 200 * time.Millisecond
)

// ErrClosed is the error of a queue that was closed, or whose scheduler was.
var ErrClosed = errors.New("workers: queue closed")

// Scheduler runs the tasks of its queues on a fixed number of goroutines.
// Its methods are safe for concurrent use.
type Scheduler struct {
	size    int
	running sync.WaitGroup // the workers' goroutines

	mu      sync.Mutex
	wake    *sync.Cond          // on mu: a queue became ready, or closed was set
	ready   turns               // of clients with pending tasks
	open    map[*Queue]struct{} // also those with tasks that have not returned
	clients map[string]*client
	clock   time.Duration // virtual time: the highest tag of a served client
	arrive  uint64        // counts entries into ready, to break ties in turn
	closed  bool
}

// New starts a scheduler with n workers, or GOMAXPROCS of them when n is not
// positive. The caller ends it with [Scheduler.Close].
func New(n int) *Scheduler {
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	s := &Scheduler{size: n, open: make(map[*Queue]struct{}), clients: make(map[string]*client)}
	s.wake = sync.NewCond(&s.mu)
	for range n {
		s.running.Go(func() { s.work(newWorker()) })
	}
	return s
}

// Workers returns the number of workers.
func (s *Scheduler) Workers() int { return s.size }

// Load is how many tasks are pending, and how many run.
func (s *Scheduler) Load() (pending, running int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for q := range s.open {
		pending += len(q.pending) - q.head
		running += q.running
	}
	return pending, running
}

// Queue opens a queue. On a closed scheduler the queue has already ended.
func (s *Scheduler) Queue() *Queue { return s.QueueOf("") }

// QueueOf opens a queue of a client. All queues of a client together have the share of one unnamed
// queue, so a client with many tasks does not delay others.
func (s *Scheduler) QueueOf(name string) *Queue {
	q := newQueue(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	q.client = s.clientOf(name)
	q.client.queues++
	q.tag = q.client.clock
	if s.closed {
		q.end(ErrClosed)
		return q
	}
	s.open[q] = struct{}{}
	return q
}

// clientOf returns the client with a name, or a new one. A client without queues is remembered
// while it has used more than the others: otherwise it could repeat a request to reset its account.
// The caller holds mu.
func (s *Scheduler) clientOf(name string) *client {
	if c := s.clients[name]; c != nil {
		return c
	}
	maps.DeleteFunc(s.clients, func(_ string, c *client) bool { return c.queues == 0 && c.tag <= s.clock })
	c := &client{turn: turn{place: notReady, tag: s.clock}, name: name}
	if name != "" {
		s.clients[name] = c
	}
	return c
}

// Close ends all queues with [ErrClosed], drops their pending tasks, and returns when the running
// ones have returned and the workers have ended. It may be called twice, but not from a task.
func (s *Scheduler) Close() {
	s.mu.Lock()
	s.closed = true
	for q := range s.open {
		q.end(ErrClosed)
	}
	s.wake.Broadcast()
	s.mu.Unlock()
	s.running.Wait()
}

// work is the main loop of one worker.
func (s *Scheduler) work(w *Worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.ready) == 0 && !s.closed {
			s.wake.Wait()
		}
		if s.closed {
			return
		}
		q, task := s.next()
		expected, started := q.took, time.Now()
		s.mu.Unlock()
		err := run(task, w)
		s.mu.Lock()
		q.took = max(time.Since(started), minTime)
		s.charge(q, q.took-expected)
		q.finished(err)
		s.mu.Unlock()
		// A goroutine that waits for the result can run now, but if all processors are busy only if
		// a worker yields. Results are delivered before new work begins; otherwise the first byte
		// of a stream would wait for its later blocks.
		runtime.Gosched()
		s.mu.Lock()
	}
}

// next takes the first task of the next queue of the next client. The caller holds mu and knows
// that one is ready.
//
// This is start-time fair queueing: a tag is the time that workers have spent, and the lowest tag
// goes first. The time of a task is known when it has returned. Until then the task is charged as
// much as the last one of its queue: otherwise a client with long tasks would get one worker after
// the other. [Scheduler.charge] corrects it.
func (s *Scheduler) next() (q *Queue, t Task) {
	c := s.ready[0].(*client)
	q = c.ready[0].(*Queue)
	s.clock, c.clock = max(s.clock, c.tag), max(c.clock, q.tag)
	t = q.pop()
	q.running++
	q.tag += q.took
	c.tag += q.took
	s.again(&c.ready, q, q.empty())
	s.again(&s.ready, c, len(c.ready) == 0)
	return q, t
}

// charge adds to the time that a queue and its client have used. The caller holds mu.
func (s *Scheduler) charge(q *Queue, took time.Duration) {
	c := q.client
	if q.tag += took; q.place != notReady {
		heap.Fix(&c.ready, q.place)
	}
	if c.tag += took; c.place != notReady {
		heap.Fix(&s.ready, c.place)
	}
}

// again moves the first ready entry behind those with its tag, or removes it if over is set.
func (s *Scheduler) again(ready *turns, first interface{ at() *turn }, over bool) {
	if over {
		heap.Pop(ready)
		return
	}
	s.arrive++
	first.at().arrived = s.arrive
	heap.Fix(ready, 0)
}

// admit makes a queue with a first pending task ready. The caller holds mu.
func (s *Scheduler) admit(q *Queue) {
	c := q.client
	q.tag = max(q.tag, c.clock)
	s.arrive++
	q.arrived = s.arrive
	heap.Push(&c.ready, q)
	if c.place == notReady {
		c.tag, c.arrived = max(c.tag, s.clock-maxCredit), s.arrive
		heap.Push(&s.ready, c)
	}
}

// retire removes a queue that has ended. The caller holds mu.
func (s *Scheduler) retire(q *Queue) {
	c := q.client
	if q.place != notReady {
		heap.Remove(&c.ready, q.place)
		if len(c.ready) == 0 {
			heap.Remove(&s.ready, c.place)
		}
	}
	s.release(q)
}

// release drops a queue once it has ended and its tasks have returned: until then its client is
// charged for them. The caller holds mu.
func (s *Scheduler) release(q *Queue) {
	if q.err == nil || q.running > 0 {
		return
	}
	c := q.client
	if c.queues--; c.queues == 0 && c.tag <= s.clock {
		delete(s.clients, c.name)
	}
	if delete(s.open, q); len(s.open) == 0 {
		clear(s.clients) // no client is left to compare them with
	}
}

// run calls the task and returns its panic as an error.
func run(t Task, w *Worker) error {
	err := panics.Catch(func() error {
		t.Run(w)
		return nil
	})
	if err != nil {
		// The panic may have left a compressor in the middle of a block.
		w.forget()
	}
	return err
}
