package mcp

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestPromptsInBothEras goes the way of a client: list, complete, get.
func TestPromptsInBothEras(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{tools: true, build: func(root string) {
		gittest.At(t, filepath.Join(root, "group/lib.git")).Commit("main", gittest.Regular("a", "1"))
	}})
	for _, era := range eras {
		ask := func(method string, params map[string]any) received { return s.do(t, s.call(era, method, params)) }
		get := func(name string, arguments map[string]string) received {
			return ask("prompts/get", map[string]any{"name": name, "arguments": arguments})
		}
		list := string(ask("prompts/list", nil).body)
		for _, want := range []string{`"name":"explain_repository"`, `"name":"review_changes"`, `"name":"find_in_code"`,
			`"required":true`, `"title":"Review changes"`} {
			if !strings.Contains(list, want) {
				t.Errorf("%s: the list lacks %s: %s", era, want, list)
			}
		}
		completion := ask("completion/complete", map[string]any{
			"ref":      map[string]any{"type": "ref/prompt", "name": "review_changes"},
			"argument": map[string]any{"name": "base", "value": "ma"},
			"context":  map[string]any{"arguments": map[string]string{"repo": "group/lib"}},
		})
		if !strings.Contains(string(completion.body), `"values":["main"]`) {
			t.Errorf("%s: completion: %v", era, completion)
		}
		if a := get("explain_repository", map[string]string{"repo": "group/lib"}); a.failed() ||
			!strings.Contains(string(a.body), `get_repository_tree with {\"repo\": \"group/lib\"}`) {
			t.Errorf("%s: %v", era, a)
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
			{"no_such_prompt", nil, "There is no prompt no_such_prompt"},
		} {
			if a := get(c.name, c.arguments); a.code != -32602 || !strings.Contains(string(a.body), c.want) {
				t.Errorf("%s: %s: %v, want %s", era, c.name, a, c.want)
			}
		}
	}
}
