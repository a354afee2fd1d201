package cache

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"sync"
)

// chunk is the unit of reading and verification.
type chunk = [chunkBytes]byte

func newChunks() *sync.Pool { return &sync.Pool{New: func() any { return new(chunk) }} }

var (
	// errLost means that a reader needs another spool to continue.
	errLost = errors.New("the bytes have left the window")
	// errAbandoned ends a build without readers.
	errAbandoned = errors.New("the build has no reader")
)

// spool holds growing or complete bytes for any number of readers.
//
// Chunks below filed are in the file and are verified at each read. Chunks from first on are in
// memory: with a file only the chunk being filled, without it a window. Chunks in between are lost.
type spool struct {
	pool    *sync.Pool
	window  int    // chunks in memory
	damaged func() // called when the file differs from what was written
	closed  func() // called when the last reference is released

	mu      sync.Mutex
	refs    int
	readers map[*reader]struct{} // readers that set the pace
	file    file
	filing  bool // new chunks go to the file
	filed   int64
	first   int64
	memory  []*chunk
	sums    []sum
	written int64
	ended   bool
	err     error
	whole   Identity // set once ended without an error
	grown   signal   // readers can continue
	room    signal   // the writer may continue, or the pace may have changed
}

// signal wakes any number of waiters. It is guarded by the lock of its spool.
type signal struct{ channel chan struct{} }

// next returns a channel that is closed at the next signal.
func (s *signal) next() <-chan struct{} {
	if s.channel == nil {
		s.channel = make(chan struct{})
	}
	return s.channel
}

func (s *signal) give() {
	if s.channel != nil {
		close(s.channel)
		s.channel = nil
	}
}

// growingSpool returns a spool for a build. The caller holds a reference.
func growingSpool(pool *sync.Pool, window int) *spool {
	return &spool{
		pool: pool, window: window, refs: 1, readers: make(map[*reader]struct{}), damaged: func() {}, closed: func() {},
	}
}

// storedSpool returns the spool of a complete file.
func storedSpool(f file, s seal, pool *sync.Pool, damaged, closed func()) *spool {
	return &spool{
		pool: pool, refs: 1, readers: make(map[*reader]struct{}), damaged: damaged, closed: closed,
		file: f, filed: chunksOf(s.Size), first: chunksOf(s.Size), sums: s.table, written: s.Size, ended: true,
		whole: s.Identity,
	}
}

// retain takes a reference, which keeps the file open, unless the spool is closed.
func (s *spool) retain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs == 0 {
		return false
	}
	s.refs++
	return true
}

// release drops a reference. The last one closes the file.
func (s *spool) release() {
	s.mu.Lock()
	s.refs--
	if s.refs > 0 {
		s.mu.Unlock()
		return
	}
	if s.file != nil {
		_ = s.file.Close() // already synced, or useless
	}
	for _, c := range s.memory {
		s.pool.Put(c)
	}
	s.memory, s.sums = nil, nil
	s.mu.Unlock()
	s.closed()
}

// attach creates a reader at a position, if its bytes are not lost. A passive reader does not set
// the pace.
func (s *spool) attach(pos int64, passive bool) (*reader, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs == 0 || s.lost(pos/chunkBytes) {
		return nil, false
	}
	r := &reader{spool: s, pos: pos}
	if !passive {
		s.readers[r] = struct{}{}
	}
	s.refs++
	return r, true
}

// lost reports whether a chunk is neither in the file nor in memory.
func (s *spool) lost(k int64) bool { return k >= s.filed && k < s.first }

// complete reports whether all bytes are written; the file may not be committed yet.
func (s *spool) complete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended && s.err == nil
}

// useFile sets the file that the bytes are written to.
func (s *spool) useFile(f file, damaged func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file, s.filing, s.damaged = f, true, damaged
}

// end marks the end of writing, with its error if any, and wakes the readers.
func (s *spool) end(whole Identity, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.whole, s.err = true, whole, err
	s.grown.give()
}

