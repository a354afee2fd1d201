package httpx_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/gittest"
)

// socket is a client over WebSocket.
type socket struct {
	t    *testing.T
	conn *websocket.Conn
}

// dial opens a connection.
func dial(t *testing.T, url string) *socket {
	t.Helper()
	return dialAs(t, url, nil)
}

// dialAs opens a connection with headers.
func dialAs(t *testing.T, url string, header http.Header) *socket {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), gittest.Patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, url+"/ws", &websocket.DialOptions{Subprotocols: []string{"mcp"},
		HTTPHeader: header})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { _ = conn.CloseNow() }) // it may have been closed
	if conn.Subprotocol() != "mcp" {
		t.Errorf("subprotocol %q", conn.Subprotocol())
	}
	return &socket{t, conn}
}

func (s *socket) send(text string) {
	s.t.Helper()
	if err := s.conn.Write(s.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *socket) read() ([]byte, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), gittest.Patience)
	defer cancel()
	kind, message, err := s.conn.Read(ctx)
	if err == nil && kind != websocket.MessageText {
		s.t.Errorf("a frame of type %v", kind)
	}
	return message, err
}

// frame is a message of the server.
type frame struct {
	ID     json.RawMessage
	Method string
	Params map[string]any
	Result map[string]any
	Error  struct {
		Code    int
		Message string
		Data    map[string]any
	}
	raw string
}

func (s *socket) next() frame {
	s.t.Helper()
	message, err := s.read()
	if err != nil {
		s.t.Fatal(err)
	}
	f := frame{raw: string(message)}
	if err := json.Unmarshal(message, &f); err != nil {
		s.t.Fatalf("%v: %.300s", err, message)
	}
	return f
}

func (s *socket) call(text string) frame {
	s.t.Helper()
	s.send(text)
	return s.next()
}

// closed reads until the connection ends and returns its status.
func (s *socket) closed() websocket.StatusCode {
	s.t.Helper()
	for {
		if _, err := s.read(); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func (s *socket) initialize(version string) {
	s.t.Helper()
	f := s.call(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{"resourceStreaming":{}},"clientInfo":{"name":"test","version":"1"}}}`)
	if f.Result["protocolVersion"] != version {
		s.t.Fatal(f.raw)
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// awaitPlace waits until a server that had no place for a connection has one.
func awaitPlace(t *testing.T, url string) {
	t.Helper()
	gittest.Await(t, "the place of a connection is free", func() bool {
		conn, _, err := websocket.Dial(t.Context(), url+"/ws", nil)
		if err == nil {
			_ = conn.CloseNow() // it was let in, which is all
		}
		return err == nil
	})
}

// rpc writes a request of an era.
func rpc(version string, id int, method string, params map[string]any) string {
	all := map[string]any{}
	for name, value := range params {
		all[name] = value
	}
	if version == modernVersion {
		all["_meta"] = map[string]any{metaVersion: version,
			metaCapabilities: map[string]any{"resourceStreaming": map[string]any{}}}
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": all})
	if err != nil {
		panic(err)
	}
	return string(text)
}
