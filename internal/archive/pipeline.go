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
	// ownRuns is how many runs every archive has under way: one that is being
	// written and one that is being made.
	ownRuns = 2
	// crowdedRuns is how many it has where there are more archives than runs to
	// share: the others keep the workers busy while one is being written.
	crowdedRuns = 1
	// sharedRuns is how many more there may be of all archives together, for
	// each worker: a single archive can keep all workers busy, and fifty do not
	// need as much memory each.
	sharedRuns = 2
	// firstBytes are written before an archive borrows: what comes later must not
	// take the workers from what its reader waits for.
	firstBytes = 64 << 10
	// firstRun is how many entries the first run has, so that the first bytes
	// leave early. Further runs have up to twice as many as the one before.
	firstRun = 2
)

// pipeline writes one archive. Its goroutine walks the tree and hands out
// runs; workers make their part of the archive; it writes their parts in order.
type pipeline struct {
	engine *Engine
	ctx    context.Context
	plan   *Plan
	layout layout
	queue  *workers.Queue
	walk   walk
	opener *content.Opener
	proof  *proof // of the file that the goroutine writes next, or nil
	more   bool
	size   int   // of the next run, in entries
	done   int64 // entries written, and skipped

	borrowed int // runs in the window beyond its own

	trail *trail // nil: no more marks

	window  []*run // under way, in the order of the archive
	w       io.Writer
	written int64
}

// newPipeline starts at an offset: what the archive has before it is taken for
// written.
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

// rest writes the entries and the closing.
func (l *pipeline) rest() error {
	defer l.release()
	for {
		if err := l.fill(); err != nil {
			return err
		}
		if len(l.window) == 0 {
			return l.layout.closing(l)
		}
		if err := l.drain(l.window[0]); err != nil {
			return err
		}
		l.recycle()
	}
}

// fill hands out runs until as many as allowed are under way.
func (l *pipeline) fill() error {
	for l.more && (len(l.window) < l.engine.ownRuns() || l.borrow()) {
		r := l.engine.runs.Get().(*run)
		r.reset(l.ctx, l.plan, l.layout, l.size)
		l.size = l.nextSize()
		l.more, r.walkErr = l.walk.Fill(&r.Batch)
		l.window = append(l.window, r)
		if err := l.submit(r); err != nil {
			return err
		}
	}
	return nil
}

// borrow takes one of the runs that archives share, if one is left. Only an
// archive that waits for workers may: one that waits for its reader would keep
// what it borrowed.
func (l *pipeline) borrow() bool {
	if len(l.window[0].done) > 0 || l.written < firstBytes {
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

// nextSize is how many entries fill a run's buffer, by the average so far. A
// run that does not fit holds up those behind it: when its buffer was written,
// a worker has to come back to it.
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

// drain writes all of a run: what workers made, and the files between that are
// made here.
func (l *pipeline) drain(r *run) error {
	for {
		if err := l.wait(r.done); err != nil {
			return err
		}
		l.layout.beforeWrite(r)
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

// wait waits for a worker.
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

// resubmit hands out what is left of the first run, in two halves if it can: it
// holds up all the others, and only one worker can be at each.
func (l *pipeline) resubmit(r *run) error {
	if r.Len()-r.next < 2 || !l.borrow() {
		return l.submit(r)
	}
	half := l.engine.runs.Get().(*run)
	half.reset(l.ctx, l.plan, l.layout, 0)
	r.split(half)
	l.window = slices.Insert(l.window, 1, half)
	if err := l.submit(r); err != nil {
		return err
	}
	return l.submit(half)
}

// streamFile writes the next file of a run, which is large or has to be made in
// order.
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

// recycle gives back the run that was written.
func (l *pipeline) recycle() {
	l.done += int64(l.window[0].Len())
	l.mark(l.window[0])
	l.engine.runs.Put(l.window[0])
	copy(l.window, l.window[1:])
	l.window[len(l.window)-1] = nil
	l.window = l.window[:len(l.window)-1]
	l.giveBack()
}

// mark notes where the archive has got to with a run.
func (l *pipeline) mark(r *run) {
	if r.ordered() {
		l.trail = nil // what follows depends on it
	}
	if l.trail != nil && !r.cut {
		l.trail.note(mark{l.done, l.written})
	}
}

// release ends the queue. After that no worker touches the runs; those of an
// archive that failed may have a result waiting, so they are not used again,
// but what they took from the engine is given back.
func (l *pipeline) release() {
	l.queue.Close()
	l.proof.end()
	l.engine.writing.Add(-1)
	for _, r := range l.window {
		r.clearOutput()
	}
	for l.borrowed > 0 {
		l.giveBack()
	}
}
