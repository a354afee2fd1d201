package resources

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/archive"
)

// remember connects a content with what earlier ones of the same ETag taught.
func (c *Content) remember(known *extents) {
	c.extents, c.tag = known, c.ETag
	c.recall()
}

// recall takes over what is known. A weak ETag names no bytes.
func (c *Content) recall() {
	if c.Weak {
		return
	}
	if x, ok := c.extents.get(c.tag); ok {
		c.AtLeast, c.Digest = x.atLeast, x.digest
		switch {
		case x.size != UnknownSize:
			c.Size, c.certain = x.size, true
		case x.measured > 0:
			c.Size = x.measured
		}
	}
}

// Digests reports whether [Content.WriteTo] leaves the SHA-256 of the bytes in
// Digest.
func (c *Content) Digests() bool { return c.extents != nil }

// WriteTo writes the bytes. An error means that they are not whole. They are
// hashed on their way, unless their digest is known, and what that teaches is
// remembered. After [Content.Fetch] they come through the cache.
func (c *Content) WriteTo(ctx context.Context, w io.Writer) error {
	if c.fetched() {
		return c.writeCached(ctx, w)
	}
	if !c.Digests() || c.Digest != nil {
		return c.write(ctx, w)
	}
	announced, sum := c.Size, sha256.New()
	counted := &countWriter{w: io.MultiWriter(sum, w)}
	err := c.write(ctx, counted)
	switch {
	case c.Weak && err == nil:
		c.Digest = sum.Sum(nil)
	case c.Weak:
	case err == nil:
		c.noteWhole(counted.offered, sum.Sum(nil))
	default:
		c.extents.put(c.tag, extent{size: UnknownSize, atLeast: counted.offered})
	}
	if err == nil && announced != UnknownSize && counted.offered != announced {
		err = fmt.Errorf("%d bytes were made of %d", counted.offered, announced)
	}
	return err
}

// noteWhole notes what the whole bytes have turned out to be.
func (c *Content) noteWhole(size int64, digest []byte) {
	c.Size, c.Digest, c.certain = size, digest, true
	c.extents.put(c.tag, extent{size: size, digest: digest})
}

// countWriter counts what it is to pass on, also what failed to be written:
// there were that many bytes.
type countWriter struct {
	w       io.Writer
	offered int64
	limit   int64
	excess  error // of more bytes than the limit; nil: there is none
}

func (c *countWriter) Write(p []byte) (int, error) {
	c.offered += int64(len(p))
	if c.excess != nil && c.offered > c.limit {
		return 0, c.excess
	}
	return c.w.Write(p)
}

// digestOf is the length and the SHA-256 of bytes that are written for nobody.
func digestOf(ctx context.Context, write func(context.Context, io.Writer) error) (int64, []byte, error) {
	sum := sha256.New()
	counted := &countWriter{w: sum}
	err := write(ctx, counted)
	return counted.offered, sum.Sum(nil), err
}

// Measure makes Size known where no file has to be read for it: of a plain tar
// folders and the headers of objects say it. A file is compared with its id, so
// that a damaged one is refused before the first byte.
func (c *Content) Measure(ctx context.Context) error {
	if c.prove != nil {
		return c.Count(ctx)
	}
	if c.Size != UnknownSize || c.plan == nil || c.plan.Options().Format != archive.Tar {
		return nil
	}
	measured, err := c.plan.Measure(ctx)
	if err != nil {
		return err
	}
	c.Size = measured.Bytes
	if !c.Weak {
		c.extents.put(c.tag, extent{size: UnknownSize, measured: c.Size})
	}
	return nil
}

// Count makes Size certain whatever it costs: unless that was done before, the
// bytes are generated for their number, with all that they are made of compared
// with its id. A part of bytes whose end nobody knows cannot be announced, and any
// server with the same encoder makes the same bytes, so that a download can be
// resumed where it was never begun.
func (c *Content) Count(ctx context.Context) error {
	if c.prepare != nil {
		return c.prepare(ctx)
	}
	if c.certain || c.extents == nil {
		return nil
	}
	done, err := c.extents.begin(ctx, c.tag)
	if err != nil {
		return err
	}
	defer done()
	if c.recall(); c.certain {
		return nil
	}
	if c.prove != nil {
		return c.compare(ctx)
	}
	c.Size = UnknownSize // what was measured does not count
	return c.WriteTo(ctx, io.Discard)
}

// compare reads a file, which teaches its digest as well.
func (c *Content) compare(ctx context.Context) error {
	sum := sha256.New()
	size, err := c.prove(ctx, func() io.Writer {
		sum.Reset()
		return sum
	})
	if err == nil {
		c.noteWhole(size, sum.Sum(nil))
	}
	return err
}

// WriteRange writes length bytes from offset on, or all to the end when length
// is negative. An error means that they are not all there; a range that ends
// beyond the end is one.
//
// What is kept is read from there. Of anything else, what lies before the range
// is generated and dropped, or of a plain tar a part of that. Generation stops at
// the end of the range: no byte of a file comes before the whole file was compared
// with its id, so that none has to be waited for.
func (c *Content) WriteRange(ctx context.Context, w io.Writer, offset, length int64) error {
	if c.fetched() {
		return c.cached.entry.WriteRange(ctx, w, offset, length)
	}
	p := &part{w: w, skip: offset, left: length, toEnd: length < 0 || c.Size == offset+length}
	var err error
	if c.writeRange != nil {
		p.skip = 0
		err = c.writeRange(ctx, p, offset, length)
	} else {
		err = c.write(ctx, p)
	}
	switch {
	case errors.Is(err, errPartDone) && p.done():
		return nil
	case err != nil:
		return err
	case !p.done() || p.skip > 0:
		return fmt.Errorf("the range is not within the content: %w", io.ErrUnexpectedEOF)
	default:
		return nil
	}
}

// errPartDone stops the generation of what nobody asked for. It never leaves
// [Content.WriteRange].
var errPartDone = errors.New("the range is complete")

// errLonger says that the length that a range was announced with was wrong.
var errLonger = errors.New("the content is longer than its size")

// part passes a range on and drops what is before it. At its end it stops the
// one who writes, unless that is the end of everything: then there must be no
// more.
type part struct {
	w     io.Writer
	skip  int64
	left  int64 // negative: all
	toEnd bool
}

// done reports whether nothing is left that was asked for.
func (p *part) done() bool { return p.left <= 0 }

func (p *part) Write(b []byte) (int, error) {
	total := len(b)
	skipped := min(p.skip, int64(total))
	p.skip -= skipped
	b = b[skipped:]
	if p.left >= 0 && int64(len(b)) > p.left {
		if p.toEnd {
			return int(skipped), errLonger
		}
		b = b[:p.left]
	}
	if len(b) > 0 {
		n, err := p.w.Write(b)
		if p.left > 0 {
			p.left -= int64(n)
		}
		if err != nil {
			return int(skipped) + n, err
		}
		if n < len(b) {
			return int(skipped) + n, io.ErrShortWrite
		}
	}
	if p.left == 0 && !p.toEnd {
		return int(skipped) + len(b), errPartDone
	}
	return total, nil
}
