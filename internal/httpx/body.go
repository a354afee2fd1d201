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
	// smallBody is read without a reservation: MCP messages are a few hundred bytes.
	smallBody = 16 << 10
	// bodyTimes is how many copies of a body are held while it is parsed.
	bodyTimes = 2
)

// readBounded reads at most most bytes. length is the announced length, or negative if unknown. A
// body longer than smallBody is reserved for until the request has its reply.
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
	body.Grow(int(length) - smallBody + bytes.MinRead) // or the buffer would double
	_, err = body.ReadFrom(r)
	return body.Bytes(), err
}

// readBody reads at most maxBodyBytes within readBodyTimeout.
func (s *Server) readBody(c echo.Context) ([]byte, error) {
	r := c.Request()
	control := http.NewResponseController(c.Response())
	// httptest's recorder has no deadlines.
	_ = control.SetReadDeadline(time.Now().Add(readBodyTimeout))
	conn := conns.Of(r)
	came := conn.AwaitBody()
	limited := http.MaxBytesReader(c.Response(), r.Body, maxBodyBytes)
	body, err := readBounded(r.Context(), s.options.Limits, limited, r.ContentLength, maxBodyBytes)
	came()
	// The deadline must be removed: if it passed later, net/http would assume that the client is
	// gone and cancel the request.
	_ = control.SetReadDeadline(time.Time{})
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, err
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
