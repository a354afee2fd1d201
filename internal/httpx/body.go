package httpx

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/httpx/conns"
)

const (
	// smallBody is what is read without asking whether there is room for it: messages
	// of MCP are a few hundred bytes.
	smallBody = 16 << 10
	// bodyTimes is how often a body is held while it is taken apart.
	bodyTimes = 2
)

// readBounded reads at most most bytes, of which length are announced, or none where
// that is negative. What is more than small is reserved for until the request has its
// reply.
func readBounded(ctx context.Context, l *limits.Limiter, r io.Reader, length, most int64) ([]byte, error) {
	var body bytes.Buffer
	if n, err := io.CopyN(&body, r, smallBody); err != nil {
		if errors.Is(err, io.EOF) && n < smallBody {
			err = nil
		}
		return body.Bytes(), err
	}
	if length < 0 || length > most {
		length = most
	}
	grant, err := l.Body(ctx, bodyTimes*length)
	if err != nil {
		return nil, err
	}
	limits.Keep(ctx, grant)
	body.Grow(int(length) - smallBody + bytes.MinRead) // or it would double
	_, err = body.ReadFrom(r)
	return body.Bytes(), err
}

// readBody reads at most maxBodyBytes within readBodyTimeout.
func (s *Server) readBody(c echo.Context) ([]byte, error) {
	r := c.Request()
	control := http.NewResponseController(c.Response())
	// A recorder of a test has no deadlines.
	_ = control.SetReadDeadline(time.Now().Add(readBodyTimeout))
	conn := conns.Of(r)
	came := conn.AwaitBody()
	limited := http.MaxBytesReader(c.Response(), r.Body, maxBodyBytes)
	body, err := readBounded(r.Context(), s.options.Limits, limited, r.ContentLength, maxBodyBytes)
	came()
	// The deadline must go: when it passed later, net/http would take the
	// client for gone and cancel the request.
	_ = control.SetReadDeadline(time.Time{})
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, echo.ErrStatusRequestEntityTooLarge
	case limits.RefusalOf(err) != nil:
		return nil, err
	case err != nil && conn.Expelled():
		return nil, errCrowd
	case err != nil:
		return nil, echo.ErrBadRequest
	default:
		c.Set(keyBodyRead, true)
		c.Response().Header().Del("Connection")
		return body, nil
	}
}
