package zip

import (
	"context"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/archive/compress/gzip"
)

// Stream writes one large file: its header at once, its content as it comes,
// compressed by all workers, and what is known at the end behind it. It must be
// finished or aborted and is for one goroutine at a time.
//
// The first error stays. An archive with a stream that was not finished has no
// use and must not be written further.
type Stream struct {
	record record
	dst    counting
	z      *gzip.Writer
	kind   Content
	length uint64 // of what has been written so far
	err    error
}

// counting counts what passes.
type counting struct {
	io.Writer
	n uint64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += uint64(max(n, 0))
	return n, err
}

// Stream writes the header of a file with size bytes to dst. A cancelled
// context ends the stream with the context's cause.
func (f *Format) Stream(ctx context.Context, dst io.Writer, m Member, size int64) (*Stream, error) {
	r, err := newRecord(m)
	if err != nil {
		return nil, err
	}
	if r.kind() > kindExecutable {
		return nil, ErrMode
	}
	if size < 0 {
		return nil, ErrSize
	}
	r.bits |= bitDeflated | bitStreamed
	r.size = uint64(size)
	r.set(bitWide, r.size >= wideFrom)
	header := f.local(nil, &r)
	s := &Stream{record: r, dst: counting{Writer: dst}, kind: m.Content}
	if err := s.write(header); err != nil {
		return nil, err
	}
	s.dst.n = 0
	s.z = f.compressor.NewRawWriter(ctx, &s.dst)
	return s, nil
}

// Write takes p and writes to the destination what is compressed of all so far.
func (s *Stream) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if uint64(len(p)) > s.record.size-s.length {
		return 0, s.fail(ErrSize)
	}
	s.look(p)
	n, err := s.z.Write(p)
	s.length += uint64(n)
	if err != nil {
		return n, s.fail(fmt.Errorf("zip: %w", err))
	}
	return n, nil
}

// look decides by the first bytes whether the file is binary.
func (s *Stream) look(p []byte) {
	if s.kind == Guess && s.length < guessed && !Guess.text(p[:min(uint64(len(p)), guessed-s.length)]) {
		s.kind = Binary
	}
}

// Finish writes the rest and appends the record to records. After an error it
// writes nothing, and returns records as they were.
func (s *Stream) Finish(records []byte) ([]byte, error) {
	if s.err != nil {
		return records, s.err
	}
	if s.length != s.record.size {
		return records, s.fail(ErrSize)
	}
	if err := s.z.Close(); err != nil {
		return records, s.fail(fmt.Errorf("zip: %w", err))
	}
	r := &s.record
	r.crc, r.compressed = s.z.Checksum(), s.dst.n
	r.set(bitText, s.kind != Binary)
	if err := s.write(r.descriptor(nil)); err != nil {
		return records, s.fail(err)
	}
	s.err = ErrClosed
	return r.appendTo(records, 0), nil
}

// Abort ends the stream where it is. After Finish, or again, it does nothing;
// so it can be deferred.
func (s *Stream) Abort() {
	if s.err == nil {
		_ = s.fail(ErrClosed)
	}
}

// fail keeps the error and gives back what the compressor holds.
func (s *Stream) fail(err error) error {
	s.err = err
	s.z.Abort()
	return err
}

func (s *Stream) write(p []byte) error { return write(&s.dst, p) }

// write is one write to a destination.
func write(w io.Writer, p []byte) error {
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("zip: write: %w", err)
	}
	return nil
}
