package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Entry is bytes that were found or are being built. It is used by one goroutine.
type Entry struct {
	cache     *Cache
	key       Key
	mediaType string
	build     Build
	reserve   Reserve
	known     *Identity
	object    *object // in object storage
	reader    *reader // nil: not begun, or lost
	flight    *flight // source of the reader; nil: the disk
	losses    int
}

// Identity returns the size and the digest of the whole, if known: for found bytes, and for built
// bytes after they were written completely.
func (e *Entry) Identity() (Identity, bool) {
	if e.known == nil {
		return Identity{}, false
	}
	return *e.known, true
}

// ErrNoRedirect means that the bytes must be written instead.
var ErrNoRedirect = errors.New("there is no address to redirect to")

// ErrInsecure means that the address has no TLS and is not on the loopback interface: eavesdroppers
// could download from it.
var ErrInsecure = errors.New("the address is neither https nor of the loopback interface")

// Redirect returns a URL from which anyone can GET the whole bytes for [RedirectExpiry]. It is a
// secret. Clients save the content as fileName, if object storage supports that. After an error the
// bytes can still be written.
func (e *Entry) Redirect(ctx context.Context, fileName string) (string, error) {
	if e.object == nil {
		return "", ErrNoRedirect
	}
	return e.cache.objects.sign(ctx, e.key, fileName)
}

// WriteTo writes all bytes. After an error, the bytes in w are incomplete.
func (e *Entry) WriteTo(ctx context.Context, w io.Writer) error {
	return e.WriteRange(ctx, w, 0, -1)
}

// WriteRange writes length bytes from offset on, or all to the end if length is negative. A range
// beyond the end is [io.ErrUnexpectedEOF].
func (e *Entry) WriteRange(ctx context.Context, w io.Writer, offset, length int64) error {
	end := int64(-1)
	if length >= 0 {
		end = offset + length
	}
	if offset < 0 || length >= 0 && end < offset || e.known != nil && max(offset, end) > e.known.Size {
		return fmt.Errorf("the range is not within the bytes: %w", io.ErrUnexpectedEOF)
	}
	e.detachUnless(offset)
	for {
		if err := e.begin(ctx, offset); err != nil {
			return err
		}
		err := e.copy(ctx, w, end)
		offset = e.reader.pos
		if !errors.Is(err, errLost) && !errors.Is(err, errAbandoned) || e.flight != nil && e.flight.private {
			return err
		}
		e.detach()
		e.losses++
		e.cache.count.lost.Add(1)
	}
}

// copy writes from the reader's position on. If a build replaces found bytes, copy withholds the
// last byte until both are known to be identical.
func (e *Entry) copy(ctx context.Context, w io.Writer, end int64) error {
	r := e.reader
	if e.flight != nil && e.known != nil && e.known.Size > 0 && (end < 0 || end == e.known.Size) {
		if err := r.copyTo(ctx, w, max(r.pos, e.known.Size-1)); err != nil {
			return err
		}
		whole, err := r.spool.waitEnd(ctx)
		if err != nil {
			return err
		}
		if whole != *e.known {
			return errDiffers
		}
	}
	if err := r.copyTo(ctx, w, end); err != nil || end >= 0 {
		return err
	}
	whole, err := r.spool.waitEnd(ctx)
	if err == nil {
		e.known = &whole
	}
	return err
}

// fromDisk attaches a reader to the file on disk, if there is one.
func (e *Entry) fromDisk() bool {
	s, ok := e.cache.disk.open(e.key)
	if !ok {
		return false
	}
	defer s.release()
	r, ok := s.attach(0, true)
	if !ok {
		return false
	}
	e.cache.count.hits.Add(1)
	whole := s.whole
	e.reader, e.known = r, &whole
	return true
}

// begin attaches a reader if there is none. A client that was too slow for two shared builds gets a
// build of its own.
func (e *Entry) begin(ctx context.Context, pos int64) error {
	if e.reader != nil {
		return nil
	}
	q := &request{
		key: e.key, mediaType: e.mediaType, build: e.build, reserve: e.reserve, pos: pos, object: e.object,
		expected: e.known, private: e.losses > 1,
	}
	f, r, err := e.cache.join(ctx, q)
	if err == nil {
		e.flight, e.reader = f, r
	}
	return err
}

// detachUnless moves the reader to a position, or detaches it if that is impossible.
func (e *Entry) detachUnless(pos int64) {
	if e.reader == nil || e.reader.pos == pos {
		return
	}
	s := e.reader.spool
	r, ok := s.attach(pos, e.flight == nil)
	if !ok {
		e.detach()
		return
	}
	e.reader.close()
	e.reader = r
}

func (e *Entry) detach() {
	if e.reader == nil {
		return
	}
	e.reader.close()
	if e.flight != nil {
		e.cache.leave(e.flight)
	}
	e.reader, e.flight = nil, nil
}

// Close ends reading. A build without other readers ends as well.
func (e *Entry) Close() { e.detach() }
