package workers

// Worker is the goroutine that runs a task, with state that is reused from task to task. A task
// must not keep it after it returns.
type Worker struct {
	state map[any]any // *Slot[T] → T
}

func newWorker() *Worker { return &Worker{state: make(map[any]any)} }

// forget drops all state; slots are filled again on demand.
func (w *Worker) forget() { clear(w.state) }

// Slot is a place in every worker for a value of type T that is costly to make and used by one task
// at a time: a compressor, an inflater, a scratch buffer. There are as many values as workers,
// however many jobs there are.
//
// Slots live as long as the scheduler: workers never release their values, so a slot is made once
// per process, not for each job.
type Slot[T any] struct {
	make func() T
}

// NewSlot returns a slot whose values come from fill, called at most once for
// each worker unless a task panics.
func NewSlot[T any](fill func() T) *Slot[T] { return &Slot[T]{make: fill} }

// Of returns the worker's value. It may be used until the task returns.
func (s *Slot[T]) Of(w *Worker) T {
	if v, ok := w.state[s]; ok {
		return v.(T)
	}
	v := s.make()
	w.state[s] = v
	return v
}
