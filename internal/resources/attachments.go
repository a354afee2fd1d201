package resources

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/binary"
)

// Attachment is a content whose bytes follow the message that names it.
type Attachment struct {
	// Ref is how the message names it: with what is known before the bytes.
	binary.Ref
	MIMEType string

	content *Content
	limit   int64
}

// WriteTo writes the bytes, once. It returns what they have turned out to be, size
// and checksum; an error means that they are not whole, or not those of Ref.
func (a *Attachment) WriteTo(ctx context.Context, w io.Writer) (whole binary.Ref, err error) {
	out := &countWriter{w: w, limit: a.limit, excess: errAttachmentLimit}
	if err := a.content.WriteTo(ctx, out); err != nil {
		return binary.Ref{}, err
	}
	whole = binary.Ref{Stream: a.Stream, Size: out.offered, Checksum: checksumOf(a.content.Digest)}
	if a.Size != UnknownSize && a.Size != whole.Size {
		return whole, fmt.Errorf("%w: %d of %d bytes", binary.ErrSize, whole.Size, a.Size)
	}
	return whole, nil
}

// Name is the URI of what the bytes are of, for logs.
func (a *Attachment) Name() string { return a.content.URI }

// Close releases the content.
func (a *Attachment) Close() error { return a.content.Close() }

func checksumOf(digest []byte) *binary.Checksum {
	if digest == nil {
		return nil
	}
	sum := binary.Checksum(digest)
	return &sum
}

// errAttachmentLimit says that bytes of an unknown number were more than their
// client or the server allows.
var errAttachmentLimit = errors.New("the stream is larger than maxBinarySize")

// ErrUnsized says that the size of a content is not known before its bytes are, which
// bare attachments need.
var ErrUnsized = errors.New("the size is not known before the bytes")

// Attachments are those of one reply. A nil one has none, and room for none.
type Attachments struct {
	limit int64
	bare  bool
	list  []*Attachment
}

// NewAttachments makes room for contents of at most so many bytes each. Bare ones are
// sent as the Binary Transfer RFC has them: nothing but bytes, of a size that the message
// declares.
func NewAttachments(limit int64, bare bool) *Attachments {
	return &Attachments{limit: limit, bare: bare}
}

// Bare reports whether nothing but bytes may follow the message.
func (a *Attachments) Bare() bool { return a != nil && a.bare }

type keyAttachments struct{}

// WithAttachments gives a request's context a place for bytes beside its reply.
func WithAttachments(ctx context.Context, a *Attachments) context.Context {
	return context.WithValue(ctx, keyAttachments{}, a)
}

// AttachmentsOf is that of a context, or nil where the reply is a message alone.
func AttachmentsOf(ctx context.Context) *Attachments {
	a, _ := ctx.Value(keyAttachments{}).(*Attachments)
	return a
}

// Add has the bytes of a content follow the reply, which then has to name the
// stream. The content is the attachment's from now on, or closed where it fails. The
// errors are [ErrUnsized], where the attachments are bare, and those of the content.
func (a *Attachments) Add(ctx context.Context, content *Content) (*Attachment, error) {
	err := a.admit(ctx, content)
	if err != nil {
		return nil, errors.Join(err, content.Close())
	}
	added := &Attachment{
		Ref:      binary.Ref{Stream: binary.NewStreamID(), Size: content.Size, Checksum: checksumOf(content.Digest)},
		MIMEType: content.MIMEType, content: content, limit: a.limit,
	}
	a.list = append(a.list, added)
	return added, nil
}

// admit refuses what is known to be too large, as early as that is known.
func (a *Attachments) admit(ctx context.Context, content *Content) error {
	if err := a.refuse(content); err != nil {
		return err
	}
	if err := content.Reserve(ctx, false); err != nil {
		return err
	}
	if err := content.Identify(ctx); err != nil {
		return err
	}
	if a.bare && content.Size == UnknownSize {
		return ErrUnsized
	}
	return a.refuse(content)
}

func (a *Attachments) refuse(content *Content) error {
	size := max(content.Size, content.AtLeast)
	if size <= a.limit {
		return nil
	}
	failure := &Error{Reason: ReasonTooLarge, Message: fmt.Sprintf("The resource has more bytes than the "+
		"maxBinarySize of %d, the smaller of the client's and the server's. Declare a larger one, or download the "+
		"resource with resources/stream.", a.limit)}
	failure = failure.With("limit", a.limit).With("suggestion", "resources/stream")
	if content.Size != UnknownSize {
		failure = failure.With("size", content.Size)
	}
	return failure
}

// List is what was added.
func (a *Attachments) List() []*Attachment {
	if a == nil {
		return nil
	}
	return a.list
}

// Close releases what was added, and forgets it.
func (a *Attachments) Close() (err error) {
	for _, attachment := range a.List() {
		err = errors.Join(err, attachment.Close())
	}
	if a != nil {
		a.list = nil
	}
	return err
}

// Identify makes Size and Digest known wherever no archive has to be made for it:
// a file is read, and a description is written for nobody. Where archives are kept
// it is [Content.Fetch] as well, so that it is for bytes that will be sent.
func (c *Content) Identify(ctx context.Context) error {
	if c.Digests() {
		if err := c.Fetch(ctx); err != nil {
			return err
		}
		return c.Measure(ctx)
	}
	size, digest, err := digestOf(ctx, c.write)
	if err == nil {
		c.Size, c.Digest = size, digest
	}
	return err
}
