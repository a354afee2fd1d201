package mcp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/resources"
)

// offered is a completion as a client sees it.
type offered struct {
	Completion struct {
		Values  []string
		Total   int
		HasMore bool
	}
}

// complete asks for a variable of a template; known are others.
func complete(t testing.TB, s *Server, template, variable, typed string, known map[string]string) offered {
	t.Helper()
	var result offered
	code, reply := ask(t, s, "completion/complete", map[string]any{
		"ref": map[string]any{"type": "ref/resource", "uri": template}, "argument": map[string]any{"name": variable,
			"value": typed},
		"context": map[string]any{"arguments": known},
	}, &result)
	if code != 0 {
		t.Fatalf("%s %q: %s", variable, typed, reply)
	}
	return result
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := func(name string) *gittest.Repo { return gittest.At(t, filepath.Join(root, name+".git")) }
	at("beta/lib")
	at("lib-old")
	at("mylib")
	repo := at("Lib")
	repo.Commit("main",
		gittest.Regular("README.md", "1"), gittest.Regular("src/main.go", "1"),
		gittest.Regular("src/Main_test.go", "1"), gittest.Regular("src/deep/x", "1"),
		gittest.Regular("src/domain.go", "1"), gittest.Regular("glob*", "1"), gittest.Regular("bad\xff",
			"1"), gittest.Regular("turn\u202ed", "1"), gittest.Regular("nl\n", "1"))
	repo.Git("branch", "fix/main", "main")
	repo.Git("branch", "v1", "main")
	repo.Git("branch", "turn\u202ed", "main")
	repo.Git("tag", "v1", "main")
	repo.Git("tag", "-a", "-m", "x", "v1.1", "main")
	head := repo.Commit("fix/main", gittest.Regular("only", "1"))
	tree := repo.Git("rev-parse", "main^{tree}")
	repo.Git("update-ref", "refs/keep-around/x", repo.Git("commit-tree", "-m", "hidden", tree))
	hidden := repo.Git("rev-parse", "refs/keep-around/x")
	short := repo.Git("rev-parse", "--short", head)
	s := serverOf(t, root, resources.Linking{})
	archives := archiveTemplate()
	const (
		contents = "repo://{+repo}/refs/heads/{branch}/contents{/path*}"
		ofTag    = "repo://{+repo}/refs/tags/{tag}"
		ofCommit = "repo://{+repo}/sha/{sha}/contents{/path*}"
	)
	of := map[string]string{"repo": "Lib"}
	with := func(more ...string) map[string]string {
		known := map[string]string{"repo": "Lib"}
		for i := 0; i < len(more); i += 2 {
			known[more[i]] = more[i+1]
		}
		return known
	}
	for _, c := range []struct {
		template, variable, typed string
		known                     map[string]string
		want                      []string
	}{
		{contents, "repo", "", nil, []string{"Lib", "beta/lib", "lib-old", "mylib"}},
		{contents, "repo", "LIB", nil, []string{"Lib", "lib-old", "beta/lib", "mylib"}},
		{contents, "repo", "none", nil, nil},
		{contents, "branch", "", of, []string{"main", "fix/main", "v1"}},
		{contents, "branch", "ma", of, []string{"main", "fix/main"}},
		{contents, "branch", "", nil, nil},
		{contents, "branch", "", map[string]string{"repo": "unknown"}, nil},
		{ofTag, "tag", "", of, []string{"v1", "v1.1"}},
		{archives, "ref", "", of, []string{"HEAD", "main", "fix/main", "refs/heads/v1", "v1", "v1.1"}},
		{archives, "ref", "refs/t", of, []string{"refs/tags/v1", "refs/tags/v1.1"}},
		{archives, "ref", head[:4], of, []string{short}},
		{archives, "base", "he", of, []string{"HEAD", "refs/heads/v1"}},
		{ofCommit, "sha", head[:3], of, []string{short}},
		{ofCommit, "sha", head[:12], of, []string{head[:12]}},
		{ofCommit, "sha", head, of, []string{head}},
		{ofCommit, "sha", hidden[:8], of, nil},
		{ofCommit, "sha", tree[:8], of, nil},
		{ofCommit, "sha", "xyz", of, nil},
		{contents, "path", "", of, []string{"README.md", "glob*", "src/"}},
		{contents, "path", "", with("branch", "fix/main"), []string{"only"}},
		{contents, "path", "", with("sha", head), []string{"only"}},
		{contents, "path", "", with("tag", "v1.1"), []string{"README.md", "glob*", "src/"}},
		{contents, "path", "", with("branch", "none"), nil},
		{contents, "path", "src", of, []string{"src/"}},
		{contents, "path", "src/", of, []string{"src/Main_test.go", "src/deep/", "src/domain.go", "src/main.go"}},
		{contents, "path", "src/main", of, []string{"src/Main_test.go", "src/main.go", "src/domain.go"}},
		{contents, "path", "none/", of, nil},
		{contents, "path", "README.md/", of, nil},
		{contents, "path", "../", of, nil},
		{archives, "path", "", with("ref", "main"), []string{"README.md", "src/"}},
		{archives, "path", "", with("ref", "fix/main"), []string{"only"}},
		{archives, "exclude", "src/d", with("ref", "main"), []string{"src/deep/", "src/domain.go"}},
		{archives, "strip", "", of, []string{"src/"}},
		{archives, "prefix", "", with("repo", "beta/lib", "ref", "refs/heads/fix/main"),
			[]string{"lib/", "lib-fix-main/"}},
		{archives, "format", "tar.", of, []string{"tar.gz", "tar.zst"}},
		{archives, "profile", "", of, []string{"archive", "full", "worktree", "checkout"}},
		{archives, "objects", "b", of, []string{"blobless"}},
		{archives, "origin", "", of, []string{"none"}},
		{archives, "lfs", "c", of, []string{"content"}},
		{archives, "submodules", "", of, []string{"omit", "content"}},
		{archives, "delta", "", of, []string{"files", "patch"}},
		{archives, "fallback", "", of, []string{"full"}},
		{archives, "path", strings.Repeat("x", 5000), of, nil},
	} {
		got := complete(t, s, c.template, c.variable, c.typed, c.known).Completion
		if c.variable == "format" {
			got.Values = slices.DeleteFunc(got.Values, func(v string) bool { return v != "tar.gz" && v != "tar.zst" })
			got.Total = len(got.Values)
		}
		if !slices.Equal(got.Values, c.want) || got.Total != len(c.want) || got.HasMore {
			t.Errorf("%s %.40q with %v: %+v, want %q", c.variable, c.typed, c.known, got, c.want)
		}
	}
}

