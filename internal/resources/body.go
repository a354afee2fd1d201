package resources

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/base/span"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/git"
)

// Body is bytes that are ready to be sent, or, after a look, what is known of them.
// Close it before what was found.
type Body struct {
	Found    *Found
	MIMEType string
	// ETag is that of what was found, extended by the secret of a download that a
	// link led to.
	ETag string
	// Size is that of the whole, or [UnknownSize].
	Size int64
	// Digest is the SHA-256 of the whole, or nil while it is not known: after
	// [Body.WriteTo] has written the whole it is.
	Digest []byte
	// Part says that a part is sent: Length bytes from Offset on. Length is that of the
	// whole otherwise.
	Part           bool
	Offset, Length int64

	want    Want
	source  source
	certain bool  // Size bytes were made, or compared with an id
	atLeast int64 // a length that the bytes are known to have
	grant   *limits.Grant
	blob    *git.Blob    // of a file
	head    []byte       // of the blob, where its first bytes were read already
	entry   *cache.Entry // of what is kept or being built
}

// Close gives back what was reserved, and lets go of what is kept of the bytes.
func (b *Body) Close() (err error) {
	if b == nil {
		return nil
	}
	b.leaveCache()
	if b.blob != nil {
		err = b.blob.Close()
		b.blob = nil
	}
	b.grant.Release()
	return err
}

func (b *Body) leaveCache() {
	if b.entry != nil {
		b.entry.Close()
		b.entry = nil
	}
}

// reserve takes the memory that the bytes take on their way until Close, or, for a
// reply, until the request has that. part says that what is before the bytes has to be
// generated as well.
func (b *Body) reserve(ctx context.Context, l *limits.Limiter, memory int64, part bool) (err error) {
	repository := b.Found.Repository
	switch {
	case b.want.Reply:
		size := b.want.Limit
		if b.Size != UnknownSize {
			size = b.Size
		}
		grant, err := l.Call(ctx, repository, memory+encodedTimes*size)
		limits.Keep(ctx, grant)
		return err
	case part:
		b.grant, err = l.Part(ctx, repository, memory)
	default:
		b.grant, err = l.Stream(ctx, repository, memory)
	}
	return err
}

// recall takes over what is known of the bytes.
func (b *Body) recall() (facts facts) {
	if b.Found.known == nil {
		return facts
	}
	facts, ok := b.Found.known.get(b.Found.ETag)
	if ok {
		b.atLeast, b.Digest = facts.atLeast, facts.digest
		b.Size, b.certain = facts.likelySize(b.Size), b.certain || facts.size != UnknownSize
	}
	return facts
}

// learn notes what the whole bytes have turned out to be. What a weak ETag names may have
// another length the next time.
func (b *Body) learn(size int64, digest []byte) {
	b.Digest = digest
	if !b.Found.Weak {
		b.Size, b.certain = size, true
		b.Found.known.put(b.Found.ETag, facts{size: size, digest: digest})
	}
}

// learnKept is learn for what the cache says. Bytes that differ from those that were
// announced or made before are an error.
func (b *Body) learnKept(whole cache.Identity) error {
	if b.certain && b.Size != whole.Size || b.Digest != nil && !bytes.Equal(b.Digest, whole.Sum[:]) {
		return fmt.Errorf("the cache has %d bytes that are not those made before", whole.Size)
	}
	b.learn(whole.Size, whole.Sum[:])
	return nil
}

// Redirect returns a URL to GET the same bytes from, for a minute. It is a
// secret, and most bodies have none; neither has a nil one.
func (b *Body) Redirect(ctx context.Context) (url string, ok bool) {
	if b == nil || b.entry == nil || b.Part {
		return "", false
	}
	url, err := b.entry.Redirect(ctx, b.Found.FileName)
	return url, err == nil
}

