package gzip

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/repomcp/repomcp/internal/archive/compress/blocks"
	"github.com/repomcp/repomcp/internal/base/workers"
)

// Writer compresses the bytes that are written to it. It must be closed or aborted, and is for one
// goroutine at a time; to end it from another, cancel its context.
//
// The first error is kept: the stream's blocks are returned at once, and Write and Close return the
// error from then on.
type Writer struct {
	*blocks.Stream
	raw    bool   // without the member's header and trailer
	crc    uint32 // of the input
	length uint32 // of the input; modulo 2^32 (RFC 1952, ISIZE)
}

// NewWriter starts a stream to dst. A cancelled context ends it with the context's cause, within
// the time of one block and one write to dst.
func (c *Compressor) NewWriter(ctx context.Context, dst io.Writer) *Writer {
	return c.open(ctx, dst, header(c.level), false)
}

// NewRawWriter is [Compressor.NewWriter] for a bare deflate stream (RFC 1951), without the header
// and trailer of a gzip member.
func (c *Compressor) NewRawWriter(ctx context.Context, dst io.Writer) *Writer {
	return c.open(ctx, dst, nil, true)
}

func (c *Compressor) open(ctx context.Context, dst io.Writer, header []byte, raw bool) *Writer {
	z := &Writer{raw: raw}
	z.Stream = c.pool.Open(ctx, dst, blockEncoder{c.deflaters}, header, z.trailer)
	return z
}

// Checksum returns the CRC-32 (RFC 1952, section 8) of the input after a successful Close. Before
// that, it covers only a part of the input.
func (z *Writer) Checksum() uint32 { return z.crc }

// Write implements [io.Writer], see [blocks.Stream].
func (z *Writer) Write(p []byte) (int, error) {
	n, err := z.Stream.Write(p)
	z.crc = crc32.Update(z.crc, crc32.IEEETable, p[:n])
	z.length += uint32(n)
	return n, err
}

// blockEncoder encodes blocks as parts of a deflate stream.
type blockEncoder struct{ slot *workers.Slot[*deflater] }

// Encode implements [blocks.Encoder].
func (e blockEncoder) Encode(w *workers.Worker, _ int, history, data []byte) ([]byte, error) {
	return e.slot.Of(w).deflate(history, data)
}

// Store implements [blocks.Storer].
func (e blockEncoder) Store(w *workers.Worker, data []byte) ([]byte, error) {
	return e.slot.Of(w).store(data), nil
}

// headerSize is the length of a member header.
const headerSize = 10

// header returns the member header (RFC 1952, section 2.3): deflate, no flags, no time, made on
// Unix. Real values for time and system would differ from run to run and from server to server.
func header(level int) []byte {
	const unix = 3
	var effort byte // XFL
	switch level {
	case MaxLevel:
		effort = 2 // slowest algorithm
	case MinLevel:
		effort = 4 // fastest algorithm
	}
	return []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, effort, unix}
}

// trailer returns an empty final deflate block (RFC 1951, section 3.2.6: BFINAL, BTYPE 01, end of
// block) and, for a member, the checks of RFC 1952.
func (z *Writer) trailer() []byte {
	p := []byte{0x03, 0x00}
	if z.raw {
		return p
	}
	p = binary.LittleEndian.AppendUint32(p, z.crc)
	return binary.LittleEndian.AppendUint32(p, z.length)
}
