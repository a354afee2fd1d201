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
	"runtime"
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
	// headerResourceType has the type of a resource whose own type would make the reply look like
	// JSON-RPC.
	headerResourceType = "MCP-Resource-Type"

	typeBytes = "application/octet-stream"
)

// stream answers resources/stream in the direct binary mode of SEP-2532: the
// resource's bytes are the body.
func (s *Server) stream(c echo.Context, request *mcp.Request) error {
	h := c.Response().Header()
	reply := s.options.MCP.Stream(c.Request().Context(), request, func(mimeType string) bool {
		return acceptsContent(c.Request(), mimeType)
	})
	if reply.Stream == nil {
		status := statusOf(reply.Code, request.Era)
		if reply.Refusal != nil {
			status = refusalHeaders(h, reply.Refusal)
		}
		if reply.Code == 0 { // a link is a secret
			h.Set("Cache-Control", "no-store")
		}
		return s.reply(c, status, reply.Message)
	}
	defer s.close(reply.Stream)
	body := reply.Stream.Body
	if reply.Stream.Redirects {
		if done, err := redirect(c, body); done {
			return err
		}
	}
	contentHeaders(h, body)
	streamType(h, body.MIMEType)
	// Ranges are only for content with a URL, not for the reply to a POST.
	h.Set("Accept-Ranges", "none")
	s.send(c, body)
	return nil
}

// acceptsContent reports whether the client accepts the bytes: by their type or, if Accept does not
// name that, as arbitrary bytes.
func acceptsContent(r *http.Request, mimeType string) bool {
	base, _, _ := strings.Cut(mimeType, ";")
	if base == typeJSON {
		return accepts(r, typeBytes) // it is sent as that
	}
	admitted, named := preference(r, base)
	return admitted || !named && accepts(r, typeBytes)
}

func (s *Server) close(content io.Closer) {
	if err := content.Close(); err != nil {
		s.logger.Error("closing a resource failed", "error", err)
	}
}

// headerDigest has the SHA-256 of the whole (RFC 9530): before the bytes if it is known, after
// chunked bytes otherwise.
const headerDigest = "Repr-Digest"

func digestText(sum []byte) string {
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum) + ":"
}

// send writes the headers and then the bytes. A failure aborts the connection.
func (s *Server) send(c echo.Context, body *resources.Body) {
	ctx, h := c.Request().Context(), c.Response().Header()
	s.observer.StreamBegan()
	whole := false
	defer func() { s.observer.StreamEnded(whole) }()
	announced := announceDigest(c.Request(), h, body)
	account := resources.AccountOf(ctx)
	defer account.Stage("send")()
	w := &streamWriter{response: c.Response(), account: account}
	// The client can cancel the request from another connection; a write that waits for the client
	// ends then.
	defer unblockAfter(ctx, c)()
	status := http.StatusOK
	if body.Part {
		status = http.StatusPartialContent
	}
	if err := w.start(status); err != nil {
		abort(c)
	}
	err := body.WriteTo(ctx, w)
	if w.written == body.Length && !announced && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		err = nil // the client left when it had everything
	}
	if err != nil {
		s.logger.Warn("a stream was aborted", "uri", body.Found.URI, "bytes", w.written, "error", err)
		// Returning would end the body cleanly, and the client would mistake a part for the whole.
		abort(c)
	}
	if announced {
		h.Set(headerDigest, digestText(body.Digest))
	}
	whole = true
}

// announceDigest sets or announces the digest, and reports whether it has to follow the bytes, for
// which only a chunked body has a place.
func announceDigest(r *http.Request, h http.Header, body *resources.Body) bool {
	switch {
	case body.Found.Described:
		return false
	case body.Digest != nil:
		h.Set(headerDigest, digestText(body.Digest))
		return false
	}
	follows := !body.Part && r.ProtoAtLeast(1, 1) && (body.Length == resources.UnknownSize || wantsDigest(r))
	if follows {
		h.Del("Content-Length")
		h.Set("Trailer", headerDigest)
	}
	return follows
}

// wantsDigest reports whether a client prefers the digest to the length (RFC 9530,
// Want-Repr-Digest): a reply with a length has no place for a digest after the bytes.
func wantsDigest(r *http.Request) bool {
	for member := range strings.SplitSeq(r.Header.Get("Want-Repr-Digest"), ",") {
		algorithm, preference, _ := strings.Cut(strings.TrimSpace(member), "=")
		if strings.EqualFold(algorithm, "sha-256") && preference != "0" {
			return true
		}
	}
	return false
}

// unblockAfter makes the writes of a reply fail once ctx is done, including a write that waits for
// the client. stop undoes this; afterwards the connection and the echo context, which serve other
// requests then, are left alone.
func unblockAfter(ctx context.Context, c echo.Context) (stop func()) {
	ended := make(chan struct{})
	stopped := context.AfterFunc(ctx, func() {
		defer close(ended)
		if conn := conns.Of(c.Request()); conn != nil {
			_ = conn.Close() // this write fails now, and so do later ones
			return
		}
		// httptest's recorder has no deadlines.
		_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Unix(1, 0))
	})
	return func() {
		if !stopped() {
			<-ended
		}
	}
}

