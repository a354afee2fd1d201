package httpx

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/httpx/conns"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

const (
	headerResourceURI = "MCP-Resource-Uri"
	// headerResourceType has the type of a resource whose own type would make
	// the reply look like JSON-RPC.
	headerResourceType = "MCP-Resource-Type"

	typeBytes = "application/octet-stream"
)

// stream answers resources/stream in the direct binary mode of SEP-2532: the
// resource's bytes are the body.
func (s *Server) stream(c echo.Context, request *mcp.Request) error {
	content, failure := s.options.MCP.Stream(c.Request().Context(), request)
	if failure != nil {
		return s.fail(c, request.ID, failure, request.Era)
	}
	defer s.close(content)
	way, failure := s.options.MCP.DeliveryOf(c.Request().Context(), request, acceptsContent(c.Request(), content))
	if failure != nil {
		return s.fail(c, request.ID, failure, request.Era)
	}
	if way == mcp.DeliveryURL {
		reply, failure := s.options.MCP.DownloadReply(c.Request().Context(), request, content)
		if failure != nil {
			return s.fail(c, request.ID, failure, request.Era)
		}
		c.Response().Header().Set("Cache-Control", "no-store")
		return s.reply(c, http.StatusOK, reply)
	}
	if failure := s.options.MCP.Fetch(c.Request().Context(), request, content); failure != nil {
		return s.fail(c, request.ID, failure, request.Era)
	}
	d := delivery{status: http.StatusOK, length: content.Size, limit: request.Stream.MaxSize}
	if way != mcp.DeliveryDirect {
		if done, err := redirect(c, content, d); done {
			return err
		}
	}
	h := c.Response().Header()
	contentHeaders(h, content)
	streamType(h, content.MIMEType)
	if content.Size != resources.UnknownSize {
		h.Set("Content-Length", strconv.FormatInt(content.Size, 10))
	}
	// A part can be asked for where the content has a URL, not of a POST.
	h.Set("Accept-Ranges", "none")
	s.send(c, content, d)
	return nil
}

// acceptsContent reports whether the client admits the bytes themselves: by
// their type, or, where it does not name that, as bytes of any kind.
func acceptsContent(r *http.Request, content *resources.Content) bool {
	base, _, _ := strings.Cut(content.MIMEType, ";")
	if base == typeJSON {
		return accepts(r, typeBytes) // that is what it is sent as
	}
	admitted, named := preference(r, base)
	return admitted || !named && accepts(r, typeBytes)
}

func (s *Server) close(content io.Closer) {
	if err := content.Close(); err != nil {
		s.logger.Error("closing a resource failed", "error", err)
	}
}

// headerDigest has the SHA-256 of the whole (RFC 9530): before the bytes where
// it is known, after them where they come in chunks.
const headerDigest = "Repr-Digest"

func digestText(sum []byte) string {
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum) + ":"
}

// delivery is what of a content is sent.
type delivery struct {
	status int
	// offset and length of the bytes; the length may be unknown for the whole.
	offset, length int64
	limit          int64 // the most that may be sent; 0: any
	secret         bool  // by its URL: no cache may keep it
}

// send writes the headers and then the bytes. It returns when all were written,
// and aborts the connection otherwise.
func (s *Server) send(c echo.Context, content *resources.Content, d delivery) {
	ctx, h := c.Request().Context(), c.Response().Header()
	s.observer.StreamBegan()
	whole := false
	defer func() { s.observer.StreamEnded(whole) }()
	announced := announceDigest(c.Request(), h, content, d)
	account := resources.AccountOf(ctx)
	defer account.Stage("send")()
	w := &streamWriter{response: c.Response(), account: account, limit: d.limit}
	// A write that waits for the client ends with the request, which the client
	// can cancel from another connection.
	defer unblockAfter(ctx, c)()
	if err := w.start(d.status); err != nil {
		abort(c)
	}
	var err error
	if d.status == http.StatusPartialContent {
		err = content.WriteRange(ctx, w, d.offset, d.length)
	} else {
		err = content.WriteTo(ctx, w)
	}
	if err == nil && d.length != resources.UnknownSize && w.written != d.length {
		err = fmt.Errorf("%d bytes were written of %d", w.written, d.length)
	}
	if err != nil {
		s.logger.Warn("a stream was aborted", "uri", content.URI, "bytes", w.written, "error", err)
		// Returning would end the body cleanly, and the client would take what
		// it got for the whole.
		abort(c)
	}
	if announced {
		h.Set(headerDigest, digestText(content.Digest))
	}
	whole = true
}

// announceDigest says where the digest will be, and reports whether it is to
// follow the bytes. Only chunks have a place for it there.
func announceDigest(r *http.Request, h http.Header, content *resources.Content, d delivery) bool {
	if content.Digest != nil {
		h.Set(headerDigest, digestText(content.Digest))
		return false
	}
	follows := content.Digests() && d.status == http.StatusOK && r.ProtoAtLeast(1, 1) &&
		(d.length == resources.UnknownSize || wantsDigest(r))
	if follows {
		h.Del("Content-Length")
		h.Set("Trailer", headerDigest)
	}
	return follows
}

// wantsDigest reports whether a client would rather have the digest than the length
// (RFC 9530, Want-Repr-Digest): a reply that says its length has no place behind it.
func wantsDigest(r *http.Request) bool {
	for member := range strings.SplitSeq(r.Header.Get("Want-Repr-Digest"), ",") {
		algorithm, preference, _ := strings.Cut(strings.TrimSpace(member), "=")
		if strings.EqualFold(algorithm, "sha-256") && preference != "0" {
			return true
		}
	}
	return false
}

