package mcp

import (
	"strings"
	"testing"
)

// What is not there is named, with what was meant: a model has nothing else to go
// by.
func TestUnknownToolsAndPromptsAreNamed(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{tools: true})
	for _, era := range eras {
		for _, c := range []struct{ method, name, want string }{
			{"tools/call", "read_file",
				"There is no tool read_file. Did you mean get_file_contents? There are: compare_commits, find_files, "},
			{"tools/call", "get_latest_release", "There is no tool get_latest_release. Did you mean list_tags? "},
			{"prompts/get", "explain_repo",
				"There is no prompt explain_repo. Did you mean explain_repository? There are: explain_repository, review_changes, find_in_code."},
		} {
			a := s.do(t, s.call(era, c.method, map[string]any{"name": c.name, "arguments": map[string]any{}}))
			if a.code != -32602 || !strings.Contains(string(a.body), c.want) {
				t.Errorf("%s: %s: %v, want %s", era, c.name, a, c.want)
			}
		}
	}
}

// A client pays for the tools that it names alone.
func TestARequestChoosesItsTools(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{tools: true})
	for _, era := range eras {
		ask := func(method string, params map[string]any, chosen string) string {
			c := s.call(era, method, params)
			if chosen != "" {
				c.header.Set(HeaderTools, chosen)
			}
			return string(s.do(t, c).body)
		}
		const chosen = " search_code, get_file_contents,"
		list := ask("tools/list", nil, chosen)
		if strings.Count(list, `"inputSchema"`) != 2 || !strings.Contains(list, `"name":"search_code"`) ||
			!strings.Contains(list, `"name":"get_file_contents"`) {
			t.Errorf("%s: %s", era, list)
		}
		if all := ask("tools/list", nil, ""); strings.Count(all, `"inputSchema"`) < 13 {
			t.Errorf("%s: the choice outlives its request: %s", era, all)
		}
		call := map[string]any{"name": "search_repositories", "arguments": map[string]any{}}
		if reply := ask("tools/call", call, chosen); !strings.Contains(reply,
			"There is no tool search_repositories. Did you mean search_code? There are: search_code, get_file_contents.") {
			t.Errorf("%s: %s", era, reply)
		}
		if reply := ask("tools/call", call, ""); !strings.Contains(reply, `"structuredContent"`) {
			t.Errorf("%s: %s", era, reply)
		}
		if reply := ask("tools/list", nil, "search_kode"); !strings.Contains(
			reply, "There is no tool search_kode. Did you mean search_code?") ||
			!strings.Contains(reply, `"header":"X-MCP-Tools"`) {
			t.Errorf("%s: %s", era, reply)
		}
	}
}
