package httpx

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/resources"
)

const (
	headerResourceURI = "MCP-Resource-Uri"
	// headerResourceType has the type of a resource whose own type would make
	// the reply look like JSON-RPC.
	headerResourceType = "MCP-Resource-Type"

	typeBytes = "application/octet-stream"

	// writeChunk bounds what one write hands to the connection, so that the
	// deadline of a write is one for so many bytes.
	writeChunk = 256 << 10
)

// stream answers resources/stream in the direct binary mode of SEP-2532: the
// resource's bytes are the body.
func (s *Server) stream(c echo.Context, request *resources.Request) error {
	ctx := c.Request().Context()
	content, failure := s.options.Resources.Stream(ctx, request)
	if failure != nil {
		return s.fail(c, request.ID, failure, request.Era)
	}
	defer func() {
		if err := content.Close(); err != nil {
			s.logger.Error("closing a resource failed", "error", err)
		}
	}()
	streamHeaders(c.Response().Header(), content)
	w := &streamWriter{response: c.Response(), timeout: s.options.WriteTimeout, limit: request.Stream.MaxSize}
	if err := w.start(); err != nil {
		abort(c)
	}
	err := content.WriteTo(ctx, w)
	if err == nil && content.Size != resources.UnknownSize && w.written != content.Size {
		err = fmt.Errorf("%d bytes were written of %d", w.written, content.Size)
	}
	if err != nil {
		s.logger.Warn("a stream was aborted", "uri", content.URI, "bytes", w.written, "error", err)
		// Returning would end the body cleanly, and the client would take what
		// it got for the whole.
		abort(c)
	}
	return nil
}

// abort ends a reply that has begun so that no client takes what it got for
// the whole. HTTP/1.0, which proxies still speak to servers, has no chunks: the
// end of the connection is the end of the body, unless it is reset.
func abort(c echo.Context) {
	if !c.Request().ProtoAtLeast(1, 1) {
		if conn, _, err := http.NewResponseController(c.Response()).Hijack(); err == nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // it is closed in any case
			}
			_ = conn.Close()
		}
	}
	panic(http.ErrAbortHandler)
}

// streamHeaders describe the bytes before the first of them.
func streamHeaders(h http.Header, content *resources.Content) {
	h.Set("Content-Type", content.MIMEType)
	if base, _, _ := strings.Cut(content.MIMEType, ";"); base == typeJSON || base == typeEvents {
		// A client tells errors from content by these types.
		h.Set("Content-Type", typeBytes)
		h.Set(headerResourceType, content.MIMEType)
	}
	if content.Size != resources.UnknownSize {
		h.Set("Content-Length", strconv.FormatInt(content.Size, 10))
	}
	h.Set("Content-Disposition", disposition(content.FileName))
	h.Set(headerResourceURI, content.URI)
	h.Set("ETag", `"`+content.ETag+`"`)
	h.Set("Cache-Control", "private, no-cache")
	if content.Immutable {
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Accel-Buffering", "no")
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
		value += strings.TrimPrefix(mime.FormatMediaType("attachment", map[string]string{"filename": name}), "attachment")
	}
	return value
}

// writeBounded writes in pieces that each have a deadline of their own.
func writeBounded(w http.ResponseWriter, timeout time.Duration, p []byte) error {
	control := http.NewResponseController(w)
	for len(p) > 0 {
		// A recorder of a test has no deadlines.
		_ = control.SetWriteDeadline(time.Now().Add(timeout))
		n, err := w.Write(p[:min(len(p), writeChunk)])
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// errStreamLimit says that a stream grew beyond what its client accepts.
var errStreamLimit = errors.New("the stream is larger than the client's maxStreamSize")

// streamWriter writes the body of a stream. Each write has a deadline of its
// own, so that a client that stops reading is dropped and a slow one is not.
type streamWriter struct {
	response *echo.Response
	timeout  time.Duration
	limit    int64 // 0: none
	written  int64
}

// start sends the headers at once: nothing of the body is waited for.
func (w *streamWriter) start() error {
	w.response.WriteHeader(http.StatusOK)
	return http.NewResponseController(w.response).Flush()
}

func (w *streamWriter) Write(p []byte) (int, error) {
	total := 0
	for len(p) > 0 {
		n, err := w.chunk(p[:min(len(p), writeChunk)])
		total += n
		if err != nil {
			return total, err
		}
		p = p[n:]
	}
	return total, nil
}

func (w *streamWriter) chunk(p []byte) (int, error) {
	if w.limit > 0 && w.written+int64(len(p)) > w.limit {
		return 0, errStreamLimit
	}
	// A recorder of a test has no deadlines.
	_ = http.NewResponseController(w.response).SetWriteDeadline(time.Now().Add(w.timeout))
	n, err := w.response.Write(p)
	w.written += int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}
