package archive

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/archive/workers"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// runEntries is how many entries a worker takes at once: enough to make
	// handing them over cheap, few enough to share a small archive out.
	runEntries = 64
	// runBytes is how much tar a worker makes before it hands it on.
	runBytes = 128 << 10
	// inlineBytes is the size up to which a file is read into the run's buffer.
	inlineBytes = 128 << 10
	// heldBytes is the size up to which a file is read whole by a worker, which
	// is twice as fast as streaming, when one of the few buffers of that size
	// is free. Others flow through the goroutine that writes the archive.
	heldBytes = 2 << 20
	// runBuffer has room for a run that was nearly full before its last file,
	// with that file's headers and padding.
	runBuffer = runBytes + inlineBytes + 4*recordSize
	// runCost is what the scheduler charges for a run: reading a file costs
	// less than compressing it.
	runCost = runBytes / 4

	// maxLinkBytes bounds a symbolic link's target: PATH_MAX of Linux, twice
	// over.
	maxLinkBytes = 8 << 10
)

// run is some consecutive entries of an archive. A worker reads their content
// and makes their part of the tar; the goroutine that writes the archive puts
// the parts in order. Buffers are used again for the next run.
type run struct {
	source  Source
	format  tarFormat
	ctx     context.Context
	entries []runEntry
	paths   []byte // of all entries, one after another

	out   []byte // tar of the entries before next that was not written yet
	held  []byte // the same of one file after those, in a buffer of stock; or nil
	next  int    // the entry to go on with
	large bool   // that entry is a file to be streamed
	err   error  // reading failed at it
	stock *stock

	walkErr error // the tree could not be read after the last entry
	limit   int   // of entries, for this time
	done    chan struct{}
}

type runEntry struct {
	end  int // of its path in paths
	mode repos.Mode
	id   repos.ID
}

func newRun(s *stock) *run {
	return &run{
		stock: s, entries: make([]runEntry, 0, runEntries), out: make([]byte, 0, runBuffer), done: make(chan struct{}, 1),
	}
}

// reset prepares the run for entries of another place or archive.
func (r *run) reset(ctx context.Context, source Source, format tarFormat, limit int) {
	r.ctx, r.source, r.format, r.limit = ctx, source, format, limit
	r.entries, r.paths = r.entries[:0], r.paths[:0]
	r.next, r.large, r.err, r.walkErr = 0, false, nil, nil
}

func (r *run) full() bool { return len(r.entries) >= r.limit }

func (r *run) add(path []byte, mode repos.Mode, id repos.ID) {
	r.paths = append(r.paths, path...)
	r.entries = append(r.entries, runEntry{end: len(r.paths), mode: mode, id: id})
}

func (r *run) entry(i int) entry {
	start := 0
	if i > 0 {
		start = r.entries[i-1].end
	}
	e := r.entries[i]
	return entry{path: r.paths[start:e.end:e.end], mode: e.mode, id: e.id}
}

// Run implements [workers.Task]: it makes tar until the entries are at their
// end, the buffer is full, a file is large or something fails.
func (r *run) Run(*workers.Worker) {
	for more := true; more && r.next < len(r.entries) && len(r.out) < runBytes; {
		if r.err = context.Cause(r.ctx); r.err == nil {
			more, r.err = r.make(r.entry(r.next))
		}
		more = more && r.err == nil
	}
	r.done <- struct{}{}
}

// emptied says that what was made is written, and to be used again.
func (r *run) emptied() {
	r.out = r.out[:0]
	if r.held != nil {
		r.stock.give(r.held)
		r.held = nil
	}
}

// make appends one entry and goes on to the next. It reports whether there is
// room for more.
func (r *run) make(e entry) (more bool, err error) {
	switch {
	case e.mode.IsSymlink():
		target, err := r.source.ReadBlob(e.id, maxLinkBytes, nil)
		if errors.Is(err, repos.ErrTooLarge) {
			return false, errLink
		}
		if err != nil {
			return false, damaged(err)
		}
		r.out = r.format.header(r.out, e, 0, target)
	case e.mode.IsRegular():
		return r.file(e)
	default:
		r.out = r.format.header(r.out, e, 0, nil)
	}
	r.next++
	return true, nil
}

// file appends a file. One that is too large for the run's own buffer goes into
// a held one, and the run ends there; or it is left to be streamed.
func (r *run) file(e entry) (more bool, err error) {
	r.out, err = r.read(r.out, e, inlineBytes)
	if err == nil || !errors.Is(err, repos.ErrTooLarge) {
		return err == nil, damaged(err)
	}
	if r.held = r.stock.take(); r.held == nil {
		r.large = true
		return false, nil
	}
	r.held, err = r.read(r.held, e, heldBytes)
	if errors.Is(err, repos.ErrTooLarge) {
		r.large, err = true, nil
	}
	return false, damaged(err)
}

// read appends a file to a buffer: its content to where that belongs, and then,
// before it, the header, whose size is known only now.
func (r *run) read(buffer []byte, e entry, limit int64) ([]byte, error) {
	out := r.format.header(buffer, e, 0, nil)
	content := len(out)
	out, err := r.source.ReadBlob(e.id, limit, out)
	if err != nil {
		return buffer, err
	}
	size := len(out) - content
	// The last record is the file's own header, also after a pax header.
	header := out[content-recordSize : content]
	octal(header[sizeAt:], longDigits, int64(size))
	checksum(header)
	r.next++
	return pad(out, size), nil
}

// stock is a bounded number of buffers for files of up to heldBytes, shared by
// all archives.
type stock struct {
	buffers chan []byte // nil ones are not made yet
}

func newStock(n int) *stock {
	s := &stock{buffers: make(chan []byte, n)}
	for range n {
		s.buffers <- nil
	}
	return s
}

// take gives an empty buffer, or nil when all are in use.
func (s *stock) take() []byte {
	select {
	case b := <-s.buffers:
		if b == nil {
			b = make([]byte, 0, heldBytes+inlineBytes)
		}
		return b
	default:
		return nil
	}
}

func (s *stock) give(b []byte) { s.buffers <- b[:0] }
