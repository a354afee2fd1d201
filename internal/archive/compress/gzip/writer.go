package gzip

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/repomcp/repomcp/internal/archive/compress/blocks"
	"github.com/repomcp/repomcp/internal/base/workers"
)

// Writer compresses what is written to it. It must be closed or aborted, and
// is for one goroutine at a time; to end it from another, cancel its context.
//
// The first error stays: the stream's blocks are given back at once, and Write
// and Close return the error from then on.
type Writer struct {
	*blocks.Stream
	raw    bool   // without the member's header and trailer
	crc    uint32 // of what was taken
	length uint32 // of it; modulo 2^32 (RFC 1952, ISIZE)
}

// NewWriter starts a stream to dst. A cancelled context ends it with the
// context's cause, within the time that one block and one write to dst take.
func (c *Compressor) NewWriter(ctx context.Context, dst io.Writer) *Writer {
	return c.open(ctx, dst, header(c.level), false)
}

// NewRawWriter starts a stream to dst that is a deflate stream only (RFC 1951):
// without the header and trailer that make it a gzip member. In all else it is
// [Compressor.NewWriter].
func (c *Compressor) NewRawWriter(ctx context.Context, dst io.Writer) *Writer {
	return c.open(ctx, dst, nil, true)
}

func (c *Compressor) open(ctx context.Context, dst io.Writer, header []byte, raw bool) *Writer {
	z := &Writer{raw: raw}
	z.Stream = c.pool.Open(ctx, dst, blockEncoder{c.deflaters}, header, z.trailer)
	return z
}

// Checksum returns the CRC-32 (RFC 1952, section 8) of the input after a
// successful Close. Before, it is that of some beginning of the input.
func (z *Writer) Checksum() uint32 { return z.crc }

// Write is that of [blocks.Stream].
func (z *Writer) Write(p []byte) (int, error) {
	n, err := z.Stream.Write(p)
	z.crc = crc32.Update(z.crc, crc32.IEEETable, p[:n])
	z.length += uint32(n)
	return n, err
}

// blockEncoder makes of blocks parts of a deflate stream.
type blockEncoder struct{ slot *workers.Slot[*deflater] }

// Encode is [blocks.Encoder]'s.
func (e blockEncoder) Encode(w *workers.Worker, _ int, history, data []byte) ([]byte, error) {
	return e.slot.Of(w).deflate(history, data)
}

// headerSize is the length of a member header.
const headerSize = 10

// header returns the member header (RFC 1952, section 2.3): deflate, no flags,
// no time, made on Unix. Time and system are fixed because they would differ
// from run to run and from server to server.
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

// trailer returns an empty final deflate block (RFC 1951, section 3.2.6: BFINAL,
// BTYPE 01, end of block) and, to a member, the checks of RFC 1952.
func (z *Writer) trailer() []byte {
	p := []byte{0x03, 0x00}
	if z.raw {
		return p
	}
	p = binary.LittleEndian.AppendUint32(p, z.crc)
	return binary.LittleEndian.AppendUint32(p, z.length)
}
