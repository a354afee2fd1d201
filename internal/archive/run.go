package archive

import (
	"context"
	"errors"
	"sync"

	"github.com/repomcp/repomcp/internal/archive/tar"
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

	// maxLinkBytes bounds a symbolic link's target: PATH_MAX of Linux, twice
	// over.
	maxLinkBytes = 8 << 10
)

// run is some consecutive entries of an archive. A worker reads their content
// and makes their part of the archive; the goroutine that writes it puts the
// parts in order. Buffers are used again for the next run.
type run struct {
	source  Source
	module  *module // of all entries' content; nil: the archive's own repository
	limits  Limits
	layout  layout
	ctx     context.Context
	entries []runEntry
	paths   []byte // of all entries, one after another

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
	limit   int   // of entries, for this time
	cut     bool  // its last entry is not where the tree was walked to at a time
	done    chan struct{}
}

type runEntry struct {
	end       int // of its path in paths
	mode      repos.Mode
	id        repos.ID
	treatment *treatment
}

// entry is one member of an archive. Path is raw bytes; a folder's ends in "/".
type entry struct {
	path []byte
	mode repos.Mode
	id   repos.ID

	treatment *treatment
	module    *module // what its content is of; nil: the archive's own repository
}

func newRun(s *stock) *run {
	return &run{
		stock: s, entries: make([]runEntry, 0, runEntries), out: make([]byte, 0, runBuffer),
		done: make(chan struct{}, 1),
	}
}

// reset prepares the run for entries of another place or archive.
func (r *run) reset(ctx context.Context, p *Plan, layout layout, limit int) {
	r.ctx, r.source, r.limits, r.layout, r.limit = ctx, p.source, p.options.Limits, layout, limit
	r.entries, r.paths = r.entries[:0], r.paths[:0]
	r.module, r.cut = nil, false
	r.next, r.forWriter, r.err, r.walkErr, r.records = 0, false, nil, nil, r.records[:0]
}

func (r *run) full() bool { return len(r.entries) >= r.limit }

// into says what repository the entries to come are of. It is false for a run
// that has some of another.
func (r *run) into(s *scope) bool {
	if len(r.entries) > 0 {
		return false
	}
	r.module, r.source = s.module, s.source
	return true
}

// add takes an entry; its path is prefix and path.
func (r *run) add(prefix string, path []byte, e runEntry) {
	r.paths = append(append(r.paths, prefix...), path...)
	e.end = len(r.paths)
	r.entries = append(r.entries, e)
}

func (r *run) entry(i int) entry {
	start := 0
	if i > 0 {
		start = r.entries[i-1].end
	}
	e := r.entries[i]
	return entry{path: r.paths[start:e.end:e.end], mode: e.mode, id: e.id, treatment: e.treatment, module: r.module}
}

// split moves the second half of the entries that are left to an empty run, which
// is to follow.
func (r *run) split(half *run) {
	middle := (r.next + len(r.entries) + 1) / 2
	half.source, half.module = r.source, r.module
	for i := middle; i < len(r.entries); i++ {
		half.add("", r.entry(i).path, r.entries[i])
	}
	half.walkErr, r.walkErr = r.walkErr, nil
	half.cut, r.cut = r.cut, true
	r.entries = r.entries[:middle]
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
	for more := true; more && r.next < len(r.entries) && len(r.out) < runBytes && len(r.held) < heldRun; {
		if r.err = context.Cause(r.ctx); r.err == nil {
			more, r.err = r.make(r.entry(r.next))
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
func (r *run) make(e entry) (more bool, err error) {
	if d, ok := r.layout.(describer); ok {
		r.out, err = d.describe(r, r.out, e)
		return r.finishEntry(err)
	}
	switch {
	case e.mode.IsSymlink():
		target, err := r.source.ReadBlob(e.id, maxLinkBytes, nil)
		if errors.Is(err, repos.ErrTooLarge) {
			return false, errLink
		}
		if err != nil {
			return false, damaged(err)
		}
		return r.bare(e, target)
	case e.mode.IsRegular() && e.treatment.mayBePointer():
		return r.pointed(e)
	case e.mode.IsRegular():
		return r.file(e)
	default:
		return r.bare(e, nil)
	}
}

// finishEntry goes on to the next entry, unless this one failed.
func (r *run) finishEntry(err error) (more bool, failed error) {
	if err != nil {
		return false, damaged(err)
	}
	r.next++
	return true, nil
}

// bare appends an entry without content.
func (r *run) bare(e entry, target []byte) (more bool, err error) {
	out := r.buffer()
	*out, err = r.layout.bare(r, *out, e, target)
	return r.finishEntry(err)
}

// whole appends a file whose content is at hand.
func (r *run) whole(e entry, content []byte) (more bool, err error) {
	out := r.buffer()
	*out, err = r.layout.whole(r, *out, e, content)
	return r.finishEntry(err)
}

// file appends a file. One that is too large for the run's own buffer goes into
// a held one, and so does what follows; or it is left to the goroutine that
// writes.
func (r *run) file(e entry) (more bool, err error) {
	if e.treatment.changes() {
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
func (r *run) treated(e entry) (more bool, err error) {
	if e.treatment.forWriter() {
		r.forWriter = true
		return false, nil
	}
	if content := e.treatment.generated; content != nil {
		return r.addContent(e, content)
	}
	r.stored, err = r.source.ReadBlob(e.id, min(inlineBytes, r.limits.BlobBytes), r.stored[:0])
	if errors.Is(err, repos.ErrTooLarge) {
		r.forWriter = true
		return false, nil
	}
	if err != nil {
		return false, damaged(err)
	}
	if r.converted, err = e.treatment.conversion.Append(r.converted[:0], r.stored, e.id.String()); err != nil {
		return false, err
	}
	return r.whole(e, r.converted)
}

// addContent appends a file whose content is at hand.
func (r *run) addContent(e entry, content []byte) (more bool, err error) {
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
