package zstd

import (
	"context"
	"io"

	"github.com/repomcp/repomcp/internal/compress/blocks"
	"github.com/repomcp/repomcp/internal/workers"
)

// NewWriter starts a stream to dst. A cancelled context ends it with the
// context's cause, within the time that one block and one write to dst take.
func (c *Compressor) NewWriter(ctx context.Context, dst io.Writer, level int) (*blocks.Series, error) {
	if err := checkLevel(level); err != nil {
		return nil, err
	}
	return c.pool.OpenSeries(ctx, dst, &blockEncoder{c.encoders, level}, emptyFrame), nil
}

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
