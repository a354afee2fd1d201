package stdio

import (
	"context"
	"io"

	"github.com/repomcp/repomcp/internal/binary"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/duplex"
)

// chunks is a stream. It implements [duplex.Stream].
type chunks struct {
	pipes    *pipes
	declared binary.Ref
	buffer   []byte // of the chunk that is sent
}

// Open implements [duplex.Transport]. A client can cancel the request alone.
func (p *pipes) Open(ref binary.Ref, _ context.CancelCauseFunc) duplex.Stream {
	return &chunks{pipes: p, declared: ref}
}

// Credit implements [duplex.Stream]: the pipe is what holds up who writes too much.
func (c *chunks) Credit(ctx context.Context, most int) (int, error) {
	return min(most, binary.MaxChunkData), ctx.Err()
}

// Data implements [duplex.Stream].
func (c *chunks) Data(ctx context.Context, p []byte) error {
	return c.put(ctx, binary.Chunk{Stream: c.declared.Stream, Data: p})
}

// End implements [duplex.Stream].
func (c *chunks) End(ctx context.Context, whole binary.Ref) error {
	err := c.put(ctx, binary.Chunk{Stream: c.declared.Stream})
	if err != nil || !c.declared.Ends() {
		return err
	}
	return c.notify(ctx, mcp.BinaryEnd(whole))
}

// Abort implements [duplex.Stream].
func (c *chunks) Abort(ctx context.Context, words string) error {
	if err := c.put(ctx, binary.Chunk{Stream: c.declared.Stream, Aborted: true}); err != nil {
		return err
	}
	return c.notify(ctx, mcp.BinaryAborted(c.declared.Stream, words))
}

// Close implements [duplex.Stream].
func (c *chunks) Close() {}

// put writes a chunk. When ctx ends meanwhile somebody may still read the buffer,
// and so no other chunk follows.
func (c *chunks) put(ctx context.Context, chunk binary.Chunk) error {
	c.buffer = chunk.Append(c.buffer[:0])
	_, err := wait(ctx, func() (int, error) { return c.pipes.out.Write(c.buffer) })
	return c.pipes.endIf(ctx, err)
}

func (c *chunks) notify(ctx context.Context, message []byte) error {
	return c.pipes.Write(ctx, func(w io.Writer) error {
		_, err := w.Write(message)
		return err
	})
}
