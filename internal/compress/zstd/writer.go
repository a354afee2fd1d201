package zstd

import (
	"context"
	"io"

	"github.com/repomcp/repomcp/internal/compress/blocks"
	"github.com/repomcp/repomcp/internal/workers"
)

// Writer compresses what is written to it. It must be closed or aborted, and
// is for one goroutine at a time; to end it from another, cancel its context.
//
// The first error stays: the stream's blocks are given back at once, and Write
// and Close return the error from then on.
type Writer struct {
	stream *blocks.Stream
	begun  bool // there is input
}

// NewWriter starts a stream to dst. A cancelled context ends it with the
// context's cause, within the time that one block and one write to dst take.
func (c *Compressor) NewWriter(ctx context.Context, dst io.Writer, level int) (*Writer, error) {
	if err := checkLevel(level); err != nil {
		return nil, err
	}
	return &Writer{stream: c.pool.Open(ctx, dst, &blockEncoder{c.encoders, level}, nil)}, nil
}

// Write takes p, hands full blocks to the workers, and writes to the
// destination what they have finished. It waits for workers only if the stream
// holds as many blocks as it may.
//
// Nothing is written between calls. A source that is about to wait for long can
// write nothing, an empty p, to bring out what is finished.
func (z *Writer) Write(p []byte) (int, error) {
	z.begun = z.begun || len(p) > 0
	return z.stream.Write(p)
}

// Close compresses the rest and writes all. After an error it writes nothing and
// returns the error. Closing again returns the same.
func (z *Writer) Close() error {
	if !z.begun {
		return z.stream.Close([]byte(emptyFrame))
	}
	return z.stream.Close(nil)
}

// Abort ends the stream within a frame: a reader will notice. After Close, or
// again, it does nothing; so it can be deferred.
func (z *Writer) Abort() { z.stream.Abort() }

// emptyFrame is the end of a stream without input, which would otherwise be no
// zstd file (RFC 8878, section 3.1.1): magic number; a single segment of no
// bytes; a last block, raw, of none. It needs no checksum.
const emptyFrame = "\x28\xb5\x2f\xfd" + "\x20\x00" + "\x01\x00\x00"

// blockEncoder makes frames of blocks.
type blockEncoder struct {
	slot  *workers.Slot[*encoder]
	level int
}

// Encode is [blocks.Encoder]'s.
func (e *blockEncoder) Encode(w *workers.Worker, number int, _, data []byte) ([]byte, error) {
	return e.slot.Of(w).frame(effortAt(e.level, number), data)
}
