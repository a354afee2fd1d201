// Package zstd compresses one stream on many processors, to the same bytes
// every time.
//
// It is used like the package gzip beside it:
//
//	sched := workers.New(0)
//	c, err := zstd.New(sched, zstd.DefaultLevel)
//
//	zw := c.NewWriter(ctx, destination)
//	defer zw.Abort()                // nothing after a successful Close
//	_, err = io.Copy(zw, source)
//	err = zw.Close()
//
// The input is cut into blocks at fixed positions, each of which becomes a separate frame (RFC
// 8878, section 3.1.1), with its size and a checksum, as the zstd command makes them. Concatenated
// frames are a zstd file that every decoder reads, some in parallel. Package blocks lends blocks,
// passes them to workers and writes the results in order.
//
// Its promises are those of gzip and blocks: the output is a function of the input, the level and
// [EncoderVersion]. A stream that failed, was cancelled or was aborted ends within a frame, so no
// reader considers it complete.
//
// Limits: a stream holds [WriterBlocks] blocks of up to [BlockSize] bytes, and more only from a
// stock that all streams of the Compressor share: one for each worker, so that one can be filled
// while each worker has one. All streams together have two blocks, and one more for each worker;
// those of one client have all but one of these. A stream without a block waits for its turn, never
// for the reader of another. A stream keeps the output of a block until it is read. Every worker
// holds an encoder, of up to twice that size, and room for a frame. A decoder needs BlockSize bytes
// for its window.
package zstd

import (
	"context"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/archive/compress/blocks"
	"github.com/repomcp/repomcp/internal/base/workers"
)

// EncoderVersion names the function from input and level to output. It is part of ETags and cache
// keys, since a download that is resumed across two versions would be garbage. The golden digests
// of the tests guard it: if they change, because of another block size or another release of the
// library, it must change too.
const EncoderVersion = "zs4"

// Levels run from fast to small, in three steps: below [DefaultLevel], that level, and above it.
const (
	MinLevel = 1
	MaxLevel = 9

	// DefaultLevel is the default of the zstd command.
	DefaultLevel = 3
)

// Compressor is the shared part of all streams of a process: the workers, their encoders, and the
// memory of the blocks. Its methods are safe for concurrent use. It needs no closing; the scheduler
// does, after the last stream.
type Compressor struct {
	pool     *blocks.Pool
	encoders *workers.Slot[*encoder]
}

// New returns a compressor on the workers of sched.
func New(sched *workers.Scheduler, level int) (*Compressor, error) {
	if level < MinLevel || level > MaxLevel {
		return nil, fmt.Errorf("zstd: level %d is not in %d to %d", level, MinLevel, MaxLevel)
	}
	return &Compressor{
		pool:     blocks.New(sched, format, sched.Workers()).Bounded(fillingBlocks + sched.Workers()),
		encoders: workers.NewSlot(func() *encoder { return newEncoder(effortOf(level)) }),
	}, nil
}

// NewWriter starts a stream to dst. A cancelled context ends it with the context's cause, within
// the time of one block and one write to dst.
func (c *Compressor) NewWriter(ctx context.Context, dst io.Writer) *blocks.Stream {
	return c.pool.Open(ctx, dst, c, nil, nil)
}

// Store implements [blocks.Storer].
func (c *Compressor) Store(w *workers.Worker, data []byte) ([]byte, error) {
	return c.encoders.Of(w).store(data), nil
}

// Encode implements [blocks.Encoder]: it makes a frame of each block.
func (c *Compressor) Encode(w *workers.Worker, _ int, _, data []byte) ([]byte, error) {
	return c.encoders.Of(w).frame(data)
}