// unblockAfter ends the writes of a reply, also one that waits for the client, when
// ctx is done. The function that it returns takes that back; after it the
// connection and the echo context, which are used for other requests then, are
// left alone.
func unblockAfter(ctx context.Context, c echo.Context) (stop func()) {
	ended := make(chan struct{})
	stopped := context.AfterFunc(ctx, func() {
		defer close(ended)
		if conn := conns.Of(c.Request()); conn != nil {
			_ = conn.Close() // what is written fails now, and so will what follows
			return
		}
		// A recorder of a test has no deadlines.
		_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Unix(1, 0))
	})
	return func() {
		if !stopped() {
			<-ended
		}
	}
}

// abort ends a reply that has begun so that no client takes what it got for
// the whole. HTTP/1.0, which proxies still speak to servers, has no chunks: the
// end of the connection is the end of the body, unless it is reset.
func abort(c echo.Context) {
	if conn := conns.Of(c.Request()); conn != nil && !c.Request().ProtoAtLeast(1, 1) {
		conn.Reset()
	}
	panic(http.ErrAbortHandler)
}

// ownType sends a content under its own type.
func ownType(h http.Header, mimeType string) { h.Set("Content-Type", mimeType) }

// streamType is ownType but for what a client would take for a message: it tells
// errors from content by these types.
func streamType(h http.Header, mimeType string) {
	ownType(h, mimeType)
	if base, _, _ := strings.Cut(mimeType, ";"); base == typeJSON || base == typeEvents {
		ownType(h, typeBytes)
		h.Set(headerResourceType, mimeType)
	}
}

// askedURI is the URI that a content was asked for with, as a header can carry
// it, so that the client recognises it.
func askedURI(content *resources.Content) string {
	if content.Asked == "" {
		return content.URI
	}
	return visible(content.Asked)
}

// visible percent-encodes what no URI, and no header, may have.
func visible(uri string) string {
	var b strings.Builder
	for i := range len(uri) {
		if c := uri[i]; c <= ' ' || c > '~' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// contentHeaders are those of every reply with a content's bytes.
func contentHeaders(h http.Header, content *resources.Content) {
	validatorHeaders(h, content)
	h.Set("Content-Disposition", disposition(content.FileName))
	h.Set(headerResourceURI, askedURI(content))
	if content.Asked != "" && content.Frozen != "" {
		h.Set("Content-Location", content.Frozen)
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Accel-Buffering", "no")
	encodingsHeader(h, content)
}

// headerEncodings lists, percent-encoded, the encodings that files of an archive were to
// be converted to and that are not known.
const headerEncodings = "X-Repomcp-Unknown-Encodings"

func encodingsHeader(h http.Header, content *resources.Content) {
	if len(content.UnknownEncodings) == 0 {
		return
	}
	names := make([]string, len(content.UnknownEncodings))
	for i, name := range content.UnknownEncodings {
		names[i] = url.PathEscape(resources.Clip(name))
	}
	h.Set(headerEncodings, strings.Join(names, ", "))
}

// validatorHeaders say what a cache may do with a content. What a branch or
// HEAD names is asked for again each time: that costs one conditional request,
// which reads no file, and an old copy would be a wrong answer.
func validatorHeaders(h http.Header, content *resources.Content) {
	h.Set("ETag", entityTag(content))
	h.Set("Cache-Control", "private, no-cache")
	if content.Immutable && !content.Weak {
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
}

func entityTag(content *resources.Content) string {
	if content.Weak {
		return `W/"` + content.ETag + `"`
	}
	return `"` + content.ETag + `"`
}

// disposition names a download (RFC 6266): a plain form for all, and the exact
// one (RFC 5987, "filename*") where the name is not ASCII.
func disposition(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '/' || r == '\\' {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	ascii := strings.Map(func(r rune) rune {
		if r > '~' {
			return '_'
		}
		return r
	}, name)
	value := mime.FormatMediaType("attachment", map[string]string{"filename": ascii})
	if ascii != name {
		value += strings.TrimPrefix(mime.FormatMediaType("attachment", map[string]string{"filename": name}),
			"attachment")
	}
	return value
}

// errStreamLimit says that a stream grew beyond what its client accepts.
var errStreamLimit = errors.New("the stream is larger than the client's maxStreamSize")

// streamWriter writes the body of a stream, and counts it.
type streamWriter struct {
	response *echo.Response
	account  *resources.Account
	limit    int64 // 0: none
	written  int64
}

// start sends the headers at once: nothing of the body is waited for.
func (w *streamWriter) start(status int) error {
	w.response.WriteHeader(status)
	return http.NewResponseController(w.response).Flush()
}

func (w *streamWriter) Write(p []byte) (int, error) {
	if w.limit > 0 && w.written+int64(len(p)) > w.limit {
		return 0, errStreamLimit
	}
	if w.written == 0 && len(p) > 0 {
		w.account.Mark("first byte")
	}
	n, err := w.response.Write(p)
	w.written += int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}

// redirect sends a client that gets a whole content to where that is kept, if
// it can be had there. The address is a secret for a minute: no cache may keep
// it, and no log has it. A 302 makes a GET of a POST, where a 307 would send the
// message to the other server. The validators of this reply would be taken for
// those of the other.
func redirect(c echo.Context, content *resources.Content, d delivery) (done bool, err error) {
	r, h := c.Request(), c.Response().Header()
	if r.Method == http.MethodHead || d.status != http.StatusOK || r.Header.Get("Range") != "" ||
		!r.ProtoAtLeast(1, 1) {
		return false, nil
	}
	address, ok := content.Redirect(r.Context())
	if !ok {
		return false, nil
	}
	h.Set("Location", address)
	h.Set(headerResourceURI, askedURI(content))
	encodingsHeader(h, content)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	return true, c.NoContent(http.StatusFound)
}
