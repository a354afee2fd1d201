package httpx_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// asker sends a request in an era, with further headers.
type asker func(method string, params map[string]any, more http.Header) (int, string)

// eras are the two ways to ask.
func (s *site) eras() map[string]asker {
	session := s.initialize()
	return map[string]asker{
		"session": func(method string, params map[string]any, more http.Header) (int, string) {
			header := session.Clone()
			for name, values := range more {
				header[name] = values
			}
			response := s.post(header, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
			return response.StatusCode, text(s.t, response)
		},
		"modern": func(method string, params map[string]any, more http.Header) (int, string) {
			header := http.Header{"MCP-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}}
			full := map[string]any{"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
				"io.modelcontextprotocol/clientCapabilities": map[string]any{}}}
			for key, value := range params {
				full[key] = value
			}
			if name, ok := params["name"].(string); ok {
				header["Mcp-Name"] = []string{name}
			}
			for name, values := range more {
				header[name] = values
			}
			response := s.post(header, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": full})
			return response.StatusCode, text(s.t, response)
		},
	}
}

// What is not there is named, with what was meant: a model has nothing else to go
// by.
func TestUnknownToolsAndPromptsAreNamed(t *testing.T) {
	s := serve(t)
	refused := map[string]int{"session": http.StatusOK, "modern": http.StatusBadRequest}
	for era, ask := range s.eras() {
		for _, c := range []struct{ method, name, want string }{
			{"tools/call", "read_file",
				"There is no tool read_file. Did you mean get_file_contents? There are: compare_commits, find_files, "},
			{"tools/call", "get_latest_release", "There is no tool get_latest_release. Did you mean list_tags? "},
			{"prompts/get", "explain_repo",
				"There is no prompt explain_repo. Did you mean explain_repository? There are: explain_repository, review_changes, find_in_code."},
		} {
			status, reply := ask(c.method, map[string]any{"name": c.name, "arguments": map[string]any{}}, nil)
			if status != refused[era] || !strings.Contains(reply, c.want) || !strings.Contains(reply, `"code":-32602`) {
				t.Errorf("%s era: %s: %d %s", era, c.name, status, reply)
			}
		}
	}
}

// A client pays for the tools that it names alone.
func TestARequestChoosesItsTools(t *testing.T) {
	s := serve(t)
	for era, ask := range s.eras() {
		chosen := http.Header{"X-Mcp-Tools": {" search_code, get_file_contents,"}}
		_, list := ask("tools/list", map[string]any{}, chosen)
		if strings.Count(list, `"inputSchema"`) != 2 || !strings.Contains(list, `"name":"search_code"`) ||
			!strings.Contains(list, `"name":"get_file_contents"`) {
			t.Errorf("%s era: %s", era, list)
		}
		if _, all := ask("tools/list", map[string]any{}, nil); strings.Count(all, `"inputSchema"`) < 13 {
			t.Errorf("%s era: the choice outlives its request: %s", era, all)
		}
		call := map[string]any{"name": "search_repositories", "arguments": map[string]any{}}
		if _, reply := ask("tools/call", call, chosen); !strings.Contains(reply,
			"There is no tool search_repositories. Did you mean search_code? There are: search_code, get_file_contents.") {
			t.Errorf("%s era: %s", era, reply)
		}
		if _, reply := ask("tools/call", call, nil); !strings.Contains(reply, `"structuredContent"`) {
			t.Errorf("%s era: %s", era, reply)
		}
		if _, reply := ask("tools/list", map[string]any{},
			http.Header{"X-Mcp-Tools": {"search_kode"}}); !strings.Contains(
			reply, "There is no tool search_kode. Did you mean search_code?") ||
			!strings.Contains(reply, `"header":"X-MCP-Tools"`) {
			t.Errorf("%s era: %s", era, reply)
		}
	}
}

// A client over WebSocket names them when it connects.
func TestAConnectionChoosesItsTools(t *testing.T) {
	s := serve(t)
	conn, _, err := websocket.Dial(t.Context(), s.http.URL+"/ws",
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
