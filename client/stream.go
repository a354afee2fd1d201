package client

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/repomcp/repomcp/client/internal/retry"
)

const methodStream = "resources/stream"

// Download is a resource being downloaded. Read returns io.EOF only when it is proved that all of
// it arrived, and [ErrNotVerified] if nothing proves it. The fields are final from the first byte
// on: a download that breaks before may restart with other content.
type Download struct {
	io.ReadCloser
	URI      string // canonical, with the commit, if the server sends it
	MIMEType string
	Size     int64  // -1 if unknown beforehand
	ETag     string // as the server has sent it, for a [Part]; or ""
	Commit   string // the full id of the commit or tree, if the server sends it
}

// Part is the beginning of a download that was interrupted earlier, possibly in another process. A
// Part without Content is empty.
type Part struct {
	ETag    string    // of the [Download]
	Content io.Reader // its bytes so far, which are read once for the digest
}

// Stream begins to download a resource. An expired downloadUrl is requested once more.
func (c *Client) Stream(ctx context.Context, uri string) (*Download, error) {
	return c.StreamRest(ctx, uri, Part{})
}

// StreamRest is [Client.Stream] for the bytes after a part. Read returns only these, while Size and
// the digest are those of the whole. It fails with [ErrNotResumed] if the part has other bytes.
func (c *Client) StreamRest(ctx context.Context, uri string, have Part) (*Download, error) {
	return c.begin(ctx, source{uri: uri}, have)
}

// Open begins to download from a URL that names both a server and a resource: that of a plain
// download (/archive/…, /raw/…), or a signed link. Options.Authorization is sent to its origin.
func Open(ctx context.Context, address string, o Options) (*Download, error) {
	return OpenRest(ctx, address, Part{}, o)
}

// OpenRest is to [Open] what [Client.StreamRest] is to [Client.Stream].
func OpenRest(ctx context.Context, address string, have Part, o Options) (*Download, error) {
	c, err := New(address, o)
	if err != nil {
		return nil, err
	}
	return c.begin(ctx, source{address: c.server}, have)
}

// source is where a download comes from.
type source struct {
	uri string // to request; "" if only a URL was given
	// beside selects resources/read instead of resources/stream.
	beside bool
	// address is where the bytes last came from, or nil. It may have an entity tag of its own.
	address    *url.URL
	addressTag string
	// permalink is an immutable URL of the same bytes, or nil.
	permalink *url.URL
}

func (s source) operation() string {
	if s.uri == "" {
		return "download from " + s.address.Scheme + "://" + s.address.Host
	}
	return "download of " + s.uri
}

// begin opens a download that continues a part.
func (c *Client) begin(ctx context.Context, s source, have Part) (*Download, error) {
	d := &Download{URI: s.uri, Size: -1}
	failures, _ := retry.Join(ctx)
	b := &body{
		ctx: retry.Attempt(ctx), c: c, d: d, source: s, sum: sha256.New(), size: -1, failures: failures,
	}
	d.ReadCloser = b
	if have.Content != nil {
		n, err := io.Copy(b.sum, have.Content)
		if err != nil {
			return nil, fmt.Errorf("%s: what there is of it: %w", s.operation(), err)
		}
		b.read, b.tag, b.addressTag, d.ETag = n, strong(unmarked(have.ETag)), have.ETag, have.ETag
		b.permalink = c.plainAddress(s.uri)
	}
	switch {
	case b.read > 0 && b.tag == "":
		return nil, fmt.Errorf("%s: %w: its ETag does not name its bytes", s.operation(), ErrNotResumed)
	case c.options.MaxStreamSize > 0 && b.read > c.options.MaxStreamSize:
		return nil, fmt.Errorf("%s: %w", s.operation(), ErrTooLarge)
	}
	// Headers are no success: only bytes are.
	if err := c.persist(ctx, failures, b.reopen); err != nil {
		return nil, err
	}
	return d, nil
}

