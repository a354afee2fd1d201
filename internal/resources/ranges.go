package resources

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// remember connects an archive with what earlier ones of the same ETag taught.
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
		if x.size != UnknownSize {
			c.Size = x.size
		}
	}
}

// Digests reports whether [Content.WriteTo] leaves the SHA-256 of the bytes in
// Digest. Files are compared with their ids instead.
func (c *Content) Digests() bool { return c.extents != nil }

// WriteTo writes the bytes. An error means that they are not whole. Those of an
// archive are hashed on their way, unless their digest is known, and what that
// teaches is remembered. After [Content.Fetch] they come through the cache.
func (c *Content) WriteTo(ctx context.Context, w io.Writer) error {
	if c.fetched() {
		return c.writeShared(ctx, w)
	}
	if !c.Digests() || c.Digest != nil {
		return c.write(ctx, w)
	}
	hashed := &hashWriter{w: w, hash: sha256.New()}
	err := c.write(ctx, hashed)
	if err == nil && c.Size != UnknownSize && hashed.offered != c.Size {
		err = fmt.Errorf("%d bytes were made of %d", hashed.offered, c.Size)
	}
	switch {
	case c.Weak && err == nil:
		c.Digest = hashed.hash.Sum(nil)
	case c.Weak:
	case err == nil:
		c.Size, c.Digest = hashed.offered, hashed.hash.Sum(nil)
		c.extents.put(c.tag, extent{size: c.Size, digest: c.Digest})
	default:
		c.extents.put(c.tag, extent{size: UnknownSize, atLeast: hashed.offered})
	}
	return err
}

// hashWriter hashes what it passes on. Offered counts what failed to be written
// as well: there were that many bytes.
type hashWriter struct {
	w       io.Writer
	hash    hash.Hash
	offered int64
}

func (h *hashWriter) Write(p []byte) (int, error) {
	h.offered += int64(len(p))
	h.hash.Write(p)
	return h.w.Write(p)
}

// Measure makes Size known where no file has to be read for it: of a plain tar
// folders and the headers of objects say it.
func (c *Content) Measure(ctx context.Context) error {
	if c.Size != UnknownSize || c.measure == nil {
		return nil
	}
	size, err := c.measure(ctx)
	if err != nil {
		return err
	}
	c.Size = size
	if c.extents != nil && !c.Weak {
		c.extents.put(c.tag, extent{size: size})
	}
	return nil
}

// Count makes Size known whatever it costs: the bytes are generated for their
// number. A part of bytes whose end nobody knows cannot be announced, and any
// server with the same encoder makes the same bytes, so that a download can be
// resumed where it was never begun.
func (c *Content) Count(ctx context.Context) error {
	if err := c.Measure(ctx); err != nil || c.Size != UnknownSize {
		return err
	}
	done, err := c.extents.begin(ctx, c.tag)
	if err != nil {
		return err
	}
	defer done()
	if c.recall(); c.Size != UnknownSize {
		return nil
	}
	return c.WriteTo(ctx, io.Discard)
}

// WriteRange writes length bytes from offset on, or all to the end when length
// is negative. An error means that they are not all there; a range that ends
// beyond the end is one.
//
// What is kept is read from there. Of anything else, what lies before the range
// is generated and dropped, unless it is a plain tar. Generation stops at the
// end of the range: a file that the range ends in is compared with its id only
// if it ends there too, while those before were compared as ever.
func (c *Content) WriteRange(ctx context.Context, w io.Writer, offset, length int64) error {
	if c.fetched() {
		return c.shared.entry.WriteRange(ctx, w, offset, length)
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
// one who writes, unless that is the end of everything: then the last
// comparison of the content is still to come.
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
