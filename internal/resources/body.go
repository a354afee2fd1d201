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

// Body is bytes that are ready to be sent or, after a look, what is known about them. Close it
// before its Found.
type Body struct {
	Found    *Found
	MIMEType string
	// ETag is that of Found, extended by the secret of a download if a link led to it.
	ETag string
	// Size is the size of the whole, or [UnknownSize].
	Size int64
	// Digest is the SHA-256 of the whole, or nil while it is unknown; it is known after
	// [Body.WriteTo] has written the whole.
	Digest []byte
	// Part says that only Length bytes from Offset on are sent. Otherwise Length is that of the
	// whole.
	Part           bool
	Offset, Length int64

	want    Want
	source  source
	certain bool  // Size bytes were generated, or compared with an id
	atLeast int64 // known minimum length of the bytes
	grant   *limits.Grant
	blob    *git.Blob    // of a file
	head    []byte       // the blob's first bytes, if they were read already
	entry   *cache.Entry // an entry of the cache, complete or being built
}

// Close releases the reservation, the blob and the cache entry.
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

// reserve takes the memory of the bytes on their way until Close or, for a reply, until the request
// has been answered. part says that the bytes before the range have to be generated as well.
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

// recall copies the known facts about the bytes.
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

// learn remembers the length and digest of the whole. Content with a weak ETag may have another
// length the next time.
func (b *Body) learn(size int64, digest []byte) {
	b.Digest = digest
	if !b.Found.Weak {
		b.Size, b.certain = size, true
		b.Found.known.put(b.Found.ETag, facts{size: size, digest: digest})
	}
}

// learnKept is learn for the facts of the cache. It fails if the bytes differ from those that were
// announced or made before.
func (b *Body) learnKept(whole cache.Identity) error {
	if b.certain && b.Size != whole.Size || b.Digest != nil && !bytes.Equal(b.Digest, whole.Sum[:]) {
		return fmt.Errorf("the cache has %d bytes that are not those made before", whole.Size)
	}
	b.learn(whole.Size, whole.Sum[:])
	return nil
}

// Redirect returns a URL to GET the same bytes from, for a minute. The URL is a secret. Most bodies
// have none, and a nil body has none.
func (b *Body) Redirect(ctx context.Context) (url string, ok bool) {
	if b == nil || b.entry == nil || b.Part {
		return "", false
	}
	url, err := b.entry.Redirect(ctx, b.Found.FileName)
	return url, err == nil
}

// WriteTo writes the bytes, once. An error means that they are incomplete, or differ from the
// announced Length. The whole is hashed on its way, unless its digest is known, and the results are
// remembered.
//
// A cached range is read directly. Otherwise the bytes before a range are generated and dropped; a
// plain tar can skip most of them. Generation stops at the end of the range. Each file was compared
// with its id before its first byte, so no comparison is left to wait for.
func (b *Body) WriteTo(ctx context.Context, w io.Writer) error {
	out := &countWriter{w: w, limit: b.want.Limit}
	err := b.write(ctx, out)
	if errors.Is(err, errReopen) && out.offered == 0 {
		// This request still has the archive open.
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

// generate writes all bytes, and remembers their size and digest.
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

// countWriter counts the bytes that it is given, including those whose write failed. More than
// limit bytes, unless limit is 0, are a [*TooLargeError].
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

// digestOf returns the length and the SHA-256 of the bytes that write produces.
func digestOf(ctx context.Context, write func(context.Context, io.Writer) error) (int64, []byte, error) {
	sum := sha256.New()
	counted := &countWriter{w: sum}
	err := write(ctx, counted)
	return counted.offered, sum.Sum(nil), err
}
