// Package blocks compresses one stream on many processors: it cuts the input into blocks at fixed
// positions, lets workers encode them independently, and writes the results in order.
//
// It is the common part of the packages gzip, zstd and xz. Each describes with a [Format] how its
// blocks are cut and joined, and encodes them with an [Encoder]:
//
//	pool := blocks.New(sched, format, shared)       // one for the process
//
//	s := pool.Open(ctx, destination, encoder, header, trailer)
//	defer s.Abort()                                 // nothing after a successful Close
//	_, err = io.Copy(s, source)
//	err = s.Close()                                 // the trailer is written here, or never
//
// Promises:
//   - The output is the header, the encoder's output for each block, and the trailer. As long as
//     the encoder is a function of its arguments, the output does not depend on the number of
//     processors and workers, the sizes of the writes, time or other streams.
//   - A stream that failed, was cancelled or was aborted has neither its trailer nor the last
//     [Format.Withheld] bytes of its last block.
//   - The output is written by the goroutine that calls Write and Close: the package starts none,
//     and after Close or Abort no worker uses the stream. Workers never wait for a destination.
//   - A stream in its steady state allocates nothing.
//
// Limits: a stream holds at most [Format.Own] blocks, and more only from a stock that all streams
// of the Pool share; in addition it holds the unwritten output of as many. If a pool is bounded,
// streams wait for blocks, but never for the destination of another stream. A destination that
// blocks for ever blocks Write for ever, so it needs a deadline of its own; the context is checked
// between the writes to it.
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

// Encoder encodes the blocks of a stream.
type Encoder interface {
	// Encode returns the encoded form of data, the block with that number, which follows the bytes
	// of history. It runs on a worker, concurrently with other blocks of the stream; its state
	// belongs to the worker. It must not keep its arguments. The result is read before the worker's
	// next task.
	Encode(w *workers.Worker, number int, history, data []byte) ([]byte, error)
}

// Storer is an [Encoder] that can also keep data as it is.
type Storer interface {
	Encoder
	// Store is Encode for data that is compressed already: see [Stream.Store]. It has no use for
	// history.
	Store(w *workers.Worker, data []byte) ([]byte, error)
}

// Format is the common description of all streams of a Pool.
type Format struct {
	// Name precedes error messages.
	Name string

	// Own is the number of blocks, at least one, that every stream may hold however many streams
	// there are; in a bounded pool it first waits for its turn.
	Own int

	// Size returns the input length of the block with that number, from 1 to Largest. It must
	// depend only on the number, as the output depends on it.
	Size    func(number int) int
	Largest int

	// History is how many of the bytes before a block its encoder gets, or fewer if there are
	// fewer.
	History int

	// Front is the space before a block's output for bytes that are written together with it: the
	// header or the withheld bytes, the longer of the two.
	Front int

	// Withheld is how many bytes at the end of a block wait until the next one is there or the
	// stream is complete. It is for formats in which the stream could end after any block.
	Withheld int

	// Empty is the stream without input, for formats whose blocks are concatenated files: an empty
	// output would be no file.
	Empty string
}

// Pool is the shared part of all streams of a format: the workers and the memory of the blocks. Its
// methods are safe for concurrent use. It needs no closing; the scheduler does, after the last
// stream.
type Pool struct {
	sched  *workers.Scheduler
	format *Format
	stock  *stock
}

// New returns a pool on the workers of sched, whose streams together may hold shared blocks beyond
// their own. With these a single stream can occupy all workers, although fifty streams do not get
// as much memory each.
func New(sched *workers.Scheduler, format Format, shared int) *Pool {
	return &Pool{sched: sched, format: &format, stock: newStock(&format, max(shared, 0))}
}

// Bounded limits the blocks that are lent at a time, however many streams there are: a stream
// without a block waits for its turn. Call it before the first stream.
func (p *Pool) Bounded(most int) *Pool {
	p.stock.most = max(most, p.format.Own+p.stock.shared)
	return p
}

// Open starts a stream to dst. The header, of at most Format.Front bytes, is written with the first
// block, or with the trailer if there is none. trailer is called after everything else was written,
// and may be nil. A cancelled context ends the stream with the context's cause, within the time of
// one block and one write to dst.
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

// DoubledSize is the input length of a block if each is twice as long as the previous one, up to
// the largest: the first byte leaves early, and a short stream still occupies several workers. It
// depends only on the position and never on time, so the output does too.
func DoubledSize(first, largest, number int) int {
	for ; number > 0 && first < largest; number-- {
		first *= 2
	}
	return min(first, largest)
}
