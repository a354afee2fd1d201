package search

import (
	"bytes"
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/search/pattern"
	"github.com/repomcp/repomcp/internal/workers"
)

const (
	// batchFiles is how many files a worker gets at once.
	batchFiles = 16
	// batchSteps bounds a batch without files to search.
	batchSteps = 1024
	// turnBytes is after how much reading a batch lets others have the worker: some
	// milliseconds.
	turnBytes = 1 << 20
	// fileCost is what a file is charged: about its bytes, at a tenth of what
	// compressing them would cost.
	fileCost = 4 << 10
	// keptBytes bounds what is kept of one file's matching lines. Later lines are
	// found when asked for.
	keptBytes = 256 << 10
	// maxHeld bounds the lines that wait to be taken. Beyond it less is kept of a
	// file, so that no window takes more than twice as much.
	maxHeld  = 16 << 20
	keptBusy = maxHeld / (maxWindow * batchFiles)
	// maxSteps bounds the work for one file, which is not interrupted: seconds in
	// the worst case. An expression of up to a hundred steps, as people write them,
	// is within it for any file of the default size.
	maxSteps = 1 << 29
	// idleBuffer is the largest buffer that a worker keeps between batches.
	idleBuffer = 1 << 20
	// binaryBytes is how many bytes git looks at: a NUL among them makes a file
	// binary.
	binaryBytes = 8000
)

// scratch is what a worker searches with.
type scratch struct {
	content []byte
	scanner pattern.Scanner
	packed  []byte
	spans   []pattern.Span // of the line that is shown
}

// batch is some steps, whose files a worker searches.
type batch struct {
	search *search
	target *target
	steps  []step
	todo   []*step
	held   int64 // bytes of lines that were found
	done   chan struct{}
}

// Run implements [workers.Task]. It submits itself again when others should have
// their turn.
func (b *batch) Run(w *workers.Worker) {
	sc := b.search.slot.Of(w)
	var read int64
	for len(b.todo) > 0 {
		if b.search.ctx.Err() != nil {
			break
		}
		if read >= turnBytes {
			if b.search.queue.Submit(b, len(b.todo)*fileCost) == nil {
				return
			}
			break
		}
		read += b.one(b.todo[0], sc)
		b.todo = b.todo[1:]
	}
	if cap(sc.content) > idleBuffer {
		sc.content = nil
	}
	close(b.done)
}

// one searches a file and returns how much was read.
func (b *batch) one(f *step, sc *scratch) int64 {
	s := b.search
	content, err := b.target.snapshot.ReadBlob(f.id, s.options.FileBytes, sc.content[:0])
	if err != nil {
		f.outcome, f.err = damaged, named(err)
		if errors.Is(err, repos.ErrTooLarge) {
			f.outcome, f.err = isLarge, nil
			s.files.putFile(f.id, isLarge, nil)
		}
		return 0
	}
	sc.content = content
	s.read.Add(int64(len(content)))
	switch {
	case f.unsure && !s.query.files.byContent(f.path, content):
		f.outcome = excluded
	case f.outcome != unknown: // only the language was
	default:
		f.outcome, f.found = s.scan(sc, content)
		s.files.putFile(f.id, f.outcome, f.found)
		if f.found != nil {
			b.held += int64(len(f.found.packed))
		}
	}
	return int64(len(content))
}

// scan searches a content.
func (s *search) scan(sc *scratch, content []byte) (outcome, *found) {
	if hasNUL(content) {
		return isBinary, nil
	}
	if int64(len(content))*int64(s.query.pattern.Cost()) > maxSteps {
		return isLarge, nil
	}
	limit := keptBytes
	if s.held.Load() > maxHeld {
		limit = keptBusy
	}
	f := collect(sc, s.query.pattern, content, pattern.Start(), limit)
	if f.lines == 0 {
		return none, nil
	}
	s.held.Add(int64(len(f.packed)))
	return matches, f
}

func hasNUL(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), binaryBytes)], 0) >= 0
}

// onWorker runs something with a file's content where batches run, and waits.
func (s *search) onWorker(t *target, id repos.ID, do func(sc *scratch, content []byte)) error {
	done, failed := make(chan struct{}), error(nil)
	task := workers.Func(func(w *workers.Worker) {
		defer close(done)
		sc := s.slot.Of(w)
		content, err := t.snapshot.ReadBlob(id, s.options.FileBytes, sc.content[:0])
		if failed = named(err); err == nil {
			sc.content = content
			do(sc, content)
		}
	})
	if err := s.queue.Submit(task, fileCost); err != nil {
		return err
	}
	if err := s.wait(done); err != nil {
		return err
	}
	return failed
}

// wait waits for a task of the queue.
func (s *search) wait(done <-chan struct{}) error {
	select {
	case <-done:
		return context.Cause(s.ctx)
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	case <-s.queue.Done():
		return s.queue.Err()
	}
}
