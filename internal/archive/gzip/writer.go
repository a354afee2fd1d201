package gzip

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/repomcp/repomcp/internal/archive/workers"
)

// Writer compresses what is written to it. It must be closed or aborted, and
// is for one goroutine at a time; to end it from another, cancel its context.
//
// The first error stays: the stream's blocks are given back at once, and Write
// and Close return the error from then on.
type Writer struct {
	ctx   context.Context
	dst   io.Writer
	c     *Compressor
	level int
	queue *workers.Queue

	current *block   // being filled, or nil
	window  []*block // with the workers, or finished, in the order of the stream
	number  int      // of the next block
	history []byte   // the last bytes of the input before it, up to windowSize

	crc    uint32 // of the blocks before current
	length uint32 // of them; modulo 2^32 (RFC 1952, ISIZE)

	err    error // why Write refuses; ErrClosed after a successful Close
	result error // of Close
	ended  bool  // queue and blocks have been given back
}

// NewWriter starts a stream to dst. A cancelled context ends it with the
// context's cause, within the time that one block and one write to dst take.
func (c *Compressor) NewWriter(ctx context.Context, dst io.Writer, level int) (*Writer, error) {
	if err := checkLevel(level); err != nil {
		return nil, err
	}
	c.blocks.join()
	return &Writer{ctx: ctx, dst: dst, c: c, level: level, queue: c.sched.Queue()}, nil
}

// Write takes p, hands full blocks to the workers, and writes to the
// destination what they have finished. It waits for workers only if the stream
// holds as many blocks as it may.
//
// Nothing is written between calls. A source that is about to wait for long can
// write nothing, an empty p, to bring out what is finished.
func (z *Writer) Write(p []byte) (int, error) {
	if z.err != nil {
		return 0, z.err
	}
	taken := 0
	for len(p) > 0 {
		if err := z.begin(); err != nil {
			return taken, z.fail(err)
		}
		n := z.current.fill(p)
		p, taken = p[n:], taken+n
		if z.current.full() {
			if err := z.submit(); err != nil {
				return taken, z.fail(err)
			}
		}
	}
	// A block is written as soon as it is finished, not when the next is
	// needed: the source may be slow.
	if err := z.drainFinished(); err != nil {
		return taken, z.fail(err)
	}
	return taken, nil
}

// Close compresses the rest, writes all and the trailer. After an error it
// writes nothing and returns the error. Closing again returns the same.
func (z *Writer) Close() error {
	if z.err != nil {
		return z.result
	}
	if err := z.finish(); err != nil {
		return z.fail(err)
	}
	z.err = ErrClosed
	z.release()
	return nil
}

// Abort ends the stream without a trailer: a reader will notice. After Close,
// or again, it does nothing; so it can be deferred.
func (z *Writer) Abort() {
	if z.err == nil {
		z.err, z.result = ErrClosed, ErrClosed
	}
	z.release()
}

// finish writes all that is left of a good stream.
func (z *Writer) finish() error {
	if z.current != nil {
		if err := z.submit(); err != nil {
			return err
		}
	}
	for len(z.window) > 0 {
		if err := z.drainOldest(); err != nil {
			return err
		}
	}
	if err := context.Cause(z.ctx); err != nil {
		return fmt.Errorf("gzip: %w", err)
	}
	var end []byte
	if z.number == 0 {
		end = z.header()
	}
	return z.write(z.trailer(end))
}

// begin sees to it that there is a block to fill.
func (z *Writer) begin() error {
	if z.current != nil {
		return nil
	}
	if z.held() >= WriterBlocks {
		// Shared blocks are for streams that wait for workers. One that waits
		// for its destination must first bring out what is finished, or slow
		// readers would hoard them.
		if err := z.drainFinished(); err != nil {
			return err
		}
	}
	for {
		if b := z.c.blocks.take(z.held()); b != nil {
			b.reset(z.c.deflaters[z.level], z.number, z.history)
			z.current = b
			return nil
		}
		if err := z.drainOldest(); err != nil {
			return err
		}
	}
}

