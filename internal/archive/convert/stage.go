package convert

import (
	"bufio"
	"io"
)

// stage receives a content in pieces and passes on its output. A piece is only valid during write.
// end is called once, after the last piece.
type stage interface {
	write(p []byte) error
	end() error
}

// counter is the end of a chain that determines the length.
type counter struct{ n int64 }

func (c *counter) write(p []byte) error {
	c.n += int64(len(p))
	return nil
}

func (c *counter) end() error { return nil }

// output is the end of a chain that writes. It buffers pieces, which can be as short as a line.
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