// abort ends a reply that has begun so that no client mistakes it for the whole. HTTP/1.0, which
// proxies still speak to servers, has no chunks: the end of the connection is the end of the body,
// unless the connection is reset.
func abort(c echo.Context) {
	if conn := conns.Of(c.Request()); conn != nil && !c.Request().ProtoAtLeast(1, 1) {
		conn.Reset()
	}
	panic(http.ErrAbortHandler)
}

// ownType sends content under its own type.
func ownType(h http.Header, mimeType string) { h.Set("Content-Type", mimeType) }

// streamType is ownType, except for types that a client would take for a message: it tells errors
// from content by the type.
func streamType(h http.Header, mimeType string) {
	ownType(h, mimeType)
	if base, _, _ := strings.Cut(mimeType, ";"); base == typeJSON || base == typeEvents {
		ownType(h, typeBytes)
		h.Set(headerResourceType, mimeType)
	}
}

// askedURI returns the requested URI as a header can carry it, so that the client recognises it.
func askedURI(found *resources.Found) string {
	if found.Asked == "" {
		return found.URI
	}
	return visible(found.Asked)
}

// visible percent-encodes characters that no URI and no header may have.
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

// contentHeaders sets the headers of every reply with content.
func contentHeaders(h http.Header, body *resources.Body) {
	found := body.Found
	validatorHeaders(h, found, body.ETag)
	if body.Length != resources.UnknownSize {
		h.Set("Content-Length", strconv.FormatInt(body.Length, 10))
	}
	h.Set("Content-Disposition", disposition(found.FileName))
	h.Set(headerResourceURI, askedURI(found))
	if found.Asked != "" && found.Frozen != "" {
		h.Set("Content-Location", found.Frozen)
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Accel-Buffering", "no")
	encodingsHeader(h, found)
}

// headerEncodings lists, percent-encoded, the unknown encodings that files of an archive were to be
// converted to.
const headerEncodings = "X-Repomcp-Unknown-Encodings"

func encodingsHeader(h http.Header, found *resources.Found) {
	if len(found.UnknownEncodings) == 0 {
		return
	}
	names := make([]string, len(found.UnknownEncodings))
	for i, name := range found.UnknownEncodings {
		names[i] = url.PathEscape(resources.Clip(name))
	}
	h.Set(headerEncodings, strings.Join(names, ", "))
}

// validatorHeaders tell caches how long content is valid. Content named by a branch or HEAD is
// revalidated each time: that costs one conditional request, which reads no file, and an old copy
// would be a wrong answer.
func validatorHeaders(h http.Header, found *resources.Found, etag string) {
	h.Set("ETag", entityTag(found, etag))
	h.Set("Cache-Control", "private, no-cache")
	if found.Immutable && !found.Weak {
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
}

// entityTag returns an ETag with its quotes.
func entityTag(found *resources.Found, etag string) string {
	if found.Weak {
		return `W/"` + etag + `"`
	}
	return `"` + etag + `"`
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

// yieldBytes is how much a stream writes before other goroutines get a turn. The scheduler of Go lets each of them run
// for 10 ms otherwise, and a request for health waits for as many turns as there are downloads.
const yieldBytes = 128 << 10

// streamWriter writes the body of a stream and counts its bytes.
type streamWriter struct {
	response *echo.Response
	account  *resources.Account
	written  int64
	turn     int // bytes since other goroutines had a turn
}

// start sends the headers without waiting for the body.
func (w *streamWriter) start(status int) error {
	w.response.WriteHeader(status)
	return http.NewResponseController(w.response).Flush()
}

func (w *streamWriter) Write(p []byte) (int, error) {
	if w.written == 0 && len(p) > 0 {
		w.account.Mark("first byte")
	}
	n, err := w.response.Write(p)
	w.written += int64(n)
	if w.turn += n; w.turn >= yieldBytes {
		w.turn = 0
		runtime.Gosched()
	}
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}

// redirect sends a client that wants the whole content to object storage, if the content is there.
// The address is a secret for a minute: no cache may keep it, and no log contains it. A 302 turns a
// POST into a GET; a 307 would send the message to the other server. Validators are left out, since
// clients would apply them to the other server's reply.
func redirect(c echo.Context, body *resources.Body) (done bool, err error) {
	r, h := c.Request(), c.Response().Header()
	if r.Method == http.MethodHead || r.Header.Get("Range") != "" || !r.ProtoAtLeast(1, 1) {
		return false, nil
	}
	address, ok := body.Redirect(r.Context())
	if !ok {
		return false, nil
	}
	found := body.Found
	h.Set("Location", address)
	h.Set(headerResourceURI, askedURI(found))
	encodingsHeader(h, found)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	return true, c.NoContent(http.StatusFound)
}
