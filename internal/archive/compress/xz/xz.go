// Package xz compresses one stream on many processors, to the same bytes every
// time.
//
// It is used like the packages gzip and zstd beside it:
//
//	c := xz.New(sched)
//
//	zw := c.NewWriter(ctx, destination)
//	defer zw.Abort()                // nothing after a successful Close
//	_, err = io.Copy(zw, source)
//	err = zw.Close()
//
// The input is cut into blocks at fixed positions, each of which becomes a separate xz stream with
// CRC64. Concatenated streams are an xz file (xz-file-format 1.2, section 2), which the xz command,
// tar and liblzma read.
//
// Its promises are those of package zstd: the output is a function of the input and
// [EncoderVersion], and a stream that failed, was cancelled or was aborted ends within an xz
// stream, so no reader considers it complete.
//
// Limits: the encoder has one level and is 8 to 12 times slower than gzip's; the size of its output
// lies between those of xz -1 and xz -2. An encoder cannot be reused, so every block leaves some 25
// MiB of garbage.
package xz

import (
	"bytes"
	"context"
	"io"

	"github.com/ulikunitz/xz"

	"github.com/repomcp/repomcp/internal/archive/compress/blocks"
	"github.com/repomcp/repomcp/internal/base/workers"
)

// EncoderVersion names the function from input to output. It is part of ETags
// and cache keys; the golden digests of the tests guard it.
const EncoderVersion = "xz1"

const (
	// WriterBlocks is what every stream may hold however many there are.
	WriterBlocks = 1

	// BlockSize is the input of one xz stream, and the dictionary that a decoder needs.
	BlockSize = 2 << 20

	// firstSize is the input of the first stream: the first byte leaves after some ten milliseconds
	// of compression.
	firstSize = 64 << 10

	// withheld is how many bytes of an xz stream wait for the next one: without its whole footer
	// the stream is not complete.
	withheld = 4

	// overhead bounds the growth of an xz stream: stream header and footer, block header, index and
	// check, and LZMA2's six bytes for each of its incompressible chunks of at most 64 KiB and
	// more.
	overhead = 256 + BlockSize>>10
)

var format = blocks.Format{
	Name:     "xz",
	Own:      WriterBlocks,
	Size:     sizeAt,
	Largest:  BlockSize,
	Front:    withheld,
	Withheld: withheld,
	Empty:    emptyStream,
}

// sizeAt returns the input length of the block with that number.
func sizeAt(number int) int { return blocks.DoubledSize(firstSize, BlockSize, number) }

// Compressor is the shared part of all streams of a process. Its methods are safe for concurrent
// use. It needs no closing; the scheduler does, after the last Writer.
type Compressor struct {
	pool    *blocks.Pool
	outputs *workers.Slot[*bytes.Buffer]
}

// New returns a compressor on the workers of sched.
func New(sched *workers.Scheduler) *Compressor {
	return &Compressor{
		pool:    blocks.New(sched, format, sched.Workers()),
		outputs: workers.NewSlot(func() *bytes.Buffer { return bytes.NewBuffer(make([]byte, 0, BlockSize+overhead)) }),
	}
}

// NewWriter starts a stream to dst. A cancelled context ends it with the context's cause, within
// the time of one block and one write to dst.
func (c *Compressor) NewWriter(ctx context.Context, dst io.Writer) *blocks.Stream {
	return c.pool.Open(ctx, dst, c, nil, nil)
}

// emptyStream is a file without input: a stream header, an index of no blocks
// and a footer (xz-file-format 1.2, sections 2.1 and 4).
const emptyStream = "\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4\x46" + "\x00\x00\x00\x00\x1c\xdf\x44\x21" +
	"\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04YZ"

// Encode implements [blocks.Encoder]: it makes an xz stream of each block.
func (c *Compressor) Encode(w *workers.Worker, number int, _, data []byte) ([]byte, error) {
	out := c.outputs.Of(w)
	out.Reset()
	config := xz.WriterConfig{DictCap: sizeAt(number), CheckSum: xz.CRC64}
	zw, err := config.NewWriter(out)
	if err != nil {
		return nil, err
	}
	if _, err := zw.Write(data); err != nil {
		return nil, err
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