// submit hands the current block to the workers.
func (z *Writer) submit() error {
	if err := context.Cause(z.ctx); err != nil {
		return fmt.Errorf("gzip: %w", err)
	}
	b := z.current
	if z.number == 0 {
		b.prefix = z.header()
	}
	z.number++
	z.crc = crc32.Update(z.crc, crc32.IEEETable, b.data())
	z.length += uint32(b.input) //nolint:gosec // at most BlockSize
	// Before Submit, since the worker overwrites the input.
	z.history = append(z.history[:0], b.tail()...)
	z.window = append(z.window, b)
	z.current = nil
	if err := z.queue.Submit(b, b.input); err != nil {
		return fmt.Errorf("gzip: %w", err)
	}
	return nil
}

// drainFinished writes the blocks that are ready, without waiting for others.
func (z *Writer) drainFinished() error {
	for len(z.window) > 0 && z.window[0].finished() {
		if err := z.drainOldest(); err != nil {
			return err
		}
	}
	return nil
}

// drainOldest waits for the oldest block, writes it and gives it back.
func (z *Writer) drainOldest() error {
	if err := context.Cause(z.ctx); err != nil {
		return fmt.Errorf("gzip: %w", err)
	}
	b := z.window[0]
	select {
	case <-b.done:
	case <-z.ctx.Done():
		return fmt.Errorf("gzip: %w", context.Cause(z.ctx))
	case <-z.queue.Done():
		return fmt.Errorf("gzip: %w", z.queue.Err())
	}
	if b.err != nil {
		return b.err
	}
	if err := z.write(b.output); err != nil {
		return err
	}
	z.c.blocks.give(b, z.held())
	// Shift rather than reslice, to keep the room of the few there are.
	copy(z.window, z.window[1:])
	z.window[len(z.window)-1] = nil
	z.window = z.window[:len(z.window)-1]
	return nil
}

// held returns how many blocks the stream has.
func (z *Writer) held() int {
	if z.current != nil {
		return len(z.window) + 1
	}
	return len(z.window)
}

// fail keeps the error and gives everything back.
func (z *Writer) fail(err error) error {
	z.err, z.result = err, err
	z.release()
	return err
}

// release ends the queue and gives the blocks back, once. The order matters:
// only after the queue is closed has every worker let go of the blocks.
func (z *Writer) release() {
	if z.ended {
		return
	}
	z.ended = true
	z.queue.Close()
	for held := z.held(); held > 0; held-- {
		b := z.current
		if n := len(z.window); n > 0 {
			b = z.window[n-1]
			z.window = z.window[:n-1]
		}
		z.c.blocks.give(b, held)
	}
	z.current, z.window, z.history = nil, nil, nil
	z.c.blocks.leave()
}

// write is one write to the destination.
func (z *Writer) write(p []byte) error {
	n, err := z.dst.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("gzip: write: %w", err)
	}
	return nil
}

// header returns the member header (RFC 1952, section 2.3): deflate, no flags,
// no time, made on Unix. Time and system are fixed because they would differ
// from run to run and from server to server.
func (z *Writer) header() []byte {
	const unix = 3
	var effort byte // XFL
	switch z.level {
	case MaxLevel:
		effort = 2 // slowest algorithm
	case MinLevel:
		effort = 4 // fastest algorithm
	}
	return []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, effort, unix}
}

// trailer appends an empty final deflate block (RFC 1951, section 3.2.6: BFINAL,
// BTYPE 01, end of block) and the checks of RFC 1952.
func (z *Writer) trailer(p []byte) []byte {
	p = append(p, 0x03, 0x00)
	p = binary.LittleEndian.AppendUint32(p, z.crc)
	return binary.LittleEndian.AppendUint32(p, z.length)
}
