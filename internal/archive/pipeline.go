package archive

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/archive/content"
	"github.com/repomcp/repomcp/internal/base/workers"
)

const (
	// ownRuns is the number of concurrent runs per archive: one that is being written and one that
	// is being made.
	ownRuns = 2
	// crowdedRuns is that number if there are more archives than shared runs: other archives then
	// keep the workers busy during writes.
	crowdedRuns = 1
	// sharedRuns is the number of additional runs per worker for all archives: a single archive can
	// keep all workers busy, and fifty do not need as much memory each.
	sharedRuns = 2
	// firstBytes are written before an archive borrows runs: later content must not take workers
	// from the content that its reader waits for.
	firstBytes = 64 << 10
	// firstRun is the number of entries of the first run, so that the first bytes leave early. Each
	// further run has up to twice as many as the one before.
	firstRun = 2
)

// pipeline writes one archive. Its goroutine walks the tree and submits runs; workers generate
// their parts of the archive; it writes these in order.
type pipeline struct {
	engine *Engine
	ctx    context.Context
	plan   *Plan
	layout layout
	queue  *workers.Queue
	walk   walk
	opener *content.Opener
	proof  *proof // of the next file that the goroutine writes, or nil
	more   bool
	size   int   // of the next run, in entries
	done   int64 // entries written or skipped

	borrowed int // borrowed runs in pending

	trail *trail // nil: no further marks

	pending []*run // submitted, in archive order
	w       io.Writer
	written int64
}

// newPipeline starts at a position; the archive before it counts as written.
func (p *Plan) newPipeline(ctx context.Context, w io.Writer, layout layout, from *position) *pipeline {
	p.engine.writing.Add(1)
	return &pipeline{
		engine: p.engine, ctx: ctx, plan: p, layout: layout, opener: from.opener,
		queue: p.engine.sched.QueueOf(access.ClientOf(ctx)), walk: from.walk, more: true, size: firstRun,
		trail: p.trail(), w: w,
		done: from.entries, written: from.offset,
	}
}

// whole writes an archive from its beginning.
func (l *pipeline) whole() error {
	opening, err := l.layout.opening(nil, l.plan)
	if err == nil {
		err = l.write(opening)
	}
	if err != nil {
		l.release()
		return err
	}
	return l.rest()
}

func (l *pipeline) rest() error {
	defer l.release()
	for {
		if err := l.fill(); err != nil {
			return err
		}
		if len(l.pending) == 0 {
			return l.layout.closing(l)
		}
		if err := l.drain(l.pending[0]); err != nil {
			return err
		}
		l.recycle()
	}
}

// fill submits runs up to the allowed number.
func (l *pipeline) fill() error {
	for l.more && (len(l.pending) < l.engine.ownRuns() || l.borrow()) {
		r := l.engine.runs.Get().(*run)
		r.reset(l.ctx, l.plan, l.layout, l.size)
		l.size = l.nextSize()
		l.more, r.walkErr = l.walk.Fill(&r.Batch)
		l.pending = append(l.pending, r)
		if err := l.submit(r); err != nil {
			return err
		}
	}
	return nil
}

// borrow takes one of the shared runs, if one is free. Only an archive that waits for workers may
// borrow: one that waits for its reader would keep the run for long.
func (l *pipeline) borrow() bool {
	if len(l.pending[0].done) > 0 || l.written < firstBytes {
		return false
	}
	select {
	case <-l.engine.extra:
		l.borrowed++
		return true
	default:
		return false
	}
}

func (l *pipeline) giveBack() {
	if l.borrowed > 0 {
		l.borrowed--
		l.engine.extra <- struct{}{}
	}
}

// nextSize returns the number of entries that fill a run's buffer, by the average so far. A run
// that does not fit delays the following ones, because a worker must continue it after its buffer
// was written.
func (l *pipeline) nextSize() int {
	fit := runEntries
	if l.done > 0 && l.written > 0 {
		fit = int(l.done * (runBytes / 4 * 3) / l.written)
	}
	return max(1, min(fit, 2*l.size, runEntries))
}

func (l *pipeline) submit(task workers.Task) error {
	if err := l.queue.Submit(task); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}

// drain writes all of a run: the workers' parts, and the files that are generated here.
func (l *pipeline) drain(r *run) error {
	for {
		if err := l.wait(r.done); err != nil {
			return err
		}
		if err := l.layout.beforeWrite(r); err != nil {
			return err
		}
		if err := l.write(r.out); err != nil {
			return err
		}
		if err := l.write(r.large); err != nil {
			return err
		}
		r.clearOutput()
		switch {
		case r.err != nil:
			return r.err
		case r.forWriter:
			if err := l.streamFile(r); err != nil {
				return err
			}
			r.next, r.forWriter = r.next+1, false
		case r.next == r.Len():
			return r.walkErr
		}
		if err := l.resubmit(r); err != nil {
			return err
		}
	}
}

func (l *pipeline) wait(done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-l.ctx.Done():
		return context.Cause(l.ctx)
	case <-l.queue.Done():
		return fmt.Errorf("archive: %w", l.queue.Err())
	}
}

// resubmit submits the rest of the first run, as two halves if possible: it delays all others, and
// only one worker can process each half.
func (l *pipeline) resubmit(r *run) error {
	if r.Len()-r.next < 2 || !l.borrow() {
		return l.submit(r)
	}
	half := l.engine.runs.Get().(*run)
	half.reset(l.ctx, l.plan, l.layout, 0)
	r.split(half)
	l.pending = slices.Insert(l.pending, 1, half)
	if err := l.submit(r); err != nil {
		return err
	}
	return l.submit(half)
}

// streamFile writes the next file of a run, which is large or must be generated in order.
func (l *pipeline) streamFile(r *run) error {
	e := r.Entry(r.next)
	if err := l.proveAhead(r, e.ID); err != nil {
		return err
	}
	size, write, err := l.opener.Open(e)
	if err != nil {
		return err
	}
	return r.framing.stream(l, e, size, write)
}

// Write implements [io.Writer] for the content of such files.
func (l *pipeline) Write(p []byte) (int, error) {
	if err := l.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (l *pipeline) write(p []byte) error {
	if err := context.Cause(l.ctx); err != nil {
		return err
	}
	if l.written+int64(len(p)) > l.plan.options.Limits.Bytes {
		return l.plan.options.Limits.BytesExceeded()
	}
	n, err := l.w.Write(p)
	l.written += int64(n)
	return err
}

// recycle returns the written run to the pool.
func (l *pipeline) recycle() {
	l.done += int64(l.pending[0].Len())
	l.mark(l.pending[0])
	l.engine.runs.Put(l.pending[0])
	copy(l.pending, l.pending[1:])
	l.pending[len(l.pending)-1] = nil
	l.pending = l.pending[:len(l.pending)-1]
	l.giveBack()
}

// mark records the position in the archive after a run.
func (l *pipeline) mark(r *run) {
	if r.ordered() {
		l.trail = nil // later content depends on this run
	}
	if l.trail != nil && !r.cut {
		l.trail.note(mark{l.done, l.written})
	}
}

// release ends the queue. After that no worker uses the runs. Runs of a failed archive may have
// unread results, so they are not reused, but their shared resources are returned.
func (l *pipeline) release() {
	l.queue.Close()
	l.proof.end()
	l.engine.writing.Add(-1)
	for _, r := range l.pending {
		r.clearOutput()
	}
	for l.borrowed > 0 {
		l.giveBack()
	}
}
