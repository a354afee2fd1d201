package object

import (
	"errors"
	"hash"
	"io"
	"runtime"

	"github.com/repomcp/repomcp/internal/base/panics"
)

const (
	// pieceBytes is how much of an object is read at a time while another piece is written.
	pieceBytes = 128 << 10
	// pieces is how many of those are in memory: one is read, one is written, and one waits, so
	// that neither side waits for a slower moment of the other.
	pieces = 3
)

// piece is a part of an object, or the error of reading it.
type piece struct {
	buf     *[]byte
	content []byte // of buf
	last    bool
	err     error
}

// WriteTo writes the rest of the object. A goroutine reads a large object ahead, and has ended when
// WriteTo returns: inflating takes as long as hashing and writing together. As with Read, the last
// bytes are written only after all checks have passed.
func (o *Object) WriteTo(w io.Writer) (total int64, err error) {
	if !o.readsAhead() {
		return o.writeInTurn(w)
	}
	sum := o.hash
	o.hash = nil // the goroutine must not use it
	free, full := make(chan *[]byte, pieces), make(chan piece, pieces)
	for range pieces {
		free <- o.buffers.takePiece()
	}
	go o.readAhead(free, full)
	for p := range full { // until the goroutine has ended: it uses the object
		if err == nil {
			var n int
			n, err = o.writePiece(w, sum, p)
			total += int64(n)
			if err == nil && !p.last {
				free <- p.buf
				continue
			}
			close(free)
		}
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

// readsAhead reports whether WriteTo reads the object ahead.
func (o *Object) readsAhead() bool {
	_, inMemory := o.source.(*content)
	return !inMemory && o.left > pieceBytes
}

// readAhead reads into free buffers until the object's end, an error, or the end of free. It closes
// full when it no longer uses the object.
func (o *Object) readAhead(free <-chan *[]byte, full chan<- piece) {
	defer close(full)
	for buf := range free {
		p := piece{buf: buf}
		p.err = panics.Catch(func() (err error) {
			p.content, err = o.readPiece(*buf)
			return err
		})
		if panicked := (*panics.Error)(nil); errors.As(p.err, &panicked) {
			p.err = o.failed(p.err) // damage of the object, not an error of the writer
		}
		p.last = o.left == 0
		full <- p         // has room for all buffers
		runtime.Gosched() // another goroutine waits at most for one piece of each download
		if p.last || p.err != nil {
			return
		}
	}
}

// readPiece fills buf with the next bytes of the object.
func (o *Object) readPiece(buf []byte) ([]byte, error) {
	if o.left == 0 {
		return nil, o.end()
	}
	content := buf[:min(int64(len(buf)), o.left)]
	_, err := io.ReadFull(o, content)
	return content, err
}

// writePiece writes a piece. Before the last one it compares the object with its id.
func (o *Object) writePiece(w io.Writer, sum hash.Hash, p piece) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	if sum != nil {
		sum.Write(p.content)
		if p.last {
			if err := o.compare(sum); err != nil {
				return 0, o.failed(err)
			}
		}
	}
	return w.Write(p.content)
}

// writeInTurn writes a short object, or one in memory: reading it ahead would only take memory.
func (o *Object) writeInTurn(w io.Writer) (total int64, err error) {
	buf := o.buffers.takePiece()
	defer o.buffers.givePiece(buf)
	for {
		content, err := o.readPiece(*buf)
		if err != nil {
			return total, err
		}
		n, err := w.Write(content)
		total += int64(n)
		if err != nil {
			o.err = err
		}
		if err != nil || o.left == 0 {
			return total, err
		}
	}
}
