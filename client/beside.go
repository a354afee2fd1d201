package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// Fetch begins to read a resource with its bytes beside the answer (the Binary Transfer RFC) or, if
// the server does not support that, within the answer. [Client.Stream] chooses by itself. A broken
// download is requested again, and continues if its bytes are the same; that requires a server that
// sends their SHA-256 before them.
func (c *Client) Fetch(ctx context.Context, uri string) (*Download, error) {
	return c.begin(ctx, source{uri: uri, beside: true}, Part{})
}

func (c *Client) besides(ctx context.Context, uri string) (reply *http.Response, err error) {
	err = c.inSession(ctx, func(ctx context.Context, s session) error {
		reply, err = c.reach().beside(ctx, s, uri) //nolint:bodyclose // the receiver closes the reply
		return err
	})
	return reply, err
}

// content is one content in an answer to resources/read.
type content struct {
	URI, MIMEType string
	Text          *string
	Blob          []byte
	BinaryRef     *binary.Ref
	Meta          map[string]json.RawMessage `json:"_meta"`
}

// bytes returns the bytes that are in the message.
func (c content) bytes() []byte {
	if c.Blob == nil && c.Text != nil {
		return []byte(*c.Text)
	}
	return c.Blob
}

type contents struct {
	Contents []content `json:"contents"`
}

func (c contents) refs() (refs []binary.Ref) {
	for _, one := range c.Contents {
		if one.BinaryRef != nil {
			refs = append(refs, *one.BinaryRef)
		}
	}
	return refs
}

func (c contents) first(uri string) (content, error) {
	if len(c.Contents) == 0 {
		return content{}, fmt.Errorf("%s %s: %w: the result has no content", methodRead, uri, ErrDamaged)
	}
	return c.Contents[0], nil
}

func (c *Client) within(uri string, result contents) (*http.Response, error) {
	first, err := result.first(uri)
	if err != nil {
		return nil, err
	}
	if first.BinaryRef != nil {
		return nil, fmt.Errorf("%s %s: %w: the bytes that the message names do not follow it", methodRead, uri,
			ErrDamaged)
	}
	content := first.bytes()
	sum := binary.Checksum(sha256.Sum256(content))
	first.BinaryRef = &binary.Ref{Size: int64(len(content)), Checksum: &sum}
	return c.replyOf(uri, first, io.NopCloser(bytes.NewReader(content))), nil
}

// tagPrefix begins the entity tags that are made of checksums.
const tagPrefix = `"sha256-`

// isChecksum reports whether an entity tag names bytes from [Client.Fetch].
func isChecksum(tag string) bool { return strings.HasPrefix(tag, tagPrefix) }

// metaCommit is the commit of a content, and the header of it in a reply of replyOf.
const metaCommit = "io.github.repomcp/commit"

// commit returns the id of the commit, or "" if the server does not say it.
func (c content) commit() (id string) {
	_ = json.Unmarshal(c.Meta[metaCommit], &id) // a foreign server may have anything there
	if !isCommit(id) {
		return ""
	}
	return id
}

// replyOf presents bytes beside an answer as an HTTP reply with headers, so that both are handled
// by the same code.
func (c *Client) replyOf(uri string, of content, body io.ReadCloser) *http.Response {
	header := http.Header{}
	header.Set("Content-Type", of.MIMEType)
	header.Set("Content-Location", cmp.Or(of.URI, uri))
	header.Set(metaCommit, of.commit())
	if sum := of.BinaryRef.Checksum; sum != nil {
		text, _ := sum.MarshalText() // it never fails
		header.Set("ETag", tagPrefix+string(text)+`"`)
		header.Set("Repr-Digest", reprDigest(*sum))
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: header, Trailer: http.Header{}, ContentLength: of.BinaryRef.Size, Body: body,
		Request: &http.Request{Method: http.MethodPost, URL: c.server},
	}
}

func reprDigest(sum binary.Checksum) string {
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// damages map the errors of package binary to those of this package.
var damages = []struct{ is, as error }{
	{binary.ErrSize, ErrLength}, {binary.ErrSum, ErrDigest},
	{binary.ErrReply, ErrDamaged}, {binary.ErrFrame, ErrDamaged}, {binary.ErrChunk, ErrDamaged},
	{binary.ErrStreamID, ErrDamaged}, {binary.ErrChecksum, ErrDamaged},
}

func damaged(err error) error {
	for _, d := range damages {
		if errors.Is(err, d.is) {
			return fmt.Errorf("%w: %w", d.as, err)
		}
	}
	return err
}
