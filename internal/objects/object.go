package objects

import (
	"crypto/sha1"
	"errors"
	"hash"
	"io"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/inflate"
)

// Object is an open object: a stream of exactly Size bytes. It pins the packs
// it reads until it is closed, even when its Snapshot was closed before. One
// goroutine may use it at a time.
type Object struct {
	kind     Type
	size     int64
	id       ID
	left     int64
	source   source
	hash     hash.Hash
	err      error // of every further Read
	damage   func(error) error
	release  func()
	store    *Store
	finished atomic.Bool // closed
}

// source reads the bytes of an object, and io.EOF only when every check of its
// own has passed.
type source interface {
	io.Reader
	close()
}

// Type is the object's type.
func (o *Object) Type() Type { return o.kind }

// Size is the object's length in bytes.
func (o *Object) Size() int64 { return o.size }

// Verify makes the object compare its bytes with its id while they are read.
// Call it before the first Read. Loose objects are compared in any case.
func (o *Object) Verify() {
	if o.hash == nil && o.left == o.size {
		o.hash = sha1.New()
		o.hash.Write(appendHeader(nil, o.kind, o.size))
		if s, ok := o.source.(*stream); ok { // the id says more than the checksum
			s.inflater.SkipChecksum = true
		}
	}
}

// Read reads the object's bytes, then returns io.EOF. The last of them come only after
// all checks have passed: on damage there is a [*CorruptError] instead, so a
// caller that reads exactly Size bytes is as safe as one that reads to the end.
func (o *Object) Read(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := o.read(p)
	o.err = err
	return n, err
}

func (o *Object) read(p []byte) (int, error) {
	p = p[:min(int64(len(p)), o.left)]
	n, err := 0, error(nil)
	if len(p) > 0 {
		n, err = o.source.Read(p)
	}
	o.left -= int64(n)
	if o.hash != nil {
		o.hash.Write(p[:n])
	}
	if o.left > 0 {
		if err != nil {
			return n, o.failed(sizeError(err))
		}
		return n, nil
	}
	if err == nil {
		err = ended(o.source)
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = o.compare(o.hash)
	}
	if err != nil {
		return 0, o.failed(err)
	}
	if n == 0 {
		return 0, io.EOF
	}
	o.hash = nil // compared; what follows is only the end
	o.source.close()
	o.source = nothing{}
	return n, nil
}

// readExactly fills dst from a source, which must end there.
func readExactly(s io.Reader, dst []byte) error {
	if _, err := io.ReadFull(s, dst); err != nil {
		return sizeError(err)
	}
	return ended(s)
}

// sizeError tells a stream that ended properly, but too early for the size
// that was declared, from one that was cut off.
func sizeError(err error) error {
	if errors.Is(err, io.EOF) {
		return errWrongSize
	}
	return err
}

// streamBuffer is what streams are read by.
const streamBuffer = 32 << 10

// ended checks that a source has no more bytes than were read of it.
func ended(s io.Reader) error {
	var extra [1]byte
	switch n, err := io.ReadFull(s, extra[:]); {
	case n > 0:
		return errWrongSize
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

// compare checks the id by the hash of the whole object, if there is one.
func (o *Object) compare(sum hash.Hash) error {
	if sum == nil {
		return nil
	}
	var got ID
	if sum.Sum(got[:0]); got != o.id {
		return errWrongID
	}
	return nil
}

func (o *Object) failed(err error) error { return about(o.id, o.damage(err)) }

// Close releases what the object holds. Closing it again does nothing.
func (o *Object) Close() error {
	if o.finished.Swap(true) {
		return nil
	}
	o.err = ErrClosed
	o.source.close()
	if o.release != nil {
		o.release()
	}
	return nil
}

// trustedSize is up to which size memory is allocated because an object says
// that it is so long. Beyond it memory grows with the bytes that arrive: the
// header of a delta can declare any size.
const trustedSize = 1 << 20

// appendTo reads the whole object.
func (o *Object) appendTo(buf []byte) ([]byte, error) {
	start := len(buf)
	for o.left > 0 {
		done := len(buf)
		buf = grow(buf, min(o.left, max(trustedSize, int64(done-start))))
		if _, err := io.ReadFull(o, buf[done:]); err != nil {
			return nil, err
		}
	}
	if o.size == 0 { // Read has not been called, nor the checks been made
		var none [1]byte
		if _, err := o.Read(none[:]); !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return buf, nil
}

// nothing is a source at its end.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }
func (nothing) close()                   {}

// memory is a source whose bytes were resolved before. The buffer is pooled
// unless it is large.
type memory struct {
	rest  []byte
	buf   *[]byte
	store *Store
}

func (m *memory) Read(p []byte) (int, error) {
	if len(m.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func (m *memory) close() {
	m.rest = nil
	if m.buf != nil {
		m.store.giveBuffer(m.buf)
		m.buf = nil
	}
}

// stream is a source that inflates from a file.
type stream struct {
	inflater *inflate.Reader
	store    *Store
	last     func(*inflate.Reader) error // a further check at the end; may be nil
	closing  func()                      // may be nil
}

func (s *stream) Read(p []byte) (int, error) {
	if s.inflater == nil {
		return 0, ErrClosed
	}
	n, err := s.inflater.Read(p)
	if errors.Is(err, io.EOF) && s.last != nil {
		if failure := s.last(s.inflater); failure != nil {
			err = failure
		}
	}
	return n, err
}

func (s *stream) close() {
	if s.inflater != nil {
		s.store.giveInflater(s.inflater)
		s.inflater = nil
		if s.closing != nil {
			s.closing()
		}
	}
}