// WriteTo writes the bytes, once. An error means that they are not all there, or not
// the Length that was announced. The whole is hashed on its way, unless its digest is
// known, and what that teaches is remembered.
//
// What is kept is read from its place. Of anything else, what lies before a part is
// generated and dropped, or of a plain tar some of that. Generation stops at the end of
// the part: no byte of a file comes before the whole file was compared with its id, so
// that none has to be waited for.
func (b *Body) WriteTo(ctx context.Context, w io.Writer) error {
	out := &countWriter{w: w, limit: b.want.Limit}
	err := b.write(ctx, out)
	if errors.Is(err, errReopen) && out.offered == 0 {
		// This request has it open still.
		b.leaveCache()
		if err = b.source.reserve(ctx, b); err == nil {
			err = b.write(ctx, out)
		}
	}
	if err == nil && b.Length != UnknownSize && out.offered != b.Length {
		err = fmt.Errorf("%d bytes were made of %d", out.offered, b.Length)
	}
	return err
}

func (b *Body) write(ctx context.Context, w io.Writer) error {
	switch {
	case b.Part:
		return b.writePart(ctx, w)
	case b.entry == nil && b.Digest == nil && !b.want.Reply:
		return b.generate(ctx, w)
	default:
		return b.source.write(ctx, b, wholeOf(w))
	}
}

// generate writes all bytes, and learns what they are.
func (b *Body) generate(ctx context.Context, w io.Writer) error {
	sum := sha256.New()
	counted := &countWriter{w: io.MultiWriter(sum, w)}
	if err := b.source.write(ctx, b, wholeOf(counted)); err != nil {
		b.Found.known.put(b.Found.ETag, facts{size: UnknownSize, atLeast: counted.offered})
		return err
	}
	b.learn(counted.offered, sum.Sum(nil))
	return nil
}

func (b *Body) writePart(ctx context.Context, w io.Writer) error {
	p := &part{span.Writer{W: w, Skip: b.Offset, Left: b.Length, Last: b.Size == b.Offset+b.Length}}
	err := b.source.write(ctx, b, p)
	switch {
	case errors.Is(err, span.ErrEnd) && p.Left == 0:
		return nil
	case err != nil:
		return err
	case p.Left > 0 || p.Skip > 0:
		return fmt.Errorf("the range is not within the content: %w", io.ErrUnexpectedEOF)
	default:
		return nil
	}
}

// ReadAll returns the bytes of a body that goes into a reply.
func (b *Body) ReadAll(ctx context.Context) ([]byte, error) {
	var out bytes.Buffer
	err := b.WriteTo(ctx, &out)
	return out.Bytes(), err
}

// part passes the wanted bytes of a source on.
type part struct{ span.Writer }

// wholeOf passes all bytes on.
func wholeOf(w io.Writer) *part { return &part{span.Writer{W: w, Left: -1}} }

// isWhole reports whether all bytes are passed on.
func (p *part) isWhole() bool { return p.Skip == 0 && p.Left < 0 }

// rest returns the wanted range, for a source that writes that range alone.
func (p *part) rest() (offset, length int64) {
	offset, p.Skip = p.Skip, 0
	return offset, p.Left
}

// countWriter counts what it is to pass on, also what failed to be written:
// there were that many bytes. More than its limit, unless that is 0, are a
// [*TooLargeError].
type countWriter struct {
	w       io.Writer
	offered int64
	limit   int64
}

func (c *countWriter) Write(p []byte) (int, error) {
	c.offered += int64(len(p))
	if c.limit > 0 && c.offered > c.limit {
		return 0, &TooLargeError{UnknownSize, c.limit}
	}
	return c.w.Write(p)
}

// digestOf returns the length and the SHA-256 of bytes that are written for nobody.
func digestOf(ctx context.Context, write func(context.Context, io.Writer) error) (int64, []byte, error) {
	sum := sha256.New()
	counted := &countWriter{w: sum}
	err := write(ctx, counted)
	return counted.offered, sum.Sum(nil), err
}