// stream requests a resource by resources/stream, and follows to its bytes.
func (c *Client) stream(ctx context.Context, uri string, p part) (reply *http.Response, err error) {
	if isChecksum(p.tag) {
		return c.besides(ctx, uri)
	}
	err = c.inSession(ctx, func(ctx context.Context, s session) error {
		reply, err = c.reach().stream(ctx, s, uri, p) //nolint:bodyclose // the receiver closes the reply
		if refused, ok := errors.AsType[*Error](err); ok && refused.Status == http.StatusGone {
			reply, err = c.reach().stream(ctx, s, uri, p) //nolint:bodyclose // likewise
		}
		if refused, ok := errors.AsType[*Error](err); ok && refused.Code == codeNoMethod {
			reply, err = c.reach().beside(ctx, s, uri) //nolint:bodyclose // likewise
		}
		return err
	})
	return reply, err
}

func (c *Client) get(ctx context.Context, address *url.URL, operation string, p part) (*http.Response, error) {
	if err := c.trusts(address); err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	request, err := c.getting(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, withoutURL(err))
	}
	reply, err := c.send(request, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	return bytesOf(reply, operation)
}

func bytesOf(reply *http.Response, operation string) (*http.Response, error) {
	if reply.StatusCode != http.StatusOK && reply.StatusCode != http.StatusPartialContent {
		return nil, refusal(reply, operation)
	}
	return reply, nil
}

func (d *Download) describe(h http.Header, asked string) {
	d.URI = cmp.Or(h.Get("Content-Location"), h.Get("MCP-Resource-Uri"), asked)
	d.MIMEType = cmp.Or(h.Get("MCP-Resource-Type"), h.Get("Content-Type"))
	d.ETag = h.Get("ETag")
	d.Commit = cmp.Or(commitOf(d.URI), commitOf(immutable(h)), h.Get(metaCommit))
}

// commitOf returns the id of the commit in a URI or a URL, or "".
func commitOf(address string) string {
	path, _, _ := strings.Cut(address, "?")
	for _, place := range []string{"/archive/", "/raw/", "/sha/"} {
		_, after, _ := strings.Cut(path, place)
		for _, name := range slices.Backward(strings.Split(after, "/")) {
			id, _, _ := strings.Cut(name, ".")
			if isCommit(id) {
				return id
			}
		}
	}
	return ""
}

func isCommit(id string) bool {
	return (len(id) == 40 || len(id) == 64) && strings.Trim(id, "0123456789abcdef") == ""
}

// immutable is the immutable URL of the same bytes in a Link header (RFC 8288), or "".
func immutable(h http.Header) string {
	for _, value := range h.Values("Link") {
		target, parameters, ok := strings.Cut(strings.TrimPrefix(value, "<"), ">")
		if ok && strings.Contains(parameters, `rel="immutable"`) {
			return target
		}
	}
	return ""
}

// plainForms are the plain routes, which support ranges, by the forms of URIs with the same bytes.
// An expression is compiled on first use: most programs never need one.
var plainForms = []struct {
	uri   func() *regexp.Regexp
	plain string
}{
	// Archives are first, see isArchive.
	{compiled(`^repo://(.+)/archive/(.+)$`), "archive/$1/$2"},
	{compiled(`^repo://(.+?)/sha/([0-9a-f]+)/contents/(.+)$`), "raw/$1/$2/$3"},
	{compiled(`^repo://(.+?)/(refs/(?:heads|tags)/.+?)/contents/(.+)$`), "raw/$1/$2/$3"},
	{compiled(`^repo://(.+?)/contents/(.+)$`), "raw/$1/HEAD/$2"},
}

func compiled(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// isArchive reports whether a URI names an archive.
func isArchive(uri string) bool {
	path, _, _ := strings.Cut(uri, "?")
	return plainForms[0].uri().MatchString(path)
}

// plainAddress is the URL of a resource on the plain routes of repomcp, which are beside the
// endpoint, or nil. A wrong guess finds nothing, or bytes with another ETag.
func (c *Client) plainAddress(uri string) *url.URL {
	if c.isWired() {
		return nil // what is beside a connection may not be reachable
	}
	path, query, _ := strings.Cut(uri, "?")
	for _, form := range plainForms {
		if !form.uri().MatchString(path) {
			continue
		}
		route := form.uri().ReplaceAllString(path, form.plain)
		if query != "" {
			route += "?" + query
		}
		if relative, err := url.Parse(route); err == nil {
			return c.server.ResolveReference(relative)
		}
	}
	return nil
}
