package client

import (
	"bufio"
	"bytes"
	"context"
	"io"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// pipe carries messages as lines, and bytes as chunks between lines. It implements [carrier].
type pipe struct {
	in     *bufio.Reader
	out    io.Writer
	end    func(reason error) error
	buffer []byte // of chunks, each of which is used up before the next
}

func newPipe(in io.Reader, out io.Writer, end func(error) error) *pipe {
	return &pipe{
		in: bufio.NewReaderSize(in, binary.MaxChunkData), out: out, end: end, buffer: make([]byte, binary.MaxChunkData),
	}
}

func (p *pipe) mode() binary.Mode { return binary.ModeChunks }

func (p *pipe) beside(context.Context) error { return nil }

func (p *pipe) close(reason error) error { return p.end(reason) }

func (p *pipe) send(o outgoingFrame) error {
	_, err := p.out.Write(append(o.text, '\n'))
	return err
}

func (p *pipe) receive(progress func()) (arrival, error) {
	first, err := p.in.Peek(1)
	switch {
	case err != nil:
		return arrival{}, err
	case binary.IsChunk(first[0]):
		return p.chunk()
	}
	line, err := nextLine(p.in, progress)
	return arrival{isMessage: true, message: bytes.TrimSpace(line)}, err
}

// chunk reads a piece of a stream.
func (p *pipe) chunk() (arrival, error) {
	c, err := binary.ReadChunk(p.in, p.buffer)
	a := arrival{stream: c.Stream, kind: binary.KindData, data: c.Data}
	switch {
	case c.Aborted:
		a.kind = binary.KindAbort
	case c.Ends():
		a.kind = binary.KindEnd
	}
	return a, err
}
