package archive

import (
	"sync"

	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/git"
)

// proofSlice is how much of a file one task compares: some ten milliseconds of work, so that a file
// of 5 GiB does not keep a worker from the tasks of other clients.
const proofSlice = 2 << 20

// proof lets workers compare a large file with its id while the previous file is written: the whole
// file must be read for that before its first byte is written, which is half of its work.
type proof struct {
	id     git.ID
	open   func() (prover, error)
	submit func(workers.Task) error
	done   chan struct{} // the comparison is over

	mu     sync.Mutex // held while a slice is compared
	prover prover     // nil before the first slice
	ended  bool
}

// prover is a [git.Prover].
type prover interface {
	Advance(most int64) (whole bool, err error)
	Close() error
}

// Run implements [workers.Task]: it compares the next slice and submits the rest. It ignores
// errors: the pipeline meets the same error when it opens the file.
func (p *proof) Run(*workers.Worker) {
	if p.advance() && p.submit(p) == nil {
		return
	}
	p.end()
	p.done <- struct{}{}
}

// advance compares the next slice, and reports whether there are more.
func (p *proof) advance() (more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	if p.prover == nil {
		opened, err := p.open()
		if err != nil {
			return false
		}
		p.prover = opened
	}
	whole, err := p.prover.Advance(proofSlice)
	return !whole && err == nil
}

// end closes the file, after the slice that is being compared. Pending tasks do nothing more.
func (p *proof) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.prover != nil {
		_ = p.prover.Close() // it was only read
		p.prover = nil
	}
}

// proveAhead starts the proof of the file after the next one of a run, and waits for the proof of
// the next one, if there is one.
func (l *pipeline) proveAhead(r *run, next git.ID) error {
	known := l.proof
	defer known.end()
	if err := l.proveSecond(r); err != nil {
		return err
	}
	if known == nil || known.id != next {
		return nil
	}
	return l.wait(known.done)
}

// proveSecond starts the proof of the file after the next one of a run, if it is large as well.
func (l *pipeline) proveSecond(r *run) error {
	l.proof = nil
	if r.next+1 >= r.Len() {
		return nil
	}
	e := r.Entry(r.next + 1)
	if !e.Mode.IsRegular() || e.Treatment != nil {
		return nil
	}
	if size, err := r.Source.Size(e.ID); err != nil || size <= largeBytes || size > l.plan.options.Limits.BlobBytes {
		return nil // the pipeline reports the error in its turn
	}
	ctx, source := l.ctx, r.Source
	l.proof = &proof{
		id: e.ID, submit: l.submit, done: make(chan struct{}, 1),
		open: func() (prover, error) { return source.OpenProver(ctx, e.ID) },
	}
	return l.submit(l.proof)
}
