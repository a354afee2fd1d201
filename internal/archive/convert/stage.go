package convert

import (
	"bufio"
	"io"
)

// stage takes a content in pieces and hands on what it makes of them. A piece
// belongs to the stage during write only. end comes once, after the last one.
type stage interface {
	write(p []byte) error
	end() error
}

// counter is the end of a chain that only wants to know the length.
type counter struct{ n int64 }

func (c *counter) write(p []byte) error {
	c.n += int64(len(p))
	return nil
}

func (c *counter) end() error { return nil }

// output is the end of a chain that writes. It gathers pieces, which can be as
// short as a line.
type output struct {
	counter
	w *bufio.Writer
}

func newOutput(w io.Writer) *output {
	return &output{w: bufio.NewWriterSize(w, pieceSize)}
}

func (o *output) write(p []byte) error {
	_ = o.counter.write(p) // cannot fail
	_, err := o.w.Write(p)
	return err
}

func (o *output) end() error { return o.w.Flush() }