// waitEnd waits for the end of writing and returns the identity of the bytes.
func (s *spool) waitEnd(ctx context.Context) (Identity, error) {
	for {
		s.mu.Lock()
		if s.ended {
			defer s.mu.Unlock()
			return s.whole, s.err
		}
		grown := s.grown.next()
		s.mu.Unlock()
		if err := wait(ctx, grown); err != nil {
			return Identity{}, err
		}
	}
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// spoolWriter is the writing end of a spool, for a build.
type spoolWriter struct {
	ctx    context.Context
	spool  *spool
	draft  *draft // nil: none, or failed
	whole  hash.Hash
	tail   *chunk // being filled; the last chunk in memory
	filled int
	err    error // sticky: a build that ignores write errors must not seem complete
}

func newSpoolWriter(ctx context.Context, s *spool, d *draft) *spoolWriter {
	return &spoolWriter{ctx: ctx, spool: s, draft: d, whole: sha256.New()}
}

// Write accepts all of p, unless the build has to end.
func (w *spoolWriter) Write(p []byte) (int, error) {
	total := 0
	for len(p) > 0 {
		n, err := w.writeChunk(p)
		total += n
		if err != nil {
			w.err = err
			return total, err
		}
		p = p[n:]
	}
	return total, nil
}

// writeChunk writes what fits into the tail.
func (w *spoolWriter) writeChunk(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if err := context.Cause(w.ctx); err != nil {
		return 0, err
	}
	if w.tail == nil {
		if err := w.newTail(); err != nil {
			return 0, err
		}
	}
	// Readers read the tail only up to the written length.
	n := copy(w.tail[w.filled:], p)
	w.whole.Write(p[:n])
	w.filled += n
	s := w.spool
	s.mu.Lock()
	s.written += int64(n)
	s.grown.give()
	s.mu.Unlock()
	if w.filled == chunkBytes {
		w.completeChunk()
	}
	return n, nil
}

// newTail waits for room in the window.
func (w *spoolWriter) newTail() error {
	for {
		room, err := w.spool.makeRoom()
		if err != nil {
			return err
		}
		if room == nil {
			break
		}
		if err := wait(w.ctx, room); err != nil {
			return err
		}
	}
	w.tail, w.filled = w.spool.pool.Get().(*chunk), 0
	s := w.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory = append(s.memory, w.tail)
	return nil
}

// makeRoom drops the oldest chunk of a full window once the fastest reader has passed it. Otherwise
// it returns a channel to wait for.
func (s *spool) makeRoom() (<-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.memory) < s.window {
		return nil, nil
	}
	if len(s.readers) == 0 {
		return nil, errAbandoned
	}
	fastest := int64(0)
	for r := range s.readers {
		fastest = max(fastest, r.pos)
	}
	if fastest < (s.first+1)*chunkBytes {
		return s.room.next(), nil
	}
	s.pool.Put(s.memory[0])
	s.memory = append(s.memory[:0], s.memory[1:]...)
	s.first++
	return nil, nil
}

// completeChunk computes the digest of the tail and writes the tail to the file, if there is one.
// After a disk failure, this and later chunks are kept in memory.
func (w *spoolWriter) completeChunk() {
	content := w.tail[:w.filled]
	digest := sha256.Sum256(content)
	if w.draft != nil && !w.draft.write(content) {
		w.draft = nil
	}
	s := w.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums = append(s.sums, digest)
	s.filing = w.draft != nil
	if s.filing {
		s.pool.Put(w.tail)
		s.memory = s.memory[:0]
		s.filed++
		s.first++
	}
	w.tail = nil
}

// finish completes the last chunk and returns the seal, without waking the readers.
func (w *spoolWriter) finish() seal {
	if w.tail != nil {
		w.completeChunk()
	}
	s := w.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	return seal{Identity: Identity{s.written, sum(w.whole.Sum(nil))}, table: s.sums}
}

// reader is a position in a spool. It is used by one goroutine.
type reader struct {
	spool *spool
	pos   int64 // changed with the spool's lock held
}

// close must be called once.
func (r *reader) close() {
	s := r.spool
	s.mu.Lock()
	delete(s.readers, r)
	s.room.give()
	s.mu.Unlock()
	s.release()
}

// advance moves the reader past delivered bytes.
func (r *reader) advance(n int) {
	r.spool.mu.Lock()
	defer r.spool.mu.Unlock()
	r.pos += int64(n)
	r.spool.room.give()
}

// copyTo writes up to a position, or to the end if that is negative.
func (r *reader) copyTo(ctx context.Context, w io.Writer, end int64) error {
	buffer := r.spool.pool.Get().(*chunk)
	defer r.spool.pool.Put(buffer)
	for end < 0 || r.pos < end {
		p, err := r.next(ctx, buffer)
		if errors.Is(err, io.EOF) && end < 0 {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if end >= 0 {
			p = p[:min(int64(len(p)), end-r.pos)]
		}
		n, err := w.Write(p)
		r.advance(n)
		if err != nil {
			return err
		}
		if n < len(p) {
			return io.ErrShortWrite
		}
	}
	return nil
}

// next waits for bytes at the reader's position and returns some, at most to the end of their
// chunk.
func (r *reader) next(ctx context.Context, buffer *chunk) ([]byte, error) {
	s, k, skip := r.spool, r.pos/chunkBytes, r.pos%chunkBytes
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		s.mu.Lock()
		there := min(chunkBytes, s.written-k*chunkBytes) // available bytes of the chunk
		switch {
		case s.err != nil:
			defer s.mu.Unlock()
			return nil, s.err
		case skip < there && k < s.filed:
			digest := s.sums[k]
			s.mu.Unlock()
			return s.readFile(buffer[:there], k, digest, skip)
		case skip < there && k >= s.first:
			defer s.mu.Unlock()
			return buffer[:copy(buffer[:], s.memory[k-s.first][skip:there])], nil
		case skip < there:
			s.mu.Unlock()
			return nil, errLost
		case s.ended:
			over := r.pos > s.written
			s.mu.Unlock()
			if over {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, io.EOF
		}
		grown := s.grown.next()
		s.mu.Unlock()
		if err := wait(ctx, grown); err != nil {
			return nil, err
		}
	}
}

// readFile reads a chunk and verifies it. Unreadable files are dropped. The buffer is not shared
// yet, so the lock is not needed.
func (s *spool) readFile(p []byte, k int64, digest sum, skip int64) ([]byte, error) {
	if _, err := s.file.ReadAt(p, k*chunkBytes); err != nil || sha256.Sum256(p) != digest {
		s.damaged()
		return nil, errLost
	}
	return p[skip:], nil
}
