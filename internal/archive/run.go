package archive

import (
	"context"

	"github.com/repomcp/repomcp/internal/archive/tar"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/base/workers"
)

const (
	// runEntries is how many entries a worker takes at once: enough to make
	// handing them over cheap, few enough to share a small archive out.
	runEntries = 64
	// runBytes is how much tar a worker makes before it hands it on.
	runBytes = 256 << 10
	// inlineBytes is the size up to which a file is read into the run's buffer.
	inlineBytes = 128 << 10
	// largeBytes is the size up to which a file is read whole by a worker, which
	// is twice as fast as streaming, when one of the few buffers of that size
	// is free. Others flow through the goroutine that writes the archive.
	largeBytes = 4 << 20
	// largeRun is how much is read into such a buffer before a run ends: large
	// files often lie beside each other, and are compared with their ids together.
	largeRun = 1 << 20
	// runBuffer has room for a run that was nearly full before its last file,
	// with that file's headers and padding.
	runBuffer = runBytes + inlineBytes + 4*tar.RecordSize
)

// run is some consecutive entries of an archive. A worker reads their content
// and makes their part of the archive; the goroutine that writes it puts the
// parts in order. Buffers are used again for the next run.
type run struct {
	tree.Batch
	limits  Limits
	layout  layout
	framing framing // the same, if it has members
	ctx     context.Context
	patches *patching // nil: files are written whole

	out       []byte        // made of the entries before next that was not written yet
	large     []byte        // the same of those from the first large file on, or nil
	next      int           // the entry to go on with
	forWriter bool          // that entry is a file for the goroutine that writes
	err       error         // reading failed at it
	buffers   *largeBuffers // that large is one of

	// Contents of a file before and after conversion, where they do not go
	// straight into out; kept for the next.
	stored, converted []byte
	records           []byte // of a zip's directory, for what is in out
	worker            *workers.Worker

	walkErr error // the tree could not be read after the last entry
	cut     bool  // its last entry is not where the tree was walked to at a time
	done    chan struct{}
}

func newRun(buffers *largeBuffers) *run {
	r := &run{buffers: buffers, out: make([]byte, 0, runBuffer), done: make(chan struct{}, 1)}
	r.Grow(runEntries)
	return r
}

// reset prepares the run for entries of another place or archive.
func (r *run) reset(ctx context.Context, p *Plan, layout layout, limit int) {
	r.Reset(p.source, limit)
	r.ctx, r.limits, r.layout, r.cut = ctx, p.options.Limits, layout, false
	r.framing, _ = layout.(framing)
	r.patches = p.patching
	r.next, r.forWriter, r.err, r.walkErr, r.records = 0, false, nil, nil, r.records[:0]
}

// split moves the second half of the entries that are left to an empty run, which
// is to follow.
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

// buffer is what the next entry is appended to.
func (r *run) buffer() *[]byte {
	if r.large != nil {
		return &r.large
	}
	return &r.out
}

// appendEntries goes on until entries are at their end, the buffer is full, a file
// is large or something fails.
func (r *run) appendEntries() {
	r.err = nil
	for more := true; more && r.next < r.Len() && len(r.out) < runBytes && len(r.large) < largeRun; {
		if r.err = context.Cause(r.ctx); r.err == nil {
			more, r.err = r.appendEntry(r.Entry(r.next))
		}
		more = more && r.err == nil
	}
}

// clearOutput makes room in the buffers, whose content is written.
func (r *run) clearOutput() {
	r.out = r.out[:0]
	if cap(r.out) > 2*runBuffer { // a large patch was in it
		r.out = make([]byte, 0, runBuffer)
	}
	if r.large != nil {
		r.buffers.put(r.large)
		r.large = nil
	}
}
