// Package gzip compresses one stream on many processors, to the same bytes
// every time.
//
// A process makes one [Compressor] on its scheduler, and a [Writer] for each
// stream:
//
//	sched := workers.New(0)
//	c, err := gzip.New(sched, gzip.DefaultLevel)
//
//	zw := c.NewWriter(ctx, destination)
//	defer zw.Abort()                // nothing after a successful Close
//	_, err = io.Copy(zw, source)
//	err = zw.Close()                // the trailer is written here, or never
//
// The input is cut into blocks at fixed positions. Workers compress the blocks independently, each
// with the 32 KiB before it as dictionary, and end them on a byte boundary, so that the
// concatenated results are one deflate stream (RFC 1951) in one gzip member (RFC 1952). Package
// blocks lends blocks, passes them to workers and writes the results in order.
//
// The same deflate streams are available without the gzip member, for formats that have their own
// framing: [Compressor.NewRawWriter] for a long stream, and [Compressor.Deflate] for a short one in
// a worker's memory.
//
// Promises, besides those of blocks:
//   - The output is a function of the input, the level and [EncoderVersion].
//   - A stream that failed, was cancelled or was aborted has no trailer and no final block, so no
//     reader considers it complete.
//   - The first bytes leave early: the first blocks are small.
//
// Limits: a Writer holds at most [WriterBlocks] blocks of [BlockMemory] bytes, and more only from a
// stock that all Writers of the Compressor share: one for each worker, so that the next block is
// ready when a worker finishes one.
package gzip

import (
	"fmt"

	"github.com/repomcp/repomcp/internal/archive/compress/blocks"
	"github.com/repomcp/repomcp/internal/base/workers"
)

// EncoderVersion names the function from input and level to output. It is part of ETags and cache
// keys, since a download that is resumed across two versions would be garbage. The golden digests
// of the tests guard it: if they change, because of another block size or another release of the
// deflate library, it must change too.
const EncoderVersion = "gz2"

// Levels run from fast to small.
const (
	// Stored is deflate's format without compression, for what is compressed later as a part of another stream.
	Stored = 0

	MinLevel = 1
	MaxLevel = 9

	// DefaultLevel is the cheapest level whose output stays below 1.05 of the size of git
	// archive's: 1.03 on Go's source tree. Level 5 needs a tenth less processor time, but is at
	// 1.05 there and at 1.06 on most others.
	DefaultLevel = 6
)

// Compressor is the shared part of all streams of a process: the workers, their deflate
// compressors, and the memory of the blocks. Its methods are safe for concurrent use. It needs no
// closing; the scheduler does, after the last Writer.
type Compressor struct {
	level     int
	pool      *blocks.Pool
	deflaters *workers.Slot[*deflater]
}

// New returns a compressor on the workers of sched.
func New(sched *workers.Scheduler, level int) (*Compressor, error) {
	if level < Stored || level > MaxLevel {
		return nil, fmt.Errorf("gzip: level %d is not in %d to %d", level, Stored, MaxLevel)
	}
	return &Compressor{
		level:     level,
		pool:      blocks.New(sched, format, sched.Workers()),
		deflaters: workers.NewSlot(func() *deflater { return newDeflater(level) }),
	}, nil
}

// Deflate appends data to dst as one raw deflate stream (RFC 1951), which is a function of data,
// the level and [EncoderVersion]. It runs in a task of the scheduler, on worker w, and is for data
// in memory: its time depends on the length of data, and it needs memory only for the output.
// Incompressible data grows by 5 bytes for each 64 KiB and a few more.
func (c *Compressor) Deflate(w *workers.Worker, dst, data []byte) ([]byte, error) {
	out, err := c.deflaters.Of(w).whole(dst, data)
	if err != nil {
		return dst, fmt.Errorf("gzip: %w", err)
	}
	return out, nil
}
