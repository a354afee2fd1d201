package unpack

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// streamBuffer saves system calls for headers of 512 bytes.
const streamBuffer = 128 << 10

type stream struct {
	plain  *plain
	source *counter
	tar    *bufio.Reader
	// ended says that a read went beyond the end, which never happens for a whole archive.
	ended bool
	close func()
}

// plain is the output of the decompressor, within the limits.
type plain struct {
	ctx    context.Context
	source io.Reader
	packed *counter // nil for a plain tar
	limits Limits
	bytes  int64
	err    error // of the source, unless it ended normally
}

// counter counts the bytes that are read; the zstd decoder reads in a separate goroutine.
type counter struct {
	io.Reader
	bytes  atomic.Int64
	used   atomic.Int64          // of them, at the last output
	plain  atomic.Bool           // they are not compressed
	failed atomic.Pointer[error] // the error that ended it, unless it ended normally
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if c.bytes.Add(int64(n))-c.used.Load() > mostBarren && !c.plain.Load() {
		err = &LimitError{Limit: "bytes that make nothing", Most: mostBarren}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed.Store(&err)
	}
	return n, err
}

// openStream recognises the compression by the first bytes.
func openStream(ctx context.Context, r io.Reader, l Limits) (*stream, error) {
	packed := &counter{Reader: r}
	front := bufio.NewReaderSize(packed, streamBuffer)
	magic, _ := front.Peek(4) // a shorter archive is truncated
	s := &stream{
		plain: &plain{ctx: ctx, source: front, packed: packed, limits: l}, source: packed, close: func() {},
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		gz, err := gzip.NewReader(front)
		if err != nil {
			return nil, s.blame(fmt.Errorf("unpack: %w", err))
		}
		s.plain.source = gz
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		decoder, err := zstd.NewReader(front, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		s.plain.source, s.close = decoder, decoder.Close
	default:
		s.plain.packed = nil
		packed.plain.Store(true)
	}
	s.tar = bufio.NewReaderSize(s.plain, streamBuffer)
	return s, nil
}

func (p *plain) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := p.source.Read(b)
	if p.bytes += int64(n); n > 0 && p.packed != nil {
		p.packed.used.Store(p.packed.bytes.Load())
	}
	switch {
	case p.bytes > p.limits.Bytes:
		return 0, &LimitError{Limit: "bytes", Most: p.limits.Bytes}
	case p.packed != nil && p.bytes > ratioFrom && p.bytes/p.limits.Ratio > p.packed.bytes.Load():
		return 0, &LimitError{Limit: "ratio", Most: p.limits.Ratio}
	case err != nil && !errors.Is(err, io.EOF):
		p.err = err
	}
	return n, err
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.tar.Read(p)
	if errors.Is(err, io.EOF) {
		s.ended = true
	}
	return n, err
}

// finish checks the bytes after the last member: zeros, and the checksums of the compression.
func (s *stream) finish() error {
	if s.ended {
		return ErrCut
	}
	for block := make([]byte, 4<<10); ; {
		n, err := s.tar.Read(block)
		switch {
		case len(bytes.Trim(block[:n], "\x00")) > 0:
			return ErrTrailing
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return s.explain(err)
		}
	}
}

// explain marks an error as one of a truncated or damaged archive.
func (s *stream) explain(err error) error {
	if s.plain.err != nil && !errors.Is(err, s.plain.err) {
		err = errors.Join(err, s.plain.err)
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && (s.ended || errors.Is(s.plain.err, io.ErrUnexpectedEOF)):
		return fmt.Errorf("%w: %w", ErrCut, err)
	case s.plain.err != nil || errors.Is(err, tar.ErrHeader):
		return s.blame(err)
	}
	return err
}

// blame marks an error as damage, unless reading the source failed, possibly ahead of the
// decompressed bytes.
func (s *stream) blame(err error) error {
	switch failed := s.source.failed.Load(); {
	case failed != nil && !errors.Is(err, *failed):
		return errors.Join(err, *failed)
	case failed != nil || s.plain.ctx.Err() != nil:
		return err
	}
	return damaged{err}
}
