package archive

import (
	"context"
	"errors"
	"sync"

	"github.com/repomcp/repomcp/internal/archive/tar"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/workers"
)

const (
	// runEntries is how many entries a worker takes at once: enough to make
	// handing them over cheap, few enough to share a small archive out.
	runEntries = 64
	// runBytes is how much tar a worker makes before it hands it on.
	runBytes = 256 << 10
	// inlineBytes is the size up to which a file is read into the run's buffer.
	inlineBytes = 128 << 10
	// heldBytes is the size up to which a file is read whole by a worker, which
	// is twice as fast as streaming, when one of the few buffers of that size
	// is free. Others flow through the goroutine that writes the archive.
	heldBytes = 4 << 20
	// heldRun is how much is read into such a buffer before a run ends: large
	// files often lie beside each other, and are compared with their ids together.
	heldRun = 1 << 20
	// runBuffer has room for a run that was nearly full before its last file,
	// with that file's headers and padding.
	runBuffer = runBytes + inlineBytes + 4*tar.RecordSize
	// runCost is what the scheduler charges for a run: reading a file costs
	// less than compressing it.
	runCost = runBytes / 4
)

// run is some consecutive entries of an archive. A worker reads their content
// and makes their part of the archive; the goroutine that writes it puts the
// parts in order. Buffers are used again for the next run.
type run struct {
	tree.Batch
	limits Limits
	layout layout
	ctx    context.Context

	out       []byte // made of the entries before next that was not written yet
	held      []byte // the same of those from the first large file on, in a buffer of stock; or nil
	next      int    // the entry to go on with
	forWriter bool   // that entry is a file for the goroutine that writes
	err       error  // reading failed at it
	stock     *stock

	// Contents of a file before and after conversion, where they do not go
	// straight into out; kept for the next.
	stored, converted []byte
	records           []byte // of a zip's directory, for what is in out
	worker            *workers.Worker

	walkErr error // the tree could not be read after the last entry
	cut     bool  // its last entry is not where the tree was walked to at a time
	done    chan struct{}
}

func newRun(s *stock) *run {
	r := &run{stock: s, out: make([]byte, 0, runBuffer), done: make(chan struct{}, 1)}
	r.Grow(runEntries)
	return r
}

// reset prepares the run for entries of another place or archive.
func (r *run) reset(ctx context.Context, p *Plan, layout layout, limit int) {
	r.Reset(p.source, limit)
	r.ctx, r.limits, r.layout, r.cut = ctx, p.options.Limits, layout, false
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
	r.makeAll()
	r.done <- struct{}{}
}

// buffer is what the next entry is appended to.
func (r *run) buffer() *[]byte {
	if r.held != nil {
		return &r.held
	}
	return &r.out
}

// makeAll makes entries until they are at their end, the buffer is full, a file is
// large or something fails.
func (r *run) makeAll() {
	r.err = nil
	for more := true; more && r.next < r.Len() && len(r.out) < runBytes && len(r.held) < heldRun; {
		if r.err = context.Cause(r.ctx); r.err == nil {
			more, r.err = r.make(r.Entry(r.next))
		}
		more = more && r.err == nil
	}
}

// emptied says that what was made is written, and to be used again.
func (r *run) emptied() {
	r.out = r.out[:0]
	if r.held != nil {
		r.stock.put(r.held)
		r.held = nil
	}
}

// make appends one entry and goes on to the next. It reports whether there is
// room for more.
func (r *run) make(e tree.Entry) (more bool, err error) {
	if d, ok := r.layout.(describer); ok {
		r.out, err = d.describe(r, r.out, e)
		return r.finishEntry(err)
	}
	switch {
	case e.Mode.IsSymlink():
		target, err := r.Source.ReadBlob(e.ID, tree.MaxLinkBytes, nil)
		if errors.Is(err, repos.ErrTooLarge) {
			return false, tree.ErrLink
		}
		if err != nil {
			return false, tree.Damaged(err)
		}
		return r.bare(e, target)
	case e.Mode.IsRegular() && e.Treatment.MayBePointer():
		return r.pointed(e)
	case e.Mode.IsRegular():
		return r.file(e)
	default:
		return r.bare(e, nil)
	}
}

// finishEntry goes on to the next entry, unless this one failed.
func (r *run) finishEntry(err error) (more bool, failed error) {
	if err != nil {
		return false, tree.Damaged(err)
	}
	r.next++
	return true, nil
}

// bare appends an entry without content.
func (r *run) bare(e tree.Entry, target []byte) (more bool, err error) {
	out := r.buffer()
	*out, err = r.layout.bare(r, *out, e, target)
	return r.finishEntry(err)
}

// whole appends a file whose content is at hand.
func (r *run) whole(e tree.Entry, content []byte) (more bool, err error) {
	out := r.buffer()
	*out, err = r.layout.whole(r, *out, e, content)
	return r.finishEntry(err)
}

// file appends a file. One that is too large for the run's own buffer goes into
// a held one, and so does what follows; or it is left to the goroutine that
// writes.
func (r *run) file(e tree.Entry) (more bool, err error) {
	if e.Treatment.Changes() {
		return r.treated(e)
	}
	if r.held == nil {
		out := r.buffer()
		*out, err = r.layout.read(r, *out, e, min(inlineBytes, r.limits.BlobBytes))
		if !errors.Is(err, repos.ErrTooLarge) {
			return r.finishEntry(err)
		}
		if r.layout.held() {
			r.held = r.stock.take()
		}
		if r.held == nil {
			r.forWriter = true
			return false, nil
		}
	}
	held := r.buffer()
	first := len(*held) == 0
	*held, err = r.layout.read(r, *held, e, min(heldBytes-int64(len(*held)), r.limits.BlobBytes))
	if errors.Is(err, repos.ErrTooLarge) {
		r.forWriter = first // or it begins the next buffer
		return false, nil
	}
	return r.finishEntry(err)
}

// treated appends a small file that is converted.
func (r *run) treated(e tree.Entry) (more bool, err error) {
	if e.Treatment.InOrder() {
		r.forWriter = true
		return false, nil
	}
	if content := e.Treatment.Generated; content != nil {
		return r.addContent(e, content)
	}
	r.stored, err = r.Source.ReadBlob(e.ID, min(inlineBytes, r.limits.BlobBytes), r.stored[:0])
	if errors.Is(err, repos.ErrTooLarge) {
		r.forWriter = true
		return false, nil
	}
	if err != nil {
		return false, tree.Damaged(err)
	}
	if r.converted, err = e.Treatment.Conversion.Append(r.converted[:0], r.stored, e.ID.String()); err != nil {
		return false, err
	}
	return r.whole(e, r.converted)
}

// addContent appends a file whose content is at hand.
func (r *run) addContent(e tree.Entry, content []byte) (more bool, err error) {
	if len(content) > inlineBytes {
		r.forWriter = true
		return false, nil
	}
	return r.whole(e, content)
}

// stock is a bounded number of buffers for files of up to heldBytes, shared by
// all archives. The one that was used last is used next: what no file ever
// filled of the others takes no memory.
type stock struct {
	mu    sync.Mutex
	spare [][]byte
	rest  int // that are not made yet
}

func newStock(n int) *stock { return &stock{rest: n} }

// take gives an empty buffer, or nil when all are in use.
func (s *stock) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.spare) - 1; last >= 0 {
		b := s.spare[last]
		s.spare = s.spare[:last]
		return b
	}
	if s.rest == 0 {
		return nil
	}
	s.rest--
	return make([]byte, 0, heldBytes+inlineBytes)
}

func (s *stock) put(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spare = append(s.spare, b[:0])
}
