package workers

import (
	"sync"
	"time"
)

// Task is a piece of work. It is an interface rather than a function, so that a long-lived value
// can be submitted repeatedly without an allocation.
type Task interface {
	Run(w *Worker)
}

// Func is a function as a [Task].
type Func func(w *Worker)

// Run calls the function.
func (f Func) Run(w *Worker) { f(w) }

// Queue is one job's line of tasks. Its methods are safe for concurrent use, but [Queue.Close] must
// not be called from one of its own tasks.
//
// A queue ends when it is closed, when its scheduler is, or when one of its tasks panics. A
// goroutine that waits for a task's result must wait for [Queue.Done] too, since pending tasks of
// an ended queue never run.
type Queue struct {
	s    *Scheduler
	done chan struct{}

	// Guarded by s.mu.
	idle    *sync.Cond // on s.mu: running fell to zero
	pending []Task
	head    int // pending[:head] has been taken
	running int
	took    time.Duration // duration of the task that returned last
	err     error         // why the queue ended

	// The queue's turn: see Scheduler.next; guarded by s.mu.
	turn
	client *client
}

func newQueue(s *Scheduler) *Queue {
	return &Queue{s: s, done: make(chan struct{}), idle: sync.NewCond(&s.mu), turn: turn{place: notReady}}
}

// Submit appends a task and returns at once. The error is that of an ended queue: see [Queue.Err].
func (q *Queue) Submit(t Task) error {
	s := q.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.err != nil {
		return q.err
	}
	first := q.empty()
	q.push(t)
	if first {
		s.admit(q)
	}
	s.wake.Signal()
	return nil
}

// Done is closed when the queue has ended. Tasks may still be running then.
func (q *Queue) Done() <-chan struct{} { return q.done }

// Err returns nil until the queue has ended, then [ErrClosed] or a
// [*panics.Error].
func (q *Queue) Err() error {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	return q.err
}

// Close drops pending tasks and returns when the running ones have returned: within the time of one
// task. It may be called twice.
func (q *Queue) Close() {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	q.end(ErrClosed)
	for q.running > 0 {
		q.idle.Wait()
	}
}

// end drops pending tasks and keeps the first error. The caller holds s.mu.
func (q *Queue) end(err error) {
	if q.err != nil {
		return
	}
	q.err = err
	q.pending, q.head = nil, 0
	q.s.retire(q)
	close(q.done)
}

// finished records that a running task has returned. The caller holds s.mu.
func (q *Queue) finished(err error) {
	if err != nil {
		q.end(err)
	}
	q.running--
	if q.running == 0 {
		q.s.release(q)
		q.idle.Broadcast()
	}
}

func (q *Queue) empty() bool { return q.head == len(q.pending) }

// push appends a task. It reuses the taken places once they are the greater part, so a queue in
// steady state allocates nothing.
func (q *Queue) push(t Task) {
	if len(q.pending) == cap(q.pending) && q.head > len(q.pending)/2 {
		n := copy(q.pending, q.pending[q.head:])
		clear(q.pending[n:])
		q.pending, q.head = q.pending[:n], 0
	}
	q.pending = append(q.pending, t)
}

func (q *Queue) pop() Task {
	t := q.pending[q.head]
	q.pending[q.head] = nil // the task may hold much memory
	q.head++
	if q.empty() {
		q.pending, q.head = q.pending[:0], 0
	}
	return t
}
