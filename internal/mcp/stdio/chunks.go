package stdio

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/mcp/duplex"
)

// chunks is a stream. It implements [duplex.Stream].
type chunks struct {
	pipes    *pipes
	declared binary.Ref
	buffer   []byte // of the chunk being sent
}

// Open implements [duplex.Transport]. A client can only cancel the request.
func (p *pipes) Open(ref binary.Ref, _ context.CancelCauseFunc) duplex.Stream {
	return &chunks{pipes: p, declared: ref}
}

// Credit implements [duplex.Stream]: the pipe itself slows a fast sender down.
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

func (c *chunks) put(ctx context.Context, chunk binary.Chunk) error {
	c.buffer = chunk.Append(c.buffer[:0])
	return c.pipes.put(ctx, c.buffer)
}

// put writes bytes between two messages. If ctx ends meanwhile, the abandoned write may still read
// b, which must then not be changed: nothing else follows.
func (p *pipes) put(ctx context.Context, b []byte) error {
	_, err := wait(ctx, func() (int, error) { return p.out.Write(b) })
	return p.endIf(ctx, err)
}

// Bare implements [duplex.Transport].
func (p *pipes) Bare(ctx context.Context, declared binary.Ref) (io.Writer, error) {
	return &bareBytes{ctx: ctx, pipes: p}, p.put(ctx, binary.AppendBareHeader(nil, declared))
}

// Fail implements [duplex.Transport].
func (p *pipes) Fail(err error) { p.end(fmt.Errorf("a stream broke in the middle: %w", err)) }

// bareBytes writes the bytes of a stream without framing.
type bareBytes struct {
	ctx    context.Context
	pipes  *pipes
	buffer []byte
}

// Write implements [io.Writer].
func (w *bareBytes) Write(b []byte) (written int, err error) {
	for piece := range slices.Chunk(b, binary.MaxChunkData) {
		w.buffer = append(w.buffer[:0], piece...)
		if err := w.pipes.put(w.ctx, w.buffer); err != nil {
			return written, err
		}
		written += len(piece)
	}
	return written, nil
}

func (c *chunks) notify(ctx context.Context, message []byte) error {
	return c.pipes.Write(ctx, func(w io.Writer) error {
		_, err := w.Write(message)
		return err
	})
}
