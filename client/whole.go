package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
)

// end decides whether a download that came to an end is complete; no other function does. It
// returns io.EOF if so. An unbroken connection proves nothing: some proxies turn a break into a
// clean end, and some lose trailers. The proof is a length or a Repr-Digest (RFC 9530) before the
// bytes, the digest after them, the format of an archive, or the server's answer to a question.
// io.ErrUnexpectedEOF says that there is more, and a network error that a later attempt may find
// out.
func (b *body) end() error {
	if b.size >= 0 && b.read != b.size {
		return fmt.Errorf("%s: %w", b.operation(), ErrLength)
	}
	behind, _ := digestOf(b.reply.Trailer)
	sum := string(b.sum.Sum(nil))
	switch {
	case b.digest != "" && b.digest != sum, behind != "" && behind != sum:
		return ErrDigest
	case b.size >= 0, b.digest != "", behind != "", b.form.isWhole():
		return io.EOF
	}
	err := b.confirm(sum)
	if errors.Is(err, errUnknown) {
		err = fmt.Errorf("%s: %w", b.operation(), ErrNotVerified)
	}
	return err
}

// errUnknown says that a server does not tell whether bytes are complete. It never leaves
// [body.end].
var errUnknown = errors.New("it is not known")

// confirm asks the server for the length and the digest of bytes that came without.
func (b *body) confirm(sum string) error {
	for _, at := range b.places() {
		header := http.Header{"Accept-Encoding": {"identity"}, headerWanted: {wantedDigest}}
		if strong(at.tag) != "" {
			header.Set("If-Match", at.tag)
		}
		reply, err := b.c.head(b.ctx, at.address, b.operation(), header) //nolint:bodyclose // head has closed it
		if err = b.compare(reply, err, sum); !errors.Is(err, errUnknown) {
			return err
		}
	}
	if b.uri == "" || b.tag == "" {
		return errUnknown
	}
	// If a proxy passes only the endpoint, the headers of a new download of the same bytes may have
	// them: the server now knows what it has sent.
	reply, err := b.c.stream(b.ctx, b.pinned(), part{})
	if err == nil {
		defer func() { _ = reply.Body.Close() }() // its bytes are not wanted
	}
	return b.compare(reply, err, sum)
}

// compare compares the bytes with the server's headers, if they have a digest or length.
func (b *body) compare(reply *http.Response, err error, sum string) error {
	switch {
	case b.ctx.Err() != nil:
		return b.ctx.Err()
	case isTransient(err):
		return err
	case err != nil, reply.StatusCode != http.StatusOK:
		return errUnknown
	}
	digest, _ := digestOf(reply.Header)
	size := reply.ContentLength
	switch {
	case b.tag != strong(unmarked(reply.Header.Get("ETag"))):
		return errUnknown // of other bytes
	case digest == sum, digest == "" && size == b.read:
		return io.EOF
	case b.tag == "", digest == "" && size < 0:
		return errUnknown
	case size > b.read:
		return io.ErrUnexpectedEOF
	case size >= 0 && size < b.read:
		return fmt.Errorf("%s: %w", b.operation(), ErrLength)
	default:
		return ErrDigest
	}
}

// head requests the headers at a URL. A busy server is an error; other statuses are for the caller.
func (c *Client) head(ctx context.Context, address *url.URL, operation string, header http.Header) (
	*http.Response, error,
) {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, address.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, withoutURL(err))
	}
	request.Header = header
	reply, err := c.send(request, part{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	if slices.Contains(transientStatuses, reply.StatusCode) {
		return nil, refusal(reply, operation)
	}
	return reply, reply.Body.Close()
}
