package zip

import (
	"context"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/archive/compress/gzip"
)

// Stream writes one large file: first its header, then its content, compressed by all workers, and
// finally the data that is only known at the end. It must be finished or aborted and is used by one
// goroutine at a time.
//
// The first error sticks. An archive with an unfinished stream is useless and must not be
// continued.
type Stream struct {
	record record
	dst    counting
	z      *gzip.Writer
	kind   Content
	length uint64 // bytes written so far
	err    error
}

// counting counts written bytes.
type counting struct {
	io.Writer
	n uint64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += uint64(max(n, 0))
	return n, err
}

// Stream writes the header of a file with size bytes to dst. A cancelled context ends the stream
// with the context's cause.
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

// Write writes p, and the compressed data that is available.
func (s *Stream) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if uint64(len(p)) > s.record.size-s.length {
		return 0, s.fail(ErrSize)
	}
	s.classify(p)
	n, err := s.z.Write(p)
	s.length += uint64(n)
	if err != nil {
		return n, s.fail(fmt.Errorf("zip: %w", err))
	}
	return n, nil
}

// classify decides by the first bytes whether the file is binary.
func (s *Stream) classify(p []byte) {
	if s.kind == Guess && s.length < guessed && !Guess.text(p[:min(uint64(len(p)), guessed-s.length)]) {
		s.kind = Binary
	}
}

// Finish writes the rest and appends the record to records. After an error it writes nothing, and
// returns records unchanged.
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

// Abort ends the stream prematurely. It does nothing after Finish or Abort, so it can be deferred.
func (s *Stream) Abort() {
	if s.err == nil {
		_ = s.fail(ErrClosed)
	}
}

// fail stores the error and releases the compressor's resources.
func (s *Stream) fail(err error) error {
	s.err = err
	s.z.Abort()
	return err
}

func (s *Stream) write(p []byte) error { return write(&s.dst, p) }

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
