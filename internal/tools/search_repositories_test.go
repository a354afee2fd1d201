package tools_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/tools"
)

func TestSearchRepositories(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"alpha", "Beta", "group/alphabet"} {
		gittest.At(t, filepath.Join(root, name+".git"))
	}
	catalogue, err := repos.Open(root, repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	}()
	search := tools.New(catalogue)[0]
	for _, c := range []struct {
		arguments map[string]any
		want      string
		failed    bool
	}{
		{map[string]any{"query": "alpha"}, "alpha\ngroup/alphabet", false},
		{map[string]any{"query": "BETA"}, "Beta", false},
		{map[string]any{"query": ""}, "Beta\nalpha\ngroup/alphabet", false},
		{map[string]any{"query": "", "perPage": 2}, "Beta\nalpha\n(1 to 2 of 3 repositories; go on with page 2)", false},
		{map[string]any{"query": "", "perPage": 2, "page": 2}, "group/alphabet", false},
		{map[string]any{"query": "", "page": 1 << 40}, "There are 3 repositories on 1 pages.", false},
		{map[string]any{"query": "none"}, "No repository's name contains", false},
		{map[string]any{"query": "", "perPage": 1000}, "perPage is 1 to 100", true},
		{map[string]any{"query": "", "page": 0}, "page starts at 1", true},
		{map[string]any{"query": 7}, "do not fit", true},
	} {
		call := mcp.CallToolRequest{}
		call.Params.Name, call.Params.Arguments = search.Tool.Name, c.arguments
		result, err := search.Handler(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		got := result.Content[0].(mcp.TextContent).Text
		if !strings.Contains(got, c.want) || result.IsError != c.failed {
			t.Errorf("%v: %q (failed %v), want %q", c.arguments, got, result.IsError, c.want)
		}
	}
}
