// Package attachments keeps the bytes that follow a reply: the reply names them by a [binary.Ref],
// and its transport writes them.
//
// # Order of use
//
// [New] makes room in a reply, and [With] puts it into the request's context. A handler finds it
// with [Of] and calls [List.Add], which names a stream. The transport writes each [Attachment]
// once, after the message, and closes the list.
//
// # Promises
//
// Writing a stream fails if its bytes do not match what the message declared. No stream has more
// bytes than the list allows.
package attachments

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/resources"
)

// ErrUnsized says that a body's size is not known before its bytes, as bare attachments need.
var ErrUnsized = errors.New("the size is not known before the bytes")

// Attachment is a body whose bytes follow the message that names it.
type Attachment struct {
	// Ref is the declaration in the message: with what is known before the bytes.
	binary.Ref
	MIMEType string

	found *resources.Found
	body  *resources.Body
}

// WriteTo writes the bytes, once. It returns their size and checksum; an error means that they are
// incomplete, or differ from Ref.
func (a *Attachment) WriteTo(ctx context.Context, w io.Writer) (whole binary.Ref, err error) {
	counted := &counter{w: w}
	err = a.body.WriteTo(ctx, counted)
	if errors.As(err, new(*resources.TooLargeError)) {
		err = &resources.Error{
			Reason: resources.ReasonTooLarge, Cause: fmt.Errorf("the stream is larger than maxBinarySize: %w", err),
			Message: "The stream is larger than maxBinarySize, the smaller of the client's and the server's. Declare " +
				"a larger one, or ask the operator to raise --max-binary-bytes.",
		}
	}
	if err != nil {
		return binary.Ref{}, err
	}
	return binary.Ref{Stream: a.Stream, Size: counted.written, Checksum: checksumOf(a.body.Digest)}, nil
}

// Name returns the URI of the content, for logs.
func (a *Attachment) Name() string { return a.found.URI }

// Close releases the bytes and the resource.
func (a *Attachment) Close() error { return errors.Join(a.body.Close(), a.found.Close()) }

func checksumOf(digest []byte) *binary.Checksum {
	if digest == nil {
		return nil
	}
	sum := binary.Checksum(digest)
	return &sum
}

type counter struct {
	w       io.Writer
	written int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.written += int64(n)
	return n, err
}

// List has the attachments of one reply. A nil list is empty and accepts none.
type List struct {
	limit int64
	bare  bool
	list  []*Attachment
}

// New makes room for bodies of at most limit bytes each. Bare ones are sent as the Binary Transfer
// RFC defines: only bytes, of a size that the message declares.
func New(limit int64, bare bool) *List { return &List{limit: limit, bare: bare} }

// Bare reports whether only bytes may follow the message.
func (l *List) Bare() bool { return l != nil && l.bare }

type keyList struct{}

// With adds a list to a request's context.
func With(ctx context.Context, l *List) context.Context { return context.WithValue(ctx, keyList{}, l) }

// Of returns the list of a context, or nil if the reply is a message alone.
func Of(ctx context.Context) *List {
	l, _ := ctx.Value(keyList{}).(*List)
	return l
}

// Add makes the bytes of found follow the reply, which then has to name the stream. Add takes
// ownership of found, and closes it on failure. The errors are [ErrUnsized], if the attachments are
// bare, and those of [resources.Found.Open].
func (l *List) Add(ctx context.Context, found *resources.Found) (*Attachment, error) {
	body, err := found.Open(ctx, resources.Want{Method: resources.Get, Limit: l.limit})
	if err == nil && l.bare && body.Size == resources.UnknownSize {
		err = ErrUnsized
	}
	if excess := (*resources.TooLargeError)(nil); errors.As(err, &excess) {
		err = tooLarge(excess)
	}
	if err != nil {
		return nil, errors.Join(err, body.Close(), found.Close())
	}
	added := &Attachment{
		Ref:      binary.Ref{Stream: binary.NewStreamID(), Size: body.Size, Checksum: checksumOf(body.Digest)},
		MIMEType: body.MIMEType, found: found, body: body,
	}
	l.list = append(l.list, added)
	return added, nil
}

func tooLarge(excess *resources.TooLargeError) error {
	failure := &resources.Error{Reason: resources.ReasonTooLarge, Message: fmt.Sprintf("The resource has more bytes "+
		"than the maxBinarySize of %d, the smaller of the client's and the server's. Declare a larger one, or "+
		"download the resource with resources/stream.", excess.Limit)}
	failure = failure.With("limit", excess.Limit).With("suggestion", "resources/stream")
	if excess.Size != resources.UnknownSize {
		failure = failure.With("size", excess.Size)
	}
	return failure
}

// All returns the attachments.
func (l *List) All() []*Attachment {
	if l == nil {
		return nil
	}
	return l.list
}

// Close releases the attachments and empties the list.
func (l *List) Close() (err error) {
	for _, attachment := range l.All() {
		err = errors.Join(err, attachment.Close())
	}
	if l != nil {
		l.list = nil
	}
	return err
}
