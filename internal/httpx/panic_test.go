package httpx_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/gittest"
)

// fragileListener has connections that panic when they are written to once
// broken is set.
type fragileListener struct {
	net.Listener
	broken *atomic.Bool
}

func (l fragileListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return fragileConn{conn, l.broken}, err
}

type fragileConn struct {
	net.Conn
	broken *atomic.Bool
}

func (c fragileConn) Write(p []byte) (int, error) {
	if c.broken.Load() {
		panic("on purpose")
	}
	return c.Conn.Write(p)
}

// TestPanicOfTheWebSocketPumpEndsItsConnection sends a notification that cannot
// be written: its connection breaks, another one goes on.
func TestPanicOfTheWebSocketPumpEndsItsConnection(t *testing.T) {
	t.Parallel()
	s := serve(t)
	defer follow(t, s.subscriptions, s.catalogue)()
	var broken atomic.Bool
	fragile := httptest.NewUnstartedServer(s.server.Handler())
	fragile.Listener = fragileListener{fragile.Listener, &broken}
	fragile.Start()
	defer fragile.Close()
	other, client := dial(t, s.url), dial(t, fragile.URL)
	client.initialize(sessionVersion)
	broken.Store(true)
	gittest.At(t, filepath.Join(s.root, "new.git"))
	gittest.Await(t, "the list changes", func() bool {
		_, err := s.catalogue.Get("new")
		return err == nil
	})
	if status := client.closed(); status == websocket.StatusNormalClosure {
		t.Errorf("the connection ended with status %v, as if all was well", status)
	}
	s.log.Await(t, "a handler panicked")
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
	c := s.call(modernVersion, "subscriptions/listen",
		map[string]any{"notifications": map[string]any{"resourcesListChanged": true}})
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
		if body := recorder.Body.String(); !strings.Contains(body, "acknowledged") ||
			strings.Contains(body, `"result"`) {
			t.Errorf("the client has %s", body)
		}
	}()
	s.server.Handler().ServeHTTP(recorder, request)
}
