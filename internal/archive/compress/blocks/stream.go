package blocks

import (
	"context"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/base/workers"
)

// Stream compresses the bytes that are written to it. It must be closed or aborted, and is for one
// goroutine at a time; to end it from another, cancel its context.
//
// The first error is kept: the stream's blocks are returned at once, and Write and Close return the
// error from then on.
type Stream struct {
	ctx     context.Context
	dst     io.Writer
	pool    *Pool
	encoder Encoder
	trailer func() []byte
	queue   *workers.Queue

	blocks  account
	current *block // being filled, or nil
	window  []*job // with the workers, or finished, in stream order
	stored  bool   // the next blocks are
	number  int    // of the next block
	history []byte // the last input bytes before it
	pending []byte // precedes the next output: the header, or withheld bytes

	err    error // of Write; ErrClosed after a successful Close
	result error // of Close
	ended  bool  // queue and blocks were released
}

// Write takes p, passes full blocks to the workers, and writes their finished output to the
// destination. It waits for workers only if the stream holds as many blocks as it may.
//
// Nothing is written between calls. A source that is about to wait for long can write an empty p to
// flush finished output.
func (s *Stream) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	taken := 0
	for len(p) > 0 {
		if err := s.begin(); err != nil {
			return taken, s.fail(err)
		}
		n := s.current.fill(s.pool.format, p)
		p, taken = p[n:], taken+n
		if s.current.full() {
			if err := s.submit(); err != nil {
				return taken, s.fail(err)
			}
		}
	}
	// A block is written as soon as it is finished, not when the next is needed: the source may be
	// slow. But if others wait for blocks, a slow reader must not keep the one that is being
	// filled.
	if s.current == nil || taken == 0 || s.pool.stock.most == 0 {
		if err := s.drainFinished(); err != nil {
			return taken, s.fail(err)
		}
	}
	return taken, nil
}

// Store says whether the following input is compressed already, so that a [Storer] keeps it as it is.
// The output is then a function of where that changes, too: a block ends there.
func (s *Stream) Store(stored bool) error {
	if s.err != nil {
		return s.err
	}
	if s.current != nil {
		if err := s.submit(); err != nil {
			return s.fail(err)
		}
	}
	s.stored = stored
	return nil
}

// Close encodes the rest and writes everything, and the trailer. After an error it writes nothing
// and returns the error. Closing again returns the same.
func (s *Stream) Close() error {
	if s.err != nil {
		return s.result
	}
	if err := s.finish(); err != nil {
		return s.fail(err)
	}
	s.err = s.wrap(ErrClosed)
	s.release()
	return nil
}

// Abort ends the stream without its end, which a reader will notice. After Close or Abort it does
// nothing, so it can be deferred.
func (s *Stream) Abort() {
	if s.err == nil {
		s.err = s.wrap(ErrClosed)
		s.result = s.err
	}
	s.release()
}

// finish writes the rest of a good stream.
func (s *Stream) finish() error {
	if s.current != nil {
		if err := s.submit(); err != nil {
			return err
		}
	}
	for len(s.window) > 0 {
		if err := s.drainOldest(); err != nil {
			return err
		}
	}
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	if s.number == 0 {
		s.pending = append(s.pending, s.pool.format.Empty...)
	}
	if s.trailer != nil {
		s.pending = append(s.pending, s.trailer()...)
	}
	return s.write(s.pending)
}

// begin ensures that there is a block to fill.
func (s *Stream) begin() error {
	if s.current != nil {
		return nil
	}
	f, stock := s.pool.format, s.pool.stock
	for {
		if len(s.window) >= f.Own {
			// Shared blocks are for streams that wait for workers. A stream that waits for its
			// destination must first write its finished output.
			if err := s.drainFinished(); err != nil {
				return err
			}
		}
		if len(s.window) < f.Own+stock.shared {
			b, err := stock.take(s.ctx, &s.blocks)
			if err != nil {
				return err
			}
			if b != nil {
				b.reset(f, s.number, s.history)
				s.current = b
				return nil
			}
		}
		if err := s.drainOldest(); err != nil {
			return err
		}
	}
}

// submit passes the current block to the workers.
func (s *Stream) submit() error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	b := s.current
	// Before Submit, since the worker returns the block.
	s.history = append(s.history[:0], b.tail(s.pool.format)...)
	j := s.pool.job(s.encoder, s.stored, s.number, b)
	s.number++
	s.window = append(s.window, j)
	s.current = nil
	return s.queue.Submit(j)
}

// drainFinished writes the finished blocks, without waiting for others.
func (s *Stream) drainFinished() error {
	for len(s.window) > 0 && s.window[0].finished() {
		if err := s.drainOldest(); err != nil {
			return err
		}
	}
	return nil
}

// drainOldest waits for the oldest block, writes it and gives it back.
func (s *Stream) drainOldest() error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	j := s.window[0]
	select {
	case <-j.done:
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	case <-s.queue.Done():
		return s.queue.Err()
	}
	if j.err != nil {
		return j.err
	}
	if err := s.writeOutput(j); err != nil {
		return err
	}
	s.pool.stock.recycle(j)
	// Shift rather than reslice, to keep the small capacity.
	copy(s.window, s.window[1:])
	s.window[len(s.window)-1] = nil
	s.window = s.window[:len(s.window)-1]
	return nil
}

// writeOutput writes the pending bytes and a block's output, except the bytes to withhold, in one
// piece.
func (s *Stream) writeOutput(j *job) error {
	start := s.pool.format.Front - len(s.pending)
	copy(j.output[start:], s.pending)
	end := max(start, len(j.output)-s.pool.format.Withheld)
	s.pending = append(s.pending[:0], j.output[end:]...)
	return s.write(j.output[start:end])
}

// write is one write to the destination.
func (s *Stream) write(p []byte) error {
	n, err := s.dst.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// fail keeps the error and releases everything.
func (s *Stream) fail(err error) error {
	s.err = s.wrap(err)
	s.result = s.err
	s.release()
	return s.err
}

func (s *Stream) wrap(err error) error { return fmt.Errorf("%s: %w", s.pool.format.Name, err) }

// release ends the queue and returns the blocks, once. The order matters: workers may use the
// blocks until the queue is closed.
func (s *Stream) release() {
	if s.ended {
		return
	}
	s.ended = true
	s.queue.Close()
	for _, j := range s.window {
		j.giveBack() // it was not run
	}
	if s.current != nil {
		s.pool.stock.put(s.current)
	}
	s.current, s.window, s.history = nil, nil, nil
	s.pool.stock.leave()
}
