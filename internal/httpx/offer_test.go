package httpx_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// A client over WebSocket names them when it connects.
func TestAConnectionChoosesItsTools(t *testing.T) {
	t.Parallel()
	s := serve(t)
	conn, _, err := websocket.Dial(t.Context(), s.url+"/ws",
		&websocket.DialOptions{HTTPHeader: http.Header{"X-Mcp-Tools": {"search_code"}}})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	defer func() { _ = conn.CloseNow() }()
	client := &socket{t, conn}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}`
	client.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`)
	if list := client.next(); strings.Count(list.raw, `"inputSchema"`) != 1 ||
		!strings.Contains(list.raw, `"name":"search_code"`) {
		t.Error(list.raw)
	}
	client.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_repositories","arguments":{},` +
		meta + `}}`)
	if reply := client.next(); !strings.Contains(reply.raw, "There are: search_code.") {
		t.Error(reply.raw)
	}
}