func TestEveryVariableIsCompleted(t *testing.T) {
	t.Parallel()
	sources := completions{}.sources()
	names := []string{"repo", "branch", "tag", "sha", "path", "ref", "format"}
	for _, p := range archive.Parameters() {
		names = append(names, p.Name)
	}
	for _, name := range names {
		if sources[name] == nil {
			t.Errorf("%s is not completed", name)
		}
	}
	for _, name := range []string{"profile", "delta", "fallback", "lfs", "submodules", "objects"} {
		found, err := sources[name](t.Context(), question{})
		if err != nil || len(found.values) == 0 {
			t.Fatal(name, err)
		}
		for _, value := range found.values {
			options := archive.Options{Format: archive.Tar}
			if name == "objects" {
				options.Profile = archive.ProfileCheckout
			}
			if err := options.Set(name, value); err != nil || options.Check() != nil {
				t.Errorf("%s=%s cannot be given: %v", name, value, err)
			}
		}
	}
}

func TestCompletionsSayHowMuchMoreThereIs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	id := repo.Commit("main", gittest.Regular("a", "1"))
	for i := range 250 {
		repo.SetRef(fmt.Sprintf("refs/heads/topic/%03d", i), id)
	}
	s := serverOf(t, root, resources.Linking{})
	of := map[string]string{"repo": "repo"}
	for typed, want := range map[string]int{"": 251, "topic/": 250, "topic/00": 10, "topic/1": 100, "12": 13} {
		got := complete(t, s, "repo://{+repo}/refs/heads/{branch}", "branch", typed, of).Completion
		if got.Total != want || len(got.Values) != min(want, 100) || got.HasMore != (want > 100) {
			t.Errorf("%q: %d of %d, more: %v, want %d", typed, len(got.Values), got.Total, got.HasMore, want)
		}
	}
	tree := repo.Git("rev-parse", "main^{tree}")
	for i := range maxRecent {
		who := fmt.Sprintf("a <a> %d +0000", 1_800_000_000+i)
		id = repo.Store("commit", fmt.Sprintf("tree %s\nparent %s\nauthor %s\ncommitter %s\n\nx\n", tree, id, who, who))
	}
	repo.SetRef("refs/heads/main", id)
	got := complete(t, s, "repo://{+repo}/sha/{sha}/contents{/path*}", "sha", "", of).Completion
	if len(got.Values) != 100 || got.Total != 0 || !got.HasMore || !strings.HasPrefix(id, got.Values[0]) {
		t.Errorf("ids: %d of %d, more: %v, first %s, want that of %s", len(got.Values), got.Total, got.HasMore,
			got.Values[0], id)
	}
}

