package archive

import (
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/git"

	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/base/workers"
)

// slicedFile is a prover of a file that has so many slices left. It counts how often it is
// open.
type slicedFile struct {
	open    *int
	left    int
	advance func() error // before each slice
}

func (f *slicedFile) Advance(int64) (whole bool, err error) {
	if err := f.advance(); err != nil {
		return false, err
	}
	f.left--
	return f.left == 0, nil
}

func (f *slicedFile) Close() error {
	*f.open--
	return nil
}

// newProof returns a proof of a file of a count of slices in a queue.
func newProof(queue *workers.Queue, count int, open *int, advance func() error) *proof {
	return &proof{
		open:   func() (prover, error) { *open++; return &slicedFile{open, count, advance}, nil },
		submit: func(task workers.Task) error { return queue.Submit(task) },
		done:   make(chan struct{}, 1),
	}
}

// TestTasksOfOthersRunBetweenSlices has a client submit tasks while another one's file
// is compared by the only worker.
func TestTasksOfOthersRunBetweenSlices(t *testing.T) {
	defer goleak.VerifyNone(t)
	scheduler := workers.New(1)
	defer scheduler.Close()
	queue, other := scheduler.QueueOf("a"), scheduler.QueueOf("b")
	var ran []string // by the only worker
	open := 0
	p := newProof(queue, 6, &open, func() error {
		ran = append(ran, "slice")
		return other.Submit(workers.Func(func(*workers.Worker) { ran = append(ran, "other") }))
	})
	if err := p.submit(p); err != nil {
		t.Fatal(err)
	}
	<-p.done
	last := make(chan struct{})
	if err := other.Submit(workers.Func(func(*workers.Worker) { close(last) })); err != nil {
		t.Fatal(err)
	}
	<-last
	if want := slices.Repeat([]string{"slice", "other"}, 6); !slices.Equal(ran, want) {
		t.Errorf("the worker ran %q, want %q", ran, want)
	}
	if open != 0 {
		t.Errorf("the file is open %d times after its proof", open)
	}
}

// TestProofsCloseTheirFile ends a proof in every way that there is.
func TestProofsCloseTheirFile(t *testing.T) {
	defer goleak.VerifyNone(t)
	const all = 5
	for name, end := range map[string]func(p *proof, queue *workers.Queue) error{
		"at its end": func(*proof, *workers.Queue) error { return nil },
		"of damage":  func(*proof, *workers.Queue) error { return git.ErrCorrupt },
		"by a panic": func(*proof, *workers.Queue) error { panic("damage that nothing expected") },
		"with its queue": func(_ *proof, queue *workers.Queue) error {
			go queue.Close() // which waits for this task
			<-queue.Done()
			return nil
		},
		"by its pipeline": func(p *proof, _ *workers.Queue) error {
			go p.end() // which waits for this slice
			return nil
		},
	} {
		for at := 1; at <= all; at++ {
			scheduler := workers.New(1)
			queue := scheduler.Queue()
			open, opened, slice := 0, 0, 0
			var p *proof
			p = newProof(queue, all, &open, func() error {
				opened = max(opened, open)
				if slice++; slice == at {
					return end(p, queue)
				}
				return nil
			})
			if err := p.submit(p); err != nil {
				t.Fatal(err)
			}
			select {
			case <-p.done:
			case <-queue.Done():
			}
			queue.Close()
			p.end() // as the pipeline does
			p.end()
			if open != 0 || opened != 1 {
				t.Errorf("ended %s in slice %d: the file was opened %d times and is open %d times", name, at, opened, open)
			}
			scheduler.Close()
		}
	}
}

// TestPipelineClosesTheFileOfItsProof has a slice that is pending when the archive ends,
// or when a file is next that nothing was proved of.
func TestPipelineClosesTheFileOfItsProof(t *testing.T) {
	engine, err := NewEngine(EngineOptions{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	for name, leave := range map[string]func(l *pipeline) error{
		"release":    func(l *pipeline) error { l.release(); return nil },
		"proveAhead": func(l *pipeline) error { return l.proveAhead(newRun(nil), git.ID{1}) },
	} {
		queue, open := engine.sched.Queue(), 0
		p := newProof(queue, 2, &open, func() error { return nil })
		p.submit = func(workers.Task) error { return nil } // it stays pending
		engine.writing.Add(1)
		l := &pipeline{engine: engine, queue: queue, proof: p}
		p.Run(nil)
		if open != 1 {
			t.Fatalf("after the first slice the file is open %d times, not once", open)
		}
		if err := leave(l); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if open != 0 {
			t.Errorf("after %s the file is open", name)
		}
		queue.Close()
	}
}

// TestProofOfAFileThatCannotBeOpened is over at once.
func TestProofOfAFileThatCannotBeOpened(t *testing.T) {
	scheduler := workers.New(1)
	defer scheduler.Close()
	p := newProof(scheduler.Queue(), 1, new(int), nil)
	p.open = func() (prover, error) { return nil, git.ErrNotFound }
	if err := p.submit(p); err != nil {
		t.Fatal(err)
	}
	<-p.done
}

// ProofSlice is how much of a large file one task compares, for tests of whole archives.
const ProofSlice = proofSlice
