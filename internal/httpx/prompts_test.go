package httpx_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestPromptsInBothEras goes the way of a client: list, complete, get.
func TestPromptsInBothEras(t *testing.T) {
	s := serve(t)
	s.repo("group/lib").Commit("main", gittest.Regular("a", "1"))
	session := s.initialize()
	eras := map[string]func(method string, params map[string]any) (int, string){
		"session": func(method string, params map[string]any) (int, string) {
			response := s.post(session, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
			return response.StatusCode, text(t, response)
		},
		"modern": func(method string, params map[string]any) (int, string) {
			header := http.Header{"MCP-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}}
			full := map[string]any{"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
				"io.modelcontextprotocol/clientCapabilities": map[string]any{}}}
			for key, value := range params {
				full[key] = value
			}
			if name, ok := params["name"].(string); ok {
				header["Mcp-Name"] = []string{name}
			}
			response := s.post(header, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": full})
			return response.StatusCode, text(t, response)
		},
	}
	refused := map[string]int{"session": http.StatusOK, "modern": http.StatusBadRequest}
	for era, ask := range eras {
		get := func(name string, arguments map[string]string) (int, string) {
			return ask("prompts/get", map[string]any{"name": name, "arguments": arguments})
		}
		_, list := ask("prompts/list", map[string]any{})
		for _, want := range []string{`"name":"explain_repository"`, `"name":"review_changes"`, `"name":"find_in_code"`,
			`"required":true`, `"title":"Review changes"`} {
			if !strings.Contains(list, want) {
				t.Errorf("%s era: the list lacks %s: %s", era, want, list)
			}
		}
		_, completion := ask("completion/complete", map[string]any{
			"ref":      map[string]any{"type": "ref/prompt", "name": "review_changes"},
			"argument": map[string]any{"name": "base", "value": "ma"},
			"context":  map[string]any{"arguments": map[string]string{"repo": "group/lib"}},
		})
		if !strings.Contains(completion, `"values":["main"]`) {
			t.Errorf("%s era: completion: %s", era, completion)
		}
		if status, reply := get("explain_repository",
			map[string]string{"repo": "group/lib"}); status != http.StatusOK ||
			!strings.Contains(reply, `get_repository_tree with {\"repo\": \"group/lib\"}`) {
			t.Errorf("%s era: %d %s", era, status, reply)
		}
		for _, c := range []struct {
			name      string
			arguments map[string]string
			want      string
		}{
			{"explain_repository", nil, `The argument \"repo\" of the prompt is required`},
			{"review_changes", map[string]string{"repo": "group/lib"},
				`The argument \"base\" of the prompt is required`},
			{"find_in_code", map[string]string{"query": strings.Repeat("x", 1025)}, "more than 1024 bytes"},
			{"find_in_code", map[string]string{"query": "x", "colour": "red"}, `The prompt has no argument \"colour\"`},
			{"no_such_prompt", nil, `"code":-32602`},
		} {
			if status, reply := get(c.name, c.arguments); status != refused[era] || !strings.Contains(reply, c.want) ||
				!strings.Contains(reply, `"code":-32602`) {
				t.Errorf("%s era: %s: %d %s, want %s", era, c.name, status, reply, c.want)
			}
		}
	}
}
