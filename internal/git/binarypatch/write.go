package binarypatch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/git/deflate"
)

// Content is one side of a change. A missing file has the zero Content.
type Content struct {
	Size int64
	// Bytes are the content if it is in memory. Otherwise Open opens it, at each call from its
	// beginning.
	Bytes []byte
	Open  func() (io.ReadCloser, error)
}

func (c Content) inMemory() bool { return int64(len(c.Bytes)) == c.Size }

// Write writes the lines that begin with "GIT binary patch": the change, and the one that undoes
// it. Errors are the context's, the writer's and those of Open.
func Write(ctx context.Context, w io.Writer, before, after Content) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString("GIT binary patch\n") // the writer keeps its first error
	for _, change := range [][2]Content{{before, after}, {after, before}} {
		if err := writeChange(ctx, out, change[0], change[1]); err != nil {
			return err
		}
	}
	return out.Flush()
}

// writeChange writes what makes one content of the other: a delta if that is shorter.
func writeChange(ctx context.Context, out *bufio.Writer, from, to Content) error {
	var whole counter
	if err := compress(ctx, &whole, to); err != nil {
		return err
	}
	lines := &lineWriter{out: out}
	delta, err := shorterDelta(ctx, from, to, int(whole))
	switch {
	case err != nil:
		return err
	case delta != nil:
		_, _ = fmt.Fprintf(out, "delta %d\n", delta.size)
		_, _ = lines.Write(delta.packed)
	default:
		_, _ = fmt.Fprintf(out, "literal %d\n", to.Size)
		if err := compress(ctx, lines, to); err != nil {
			return err
		}
	}
	lines.end()
	return out.WriteByte('\n')
}

// packedDelta is a compressed delta, and its size before that.
type packedDelta struct {
	packed []byte
	size   int
}

// shorterDelta returns the delta, or nil if it is not shorter than most bytes when compressed.
func shorterDelta(ctx context.Context, from, to Content, most int) (*packedDelta, error) {
	if from.Size == 0 || to.Size == 0 || !from.inMemory() || !to.inMemory() {
		return nil, nil
	}
	delta, ok, err := makeDelta(ctx, from.Bytes, to.Bytes, most)
	if !ok || err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	if err := deflate.Compress(&packed, bytes.NewReader(delta)); err != nil {
		return nil, err
	}
	if packed.Len() >= most {
		return nil, nil
	}
	return &packedDelta{packed.Bytes(), len(delta)}, nil
}

// compress writes a content as a zlib stream.
func compress(ctx context.Context, w io.Writer, c Content) (err error) {
	if c.inMemory() {
		return deflate.Compress(w, &reader{ctx, bytes.NewReader(c.Bytes)})
	}
	opened, err := c.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	return deflate.Compress(w, &reader{ctx, opened})
}

// reader ends when its context does.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// counter counts the bytes that are written.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
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
