// Package blocks compresses one stream on many processors: it cuts the input
// into blocks at fixed positions, has workers encode them independently, and
// writes the results in order.
//
// It is what the packages gzip, zstd and xz beside it have in common. Each says with
// a [Format] how its blocks are cut and joined, and with an [Encoder] what
// becomes of one:
//
//	pool := blocks.New(sched, format, shared)       // one for the process
//
//	s := pool.Open(ctx, destination, encoder, header, trailer)
//	defer s.Abort()                                 // nothing after a successful Close
//	_, err = io.Copy(s, source)
//	err = s.Close()                                 // the trailer is written here, or never
//
// Promises:
//   - The output is header, what the encoder makes of each block, and trailer. As
//     long as the encoder is a function of its arguments, the number of
//     processors and workers, the sizes of the writes, the time and other
//     streams have no part in it.
//   - A stream that failed, was cancelled or was aborted has neither its trailer
//     nor the last [Format.Withheld] bytes of its last block.
//   - The output is written by the goroutine that calls Write and Close: the
//     package starts none, and after Close or Abort no worker touches the
//     stream. Workers never wait for a destination.
//   - A stream in its steady state allocates nothing.
//
// Limits: a stream holds at most [Format.Own] blocks, and more only from a stock
// that all streams of the Pool share; besides, what becomes of so many until it is
// written. Where a pool is bounded, streams wait for blocks, but never for the
// destination of another. A destination that blocks for ever blocks
// Write for ever, for which the destination needs a deadline of its own; the
// context is looked at between the writes to it.
package blocks

import (
	"context"
	"errors"
	"io"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/base/workers"
)

// ErrClosed is returned by Write after Close or Abort.
var ErrClosed = errors.New("stream closed")

// Encoder is what a stream does with its blocks.
type Encoder interface {
	// Encode returns what becomes of data, the block with that number, which
	// follows the bytes of history. It runs on a worker, at the same time as
	// the stream's other blocks on others; what it needs belongs to the worker.
	// It may not keep its arguments. The result is read before the worker's
	// next task.
	Encode(w *workers.Worker, number int, history, data []byte) ([]byte, error)
}

// Format is what all streams of a Pool have in common.
type Format struct {
	// Name is put before errors.
	Name string

	// Own is the number of blocks that every stream may hold however many
	// streams there are, at least one; where the pool is bounded when it is its turn.
	Own int

	// Size returns the input of the block with that number, from 1 to Largest.
	// It depends on the number only, or the output would depend on more.
	Size    func(number int) int
	Largest int

	// History is how many of the bytes before a block its encoder gets, or all
	// there are if there are fewer.
	History int

	// Front is room for what is written in one piece with a block's output before it: the
	// header or what was withheld, the longer of the two.
	Front int

	// Withheld is how many bytes at the end of a block wait until the next one is
	// there or the stream is complete. It is for formats in which the end of
	// any block could be that of the stream.
	Withheld int

	// Empty is the stream without input, for formats whose blocks are files of their
	// own that may be put one after another: nothing would be no file.
	Empty string
}

// Pool is what all streams of a format have in common: the workers and the
// memory of the blocks. Its methods are safe for concurrent use. It needs no
// closing; the scheduler does, after the last stream.
type Pool struct {
	sched  *workers.Scheduler
	format *Format
	stock  *stock
}

// New returns a pool on the workers of sched, whose streams may hold so many
// blocks in all beyond their own. They let a single stream occupy all workers
// without giving each of fifty as much memory.
func New(sched *workers.Scheduler, format Format, shared int) *Pool {
	return &Pool{sched: sched, format: &format, stock: newStock(&format, max(shared, 0))}
}

// Bounded has the pool lend so many blocks at a time at most, however many streams there
// are: a stream that has none waits for its turn. Call it before the first stream.
func (p *Pool) Bounded(most int) *Pool {
	p.stock.most = max(most, p.format.Own+p.stock.shared)
	return p
}

// Open starts a stream to dst. The header, of at most Format.Front bytes, is
// written with the first block, or with the trailer if there is none. The trailer is
// asked for when all else is written; nil is none. A cancelled context ends the stream
// with the context's cause, within the time that one block and one write to dst take.
func (p *Pool) Open(
	ctx context.Context, dst io.Writer, encoder Encoder, header []byte, trailer func() []byte,
) *Stream {
	p.stock.join()
	client := access.ClientOf(ctx)
	return &Stream{
		ctx: ctx, dst: dst, pool: p, encoder: encoder, trailer: trailer, queue: p.sched.QueueOf(client),
		blocks: account{client: client}, pending: append(make([]byte, 0, p.format.Front), header...),
	}
}

// DoubledSize is the input of the block with a number where each is twice the one
// before, up to the largest: the first byte leaves early, and a short stream still
// occupies several workers. It depends on the position only and never on time, so
// that the output does too.
func DoubledSize(first, largest, number int) int {
	for ; number > 0 && first < largest; number-- {
		first *= 2
	}
	return min(first, largest)
}