// A completion goes through a part of a long history, however long that takes, and the next one
// goes on from there: a commit is found after as many questions on a busy server as on an idle one.
func TestCompletionsAreBoundedByWork(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	const commits, asked = 2500, 3 // a thousand are read for each
	var history strings.Builder
	for i := range commits {
		fmt.Fprintf(&history, "commit refs/heads/main\nmark :%d\ncommitter a <a> %d +0000\ndata 0\n\n", i+1, 1_700_000_000+i)
	}
	repo.GitInput([]byte(history.String()), "fast-import", "--quiet")
	first := repo.Git("rev-list", "--max-parents=0", "main")
	s := serverOf(t, root, resources.Linking{})
	const ofCommit = "repo://{+repo}/sha/{sha}/contents{/path*}"
	of := map[string]string{"repo": "repo"}
	for i := range asked {
		got := complete(t, s, ofCommit, "sha", first[:12], of).Completion
		want, more := []string{}, true
		if i == asked-1 {
			want, more = []string{first[:12]}, false
		}
		if !slices.Equal(got.Values, want) || got.HasMore != more {
			t.Errorf("question %d about the first of %d commits: %+v, want %q and more: %v", i+1, commits, got, want, more)
		}
	}
}

func TestArgumentsOfPromptsAreCompletedAndChecked(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"lib", "tool"} {
		gittest.At(t, filepath.Join(root, name+".git")).Commit("main", gittest.Regular("a", "1"))
	}
	prompt := mcp.NewPrompt("review", mcp.WithArgument("repo", mcp.RequiredArgument(),
		mcp.ArgumentDescription("Its name.")), mcp.WithArgument("head"), mcp.WithArgument("query"))
	s := serverOf(t, root, resources.Linking{})
	s.AddPrompt(prompt, nil)
	for _, c := range []struct {
		argument, typed string
		want            []string
	}{
		{"repo", "l", []string{"lib", "tool"}},
		{"head", "", []string{"HEAD", "main"}},
		{"query", "", []string{"repo:", "path:", "filename:", "extension:", "language:", "symbol:"}},
		{"query", "func main p", []string{"func main path:", "func main repo:"}},
		{"query", "x -repo:to", []string{"x -repo:tool"}},
		{"query", "\x1b[m repo:", nil},
	} {
		var result offered
		_, reply := ask(t, s, "completion/complete", map[string]any{
			"ref":      map[string]any{"type": "ref/prompt", "name": "review"},
			"argument": map[string]any{"name": c.argument, "value": c.typed},
			"context":  map[string]any{"arguments": map[string]string{"repo": "lib"}},
		}, &result)
		if !slices.Equal(result.Completion.Values, c.want) {
			t.Errorf("%s %q: %s, want %q", c.argument, c.typed, reply, c.want)
		}
	}
	for want, arguments := range map[string]map[string]string{
		`argument \"repo\" of the prompt is required: Its name.`: {"head": "main"},
		`The prompt has no argument \"branch\".`:                 {"repo": "lib", "branch": "main"},
		`has more than 1024 bytes`:                               {"repo": strings.Repeat("x", 2000)},
	} {
		code, reply := ask(t, s, "prompts/get", map[string]any{"name": "review", "arguments": arguments}, &struct{}{})
		if code != -32602 || !strings.Contains(reply, want) || !strings.Contains(reply, `"reason":"invalid_params"`) {
			t.Errorf("%v: %s, want %s", arguments, reply, want)
		}
	}
}
