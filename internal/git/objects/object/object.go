package object

import (
	"crypto/sha1"
	"errors"
	"hash"
	"io"
	"slices"
	"sync/atomic"
)

// Object is an open object: a stream of exactly Size bytes. It pins the packs that it reads until
// it is closed. One goroutine may use it at a time.
type Object struct {
	kind    Type
	size    int64
	id      ID
	left    int64
	source  Source
	hash    hash.Hash
	err     error // returned by every further Read
	damage  func(error) error
	release func() // may be nil
	buffers *Buffers
	closed  atomic.Bool
}

// Source reads the bytes of an object, and returns io.EOF only when all of its own checks have
// passed. It is closed once.
type Source interface {
	io.Reader
	// Held is how much memory the source holds until it is closed.
	Held() int64
	Close()
}

// Rewinder is a source that can restart more cheaply than a new source. It stays open at its end.
type Rewinder interface {
	Rewind() error
}

// New returns an object whose bytes come from a source, which it owns. Every read error passes
// through damage, which adds the place of the bytes.
func New(b *Buffers, id ID, kind Type, size int64, source Source, damage func(error) error) *Object {
	return &Object{id: id, kind: kind, size: size, left: size, source: source, damage: damage, buffers: b}
}

// OnClose sets a function that Close calls at its end.
func (o *Object) OnClose(release func()) { o.release = release }

// Type is the object's type.
func (o *Object) Type() Type { return o.kind }

// Size is the object's length in bytes.
func (o *Object) Size() int64 { return o.size }

// Held is how many bytes of memory the object holds at most until it is closed, with the buffers of
// [Object.WriteTo]. It does not grow with the size of the object, apart from a few bytes for each
// MiB.
func (o *Object) Held() int64 {
	buffers := int64(pieceBytes)
	if o.readsAhead() {
		buffers *= pieces
	}
	return o.source.Held() + buffers
}

// Verify makes the object compare its bytes with its id while they are read. Call it before the
// first Read. Loose objects are always compared.
func (o *Object) Verify() {
	if o.hash == nil && o.left == o.size {
		o.hash = sha1.New()
		o.hash.Write(AppendHeader(nil, o.kind, o.size))
		if s, ok := o.source.(interface{ SkipChecksum() }); ok { // the id proves more
			s.SkipChecksum()
		}
	}
}

// Read reads the object's bytes, then returns io.EOF. It returns the last bytes only after all
// checks have passed: on damage there is a [*CorruptError] instead, so a caller that reads exactly
// Size bytes is as safe as one that reads to the end.
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
			return n, o.failed(SizeError(err))
		}
		return n, nil
	}
	if err == nil {
		err = Ended(o.source)
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
	o.hash = nil // it was compared; only the end is left
	if _, again := o.source.(Rewinder); !again {
		o.source.Close()
		o.source = Bytes(nil)
	}
	return n, nil
}

// again restarts the object after all of it was read. It opens the object again unless its source
// can be rewound.
func (o *Object) again(open func() (*Object, error)) (*Object, error) {
	source, ok := o.source.(Rewinder)
	if !ok {
		_ = o.Close() // it was only read
		return open()
	}
	if err := source.Rewind(); err != nil {
		return nil, closedAfter(o, o.failed(err))
	}
	o.left, o.err = o.size, nil
	return o, nil
}

// SizeError distinguishes a stream that ended properly, but before the declared size, from a
// truncated one.
func SizeError(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrWrongSize
	}
	return err
}

// Ended checks that a source has no further bytes.
func Ended(s io.Reader) error {
	var extra [1]byte
	switch n, err := io.ReadFull(s, extra[:]); {
	case n > 0:
		return ErrWrongSize
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
		return ErrWrongID
	}
	return nil
}

func (o *Object) failed(err error) error { return About(o.id, o.damage(err)) }

// Close releases what the object holds. Closing it again does nothing.
func (o *Object) Close() error {
	if o.closed.Swap(true) {
		return nil
	}
	o.err = ErrClosed
	o.source.Close()
	if o.release != nil {
		o.release()
	}
	return nil
}

// trustedSize is the declared size up to which memory is allocated in advance. Beyond it memory
// grows with the bytes that arrive: the header of a delta can declare any size.
const trustedSize = 1 << 20

// AppendTo appends the rest of the object to buf.
func (o *Object) AppendTo(buf []byte) ([]byte, error) {
	if o.left == 0 {
		if err := o.end(); err != nil {
			return nil, err
		}
	}
	start := len(buf)
	for o.left > 0 {
		done := len(buf)
		buf = Grow(buf, min(o.left, max(trustedSize, int64(done-start))))
		if _, err := io.ReadFull(o, buf[done:]); err != nil {
			return nil, err
		}
	}
	return buf, nil
}

// end checks an object of which all was read, unless that was done.
func (o *Object) end() error {
	var none [1]byte
	if _, err := o.Read(none[:]); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// Grow lengthens b by n bytes of undefined content.
func Grow(b []byte, n int64) []byte {
	return slices.Grow(b, int(n))[:len(b)+int(n)]
}
