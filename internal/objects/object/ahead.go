package object

import (
	"errors"
	"hash"
	"io"

	"github.com/repomcp/repomcp/internal/panics"
)

const (
	// pieceBytes is how much of an object is read at a time while another part
	// is written.
	pieceBytes = 128 << 10
	// pieces is how many of those are in memory: one is read, one is written,
	// and one waits, so that neither side waits for a slower moment of the
	// other.
	pieces = 3
)

// piece is a part of an object, or why there is no more.
type piece struct {
	buf *[]byte
	n   int
	err error // io.EOF after the last
}

// WriteTo writes the rest of the object. A large one that is not in memory is read ahead by a
// goroutine, which has ended when WriteTo returns: inflating takes as long as
// hashing and writing together. As with Read, the last bytes are written only
// after all checks have passed.
func (o *Object) WriteTo(w io.Writer) (int64, error) {
	if o.left <= pieceBytes {
		return o.writeRest(w)
	}
	if _, inMemory := o.source.(*content); inMemory {
		return o.writeInTurn(w)
	}
	left, sum := o.left, o.hash
	o.hash = nil // of the goroutine's concern no more
	free, full := make(chan *[]byte, pieces), make(chan piece, pieces)
	for range pieces {
		free <- o.buffers.takePiece()
	}
	go o.readAhead(free, full)
	total, err := o.writePieces(w, sum, left, free, full)
	close(free)
	for p := range full { // until the goroutine has ended: it uses the object
		o.buffers.givePiece(p.buf)
	}
	for buf := range free {
		o.buffers.givePiece(buf)
	}
	if err != nil {
		o.err = err
	}
	return total, err
}

// readAhead reads into free buffers until the object's end, an error, or the
// end of free. It closes full when it has let go of the object.
func (o *Object) readAhead(free <-chan *[]byte, full chan<- piece) {
	defer close(full)
	for buf := range free {
		n := 0
		err := panics.Catch(func() (err error) {
			n, err = io.ReadFull(o, *buf)
			return err
		})
		if o.left == 0 && errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF // a last piece that is not full
		}
		if panicked := (*panics.Error)(nil); errors.As(err, &panicked) {
			err = o.failed(err) // damage of the object, and no fault of the writer
		}
		full <- piece{buf, n, err} // has room for all buffers
		if err != nil {
			return
		}
	}
}

// writePieces writes what is read ahead, up to the left bytes, and compares it
// with the id before the last of it.
func (o *Object) writePieces(
	w io.Writer, sum hash.Hash, left int64, free chan<- *[]byte, full <-chan piece,
) (total int64, err error) {
	for p := range full {
		content := (*p.buf)[:p.n]
		left -= int64(p.n)
		if sum != nil && p.n > 0 {
			sum.Write(content)
			if left == 0 {
				if err = o.compare(sum); err != nil {
					err = o.failed(err)
				}
			}
		}
		if err == nil && p.n > 0 {
			var n int
			n, err = w.Write(content)
			total += int64(n)
		}
		switch {
		case err != nil:
		case p.err != nil && !errors.Is(p.err, io.EOF):
			err = p.err
		case p.err != nil && left != 0:
			err = o.failed(ErrWrongSize)
		}
		if err != nil || p.err != nil {
			o.buffers.givePiece(p.buf)
			return total, err
		}
		free <- p.buf
	}
	return total, nil
}

// writeRest writes a short rest.
func (o *Object) writeRest(w io.Writer) (int64, error) {
	buf := o.buffers.takePiece()
	defer o.buffers.givePiece(buf)
	content, err := o.AppendTo((*buf)[:0])
	if err != nil {
		return 0, err
	}
	n, err := w.Write(content)
	return int64(n), err
}

// writeInTurn writes what is in memory, where there is nothing to wait for: reading
// it ahead would take memory for no time.
func (o *Object) writeInTurn(w io.Writer) (total int64, err error) {
	buf := o.buffers.takePiece()
	defer o.buffers.givePiece(buf)
	for o.left > 0 {
		content := (*buf)[:min(o.left, pieceBytes)]
		if _, err := io.ReadFull(o, content); err != nil {
			return total, err
		}
		n, err := w.Write(content)
		total += int64(n)
		if err != nil {
			o.err = err
			return total, err
		}
	}
	return total, nil
}
