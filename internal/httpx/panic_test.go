package httpx_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// unwritable is a parameter of a notification that panics when it is written.
type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { panic("on purpose") }

// TestPanicOfTheWebSocketPumpEndsItsConnection sends a notification that cannot
// be written: its connection breaks, another one goes on.
func TestPanicOfTheWebSocketPumpEndsItsConnection(t *testing.T) {
	s := serve(t)
	s.mcp.AddTools(server.ServerTool{Tool: mcp.NewTool("notify"), Handler: func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/message", map[string]any{"data": unwritable{}})
		return mcp.NewToolResultText("sent"), err
	}})
	other, client := dial(t, s.url), dial(t, s.url)
	client.initialize(sessionVersion)
	client.send(rpc(sessionVersion, 1, "tools/call", map[string]any{"name": "notify"}))
	if status := client.closed(); status == websocket.StatusNormalClosure {
		t.Errorf("the connection ended with status %v, as if all was well", status)
	}
	s.log.waitFor(t, "a handler panicked")
	if f := other.call(rpc(modernVersion, 1, "resources/list", nil)); f.Result == nil {
		t.Error(f.raw)
	}
}

// breakingWriter panics when a comment is written, as keepAlive does.
type breakingWriter struct{ *httptest.ResponseRecorder }

func (w breakingWriter) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), ":") {
		panic("on purpose")
	}
	return w.ResponseRecorder.Write(p)
}

// TestPanicOfTheHeartbeatAbortsItsStream has what keeps an event stream open
// panic: the stream breaks instead of ending with a result.
func TestPanicOfTheHeartbeatAbortsItsStream(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{heartbeat: time.Millisecond})
	c := s.call(modernVersion, "subscriptions/listen", map[string]any{"notifications": map[string]any{"resourcesListChanged": true}})
	body, err := json.Marshal(c.message)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, s.url+"/mcp", bytes.NewReader(body))
	request.Header = c.header
	recorder := breakingWriter{httptest.NewRecorder()}
	defer func() {
		if cause, _ := recover().(error); !errors.Is(cause, http.ErrAbortHandler) {
			t.Errorf("the handler ended with %v", cause)
		}
		if body := recorder.Body.String(); !strings.Contains(body, "acknowledged") || strings.Contains(body, `"result"`) {
			t.Errorf("the client has %s", body)
		}
	}()
	s.server.Handler().ServeHTTP(recorder, request)
}
