package binarypatch

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

// Memory is how many bytes a [Writer] holds at most.
const Memory = 2 << 20

// Content is one side of a change. A missing file has the zero Content.
type Content struct {
	Size int64
	// Open opens the content at its beginning; nil means that the content is empty.
	Open func() (io.ReadCloser, error)
}

// Writer writes binary patches. It is used by one goroutine; the zero Writer is ready.
type Writer struct{ compressor *zlib.Writer }

// Write writes the lines that begin with "GIT binary patch": the content after the change, and the one before it, which
// undoes it. Errors are those of out and of Open, and of what it has opened.
func (w *Writer) Write(out io.Writer, before, after Content) error {
	buffered := bufio.NewWriter(out)
	_, _ = buffered.WriteString("GIT binary patch\n") // the writer keeps its first error
	for _, content := range []Content{after, before} {
		_, _ = fmt.Fprintf(buffered, "literal %d\n", content.Size)
		if err := w.writeLines(buffered, content); err != nil {
			return err
		}
		_ = buffered.WriteByte('\n')
	}
	return buffered.Flush()
}

// writeLines writes a content as a zlib stream in lines.
func (w *Writer) writeLines(out *bufio.Writer, c Content) (err error) {
	lines := &lineWriter{out: out}
	if w.compressor == nil {
		w.compressor = zlib.NewWriter(lines)
	} else {
		w.compressor.Reset(lines)
	}
	if c.Open != nil {
		opened, err := c.Open()
		if err != nil {
			return err
		}
		_, err = io.Copy(w.compressor, opened)
		if err = errors.Join(err, opened.Close()); err != nil {
			return err
		}
	}
	if err := w.compressor.Close(); err != nil {
		return err
	}
	lines.end()
	return nil
}

const (
	// lineBytes is how many bytes a line holds.
	lineBytes = 52
	// digits are those of numbers to the base of 85, of which five hold four bytes.
	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
)

// lineWriter writes bytes as lines that begin with their length.
type lineWriter struct {
	out  *bufio.Writer
	line [lineBytes]byte
	held int
}

func (l *lineWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := copy(l.line[l.held:], rest)
		rest = rest[n:]
		if l.held += n; l.held == lineBytes {
			l.end()
		}
	}
	_, err := l.out.Write(nil)
	return len(p), err
}

// end writes the bytes that are left. The last number is padded with zeros.
func (l *lineWriter) end() {
	if l.held == 0 {
		return
	}
	const letters = 26
	length := byte('A' + l.held - 1)
	if l.held > letters {
		length = byte('a' + l.held - letters - 1)
	}
	_ = l.out.WriteByte(length)
	clear(l.line[l.held:])
	for at := 0; at < l.held; at += 4 {
		n := binary.BigEndian.Uint32(l.line[at:])
		var number [5]byte
		for i := range number {
			number[len(number)-1-i] = digits[n%uint32(len(digits))]
			n /= uint32(len(digits))
		}
		_, _ = l.out.Write(number[:])
	}
	_ = l.out.WriteByte('\n')
	l.held = 0
}
