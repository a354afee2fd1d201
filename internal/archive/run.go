package archive

import (
	"context"

	"github.com/repomcp/repomcp/internal/archive/tar"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/base/workers"
)

const (
	// runEntries is the maximal number of entries per run: enough to make submitting cheap, and few
	// enough to divide a small archive among workers.
	runEntries = 64
	// runBytes is the amount of tar after which a worker ends a run.
	runBytes = 256 << 10
	// inlineBytes bounds files that are read into the run's buffer.
	inlineBytes = 128 << 10
	// largeBytes bounds files that a worker reads whole, which is twice as fast as streaming, if
	// one of the few buffers of that size is free. Other files are streamed by the writing
	// goroutine.
	largeBytes = 4 << 20
	// largeRun is the amount in such a buffer after which a run ends: large files are often
	// adjacent, and are verified together.
	largeRun = 1 << 20
	// runBuffer has room for a run that is nearly full before its last file, with that file's
	// headers and padding.
	runBuffer = runBytes + inlineBytes + 4*tar.RecordSize
)

// run is a sequence of consecutive entries. A worker reads their content and generates their part
// of the archive; the writing goroutine writes the parts in order. Buffers are reused.
type run struct {
	tree.Batch
	limits  Limits
	layout  layout
	framing framing // the same as layout, if it has members
	ctx     context.Context
	patches *patching // nil: files are written whole

	out       []byte        // unwritten bytes of the entries before next
	large     []byte        // the same from the first large file on, or nil
	next      int           // the next entry to append
	forWriter bool          // that entry is a file for the writing goroutine
	err       error         // reading that entry failed
	buffers   *largeBuffers // pool of large

	// Contents of a file before and after conversion, if they do not go directly into out; reused.
	stored, converted []byte
	records           []byte // of a zip's directory, for out
	packed            packed // of a checkout
	worker            *workers.Worker

	walkErr error // the tree is unreadable after the last entry
	cut     bool  // its end is not a position of the walk
	done    chan struct{}
}

func newRun(buffers *largeBuffers) *run {
	r := &run{buffers: buffers, out: make([]byte, 0, runBuffer), done: make(chan struct{}, 1)}
	r.Grow(runEntries)
	return r
}

// reset prepares the run for other entries or another archive.
func (r *run) reset(ctx context.Context, p *Plan, layout layout, limit int) {
	r.Reset(p.source, limit)
	r.ctx, r.limits, r.layout, r.cut = ctx, p.options.Limits, layout, false
	r.framing, _ = layout.(framing)
	r.patches = p.patching
	r.packed.reset()
	r.next, r.forWriter, r.err, r.walkErr, r.records = 0, false, nil, nil, r.records[:0]
}

// split moves the second half of the remaining entries to an empty run, which follows this one.
func (r *run) split(half *run) {
	r.Split((r.next+r.Len()+1)/2, &half.Batch)
	half.walkErr, r.walkErr = r.walkErr, nil
	half.cut, r.cut = r.cut, true
}

// Run implements [workers.Task].
func (r *run) Run(w *workers.Worker) {
	r.worker = w
	r.appendEntries()
	r.done <- struct{}{}
}

// buffer returns the buffer for the next entry.
func (r *run) buffer() *[]byte {
	if r.large != nil {
		return &r.large
	}
	return &r.out
}

// appendEntries continues to the end of the entries, a full buffer, a large file or an error.
func (r *run) appendEntries() {
	r.err = nil
	for more := true; more && r.next < r.Len() && len(r.out) < runBytes && len(r.large) < largeRun; {
		if r.err = context.Cause(r.ctx); r.err == nil {
			more, r.err = r.appendEntry(r.Entry(r.next))
		}
		more = more && r.err == nil
	}
}

// clearOutput empties the buffers after a write.
func (r *run) clearOutput() {
	r.out = r.out[:0]
	if cap(r.out) > 2*runBuffer { // it contained a large patch
		r.out = make([]byte, 0, runBuffer)
	}
	if r.large != nil {
		r.buffers.put(r.large)
		r.large = nil
	}
}
