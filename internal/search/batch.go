package search

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/search/index"
	"github.com/repomcp/repomcp/internal/search/pattern"
	"github.com/repomcp/repomcp/internal/search/rank"
)

const (
	// batchFiles is the number of files in a batch.
	batchFiles = 16
	// batchSteps bounds a batch without files to search.
	batchSteps = 1024
	// turnBytes is the amount a batch reads before it yields the worker: some milliseconds.
	turnBytes = 1 << 20
	// packedBytes bounds the packed matching lines of one file. Later lines are searched for on
	// demand.
	packedBytes = 256 << 10
	// maxBuffered bounds the lines that wait to be added to the result. Beyond it less is packed
	// per file, so that no search holds more than twice as much.
	maxBuffered     = 16 << 20
	packedBytesBusy = maxBuffered / (maxWindow * batchFiles)
	// maxSteps bounds the work for one file, which cannot be interrupted: seconds in the worst
	// case. Expressions of up to a hundred steps, as people write them, stay below it for any file
	// of the default size.
	maxSteps = 1 << 29
	// idleBuffer is the largest buffer that a worker keeps between batches.
	idleBuffer = 1 << 20
)

// scratch is the working memory of a worker.
type scratch struct {
	content []byte // the buffer of [Searcher.readText]
	scanner pattern.Scanner
	ranker  rank.Scanner
	packed  []byte
	spans   []pattern.Span // of the line that is shown
}

// batch is a sequence of steps, whose files one worker searches.
type batch struct {
	search   *search
	target   *target
	steps    []step
	todo     []int // the steps with files to search
	buffered int64 // bytes of lines that were found
	done     chan struct{}
}

// Run implements [workers.Task]. It resubmits itself to yield to other tasks.
func (b *batch) Run(w *workers.Worker) {
	sc := b.search.slot.Of(w)
	var read int64
	for len(b.todo) > 0 {
		if b.search.ctx.Err() != nil {
			break
		}
		if read >= turnBytes {
			if b.search.queue.Submit(b) == nil {
				return
			}
			break
		}
		read += b.searchFile(&b.steps[b.todo[0]], sc)
		b.todo = b.todo[1:]
	}
	if cap(sc.content) > idleBuffer {
		sc.content = nil
	}
	close(b.done)
}

// fail notes that the repository could not be opened.
func (b *batch) fail(err error) {
	for _, i := range b.todo {
		b.steps[i].outcome, b.steps[i].err = damaged, err
	}
	b.todo = nil
}

// searchFile searches a file and returns the number of bytes read.
func (b *batch) searchFile(f *step, sc *scratch) int64 {
	s := b.search
	content, err := s.readText(b.target.snapshot, f.id, sc)
	if err != nil {
		f.outcome, f.err = damaged, git.MustExist(f.id, err)
		if errors.Is(err, git.ErrTooLarge) {
			f.outcome, f.err = isLarge, nil
			s.files.putFile(s.fileKey(f), isLarge, nil)
		}
		return 0
	}
	s.read.Add(int64(len(content)))
	switch {
	case f.unsure && !s.query.files.byContent(f.path, content):
		f.outcome = excluded
	case f.outcome != unknown: // only the language was undecided
	default:
		f.outcome, f.found = s.scan(sc, f.path, content)
		s.files.putFile(s.fileKey(f), f.outcome, f.found)
		if lines, ok := f.found.(*packedLines); ok {
			b.buffered += int64(len(lines.packed))
		}
	}
	return int64(len(content))
}

// scan searches a file's content.
func (s *search) scan(sc *scratch, path string, content []byte) (outcome, finding) {
	if diff.Binary(content) {
		return isBinary, nil
	}
	p := s.query.pattern
	if s.query.mayTakeLong(int64(len(content))) {
		return isLarge, nil
	}
	if s.query.symbols != nil { // definitions are looked up only where the names are
		if sc.scanner.Reset(p, content, pattern.Start()); !sc.scanner.Next() {
			return none, nil
		}
	}
	namer := index.NamerOf(path)
	takes, known := s.query.symbols.filter(namer, content)
	switch {
	case !known:
		return noPattern, nil
	case s.ranked != nil:
		return tallyOf(sc, s.query, s.query.textOf(namer, takes, content))
	}
	limit := packedBytes
	if s.buffered.Load() > maxBuffered {
		limit = packedBytesBusy
	}
	f := collectLines(sc, p, takes, content, pattern.Start(), limit)
	if f.lines == 0 {
		return none, nil
	}
	s.buffered.Add(int64(len(f.packed)))
	return matches, f
}

// fileKey returns the key of a file's answer.
func (s *search) fileKey(f *step) fileKey {
	if s.query.ranking == nil && s.query.symbols == nil {
		return fileKey{id: f.id}
	}
	return fileKey{f.id, index.NamerOf(f.path).Language()}
}

// onWorker runs do with a file's content on a worker, and waits.
func (s *search) onWorker(t *target, id git.ID, do func(sc *scratch, content []byte)) error {
	if err := s.openTarget(t); err != nil {
		return err
	}
	done, failed := make(chan struct{}), error(nil)
	task := workers.Func(func(w *workers.Worker) {
		defer close(done)
		sc := s.slot.Of(w)
		content, err := s.readText(t.snapshot, id, sc)
		if failed = git.MustExist(id, err); err == nil {
			do(sc, content)
		}
	})
	if err := s.queue.Submit(task); err != nil {
		return err
	}
	if err := s.wait(done); err != nil {
		return err
	}
	return failed
}

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
