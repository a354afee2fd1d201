package httpx

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/base/ticks"
	"github.com/repomcp/repomcp/internal/mcp"
)

// listen answers subscriptions/listen with an event stream. The stream ends with the result of the
// request when the server stops, or at once when there is nothing to wait for.
func (s *Server) listen(c echo.Context, request *mcp.Request) error {
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer context.AfterFunc(s.draining, cancel)()
	defer s.endWhenRevoked(c, cancel)()
	stream := &eventStream{w: c.Response()}
	helpers := panics.NewGroup(cancel)
	defer helpers.Wait()
	defer cancel()
	helpers.Go(func() { stream.keepAlive(ctx, cancel, s.options.MCP.Heartbeat()) })
	reply := s.options.MCP.Listen(ctx, request, stream.send)
	cancel()
	helpers.Wait()
	if !stream.begun {
		return s.reply(c, statusOf(reply.Code, request.Era), reply.Message)
	}
	if c.Request().Context().Err() != nil {
		return nil // the client is gone
	}
	return stream.send(reply.Message)
}

// eventStream writes messages as server-sent events.
type eventStream struct {
	w http.ResponseWriter

	mu    sync.Mutex
	begun bool
}

func (e *eventStream) send(message []byte) error { return e.sendWithID("", message) }

// sendWithID writes a message with the id of its event, which a client that reconnects sends as Last-Event-ID; "" is
// none.
func (e *eventStream) sendWithID(id string, message []byte) error {
	begin := "event: message\ndata: "
	if id != "" {
		begin = "id: " + id + "\n" + begin
	}
	return e.write([]byte(begin), bytes.TrimSpace(message), []byte("\n\n"))
}

// comment is ignored by clients (HTML, server-sent events).
var comment = []byte(": \n\n")

// write sends one event. The headers go with the first event.
func (e *eventStream) write(parts ...[]byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.begun {
		e.begun = true
		h := e.w.Header()
		h.Set("Content-Type", typeEvents)
		h.Set("Cache-Control", cmp.Or(h.Get("Cache-Control"), "no-cache"))
		h.Set("X-Accel-Buffering", "no") // nginx would hold events back until a buffer is full
	}
	if _, err := e.w.Write(bytes.Join(parts, nil)); err != nil {
		return err
	}
	return http.NewResponseController(e.w).Flush()
}

// keepAlive writes a comment at every interval once the stream has begun, until ctx ends. A failed
// write ends the stream.
func (e *eventStream) keepAlive(ctx context.Context, end func(), every time.Duration) {
	for range ticks.Every(ctx, every) {
		e.mu.Lock()
		begun := e.begun
		e.mu.Unlock()
		if begun && e.write(comment) != nil {
			end()
			return
		}
	}
}
