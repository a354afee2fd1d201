package httpx_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

const metaETag = "io.github.repomcp/etag"

// validatorOf returns the validator in the _meta of the content of a resource, or of the result of a
// tool; "" for none.
func (s *target) validatorOf(t *testing.T, method string, params map[string]any) string {
	t.Helper()
	request := s.call(modernVersion, method, params)
	if name, ok := params["name"].(string); ok {
		request.header.Set("Mcp-Name", name)
	}
	a := s.do(t, request)
	type annotated struct {
		Meta map[string]any `json:"_meta"`
	}
	var reply struct {
		Result struct {
			annotated
			IsError  bool
			Contents []annotated
		}
	}
	if err := json.Unmarshal(a.body, &reply); err != nil || a.failed() || reply.Result.IsError {
		t.Fatalf("%v: %v, %v", params, a, err)
	}
	meta := reply.Result.Meta
	if len(reply.Result.Contents) > 0 {
		meta = reply.Result.Contents[0].Meta
	}
	tag, _ := meta[metaETag].(string)
	return tag
}

func (s *target) toolValidator(t *testing.T, tool string, arguments map[string]any) string {
	t.Helper()
	arguments["repo"] = "hello"
	return s.validatorOf(t, "tools/call", map[string]any{"name": tool, "arguments": arguments})
}

// What is read by a commit's id carries the ETag of its plain download, which answers a condition.
func TestPinnedResourcesHaveValidators(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for uri, path := range map[string]string{
		"repo://hello/sha/" + s.Head + "/contents/dir/deep.txt": "/raw/hello/" + s.Head + "/dir/deep.txt",
		"repo://hello/archive/" + s.Head + ".tar":               "/archive/hello/" + s.Head + ".tar",
	} {
		tag := s.validatorOf(t, methodRead, map[string]any{"uri": uri})
		if reply := s.get(t, path); tag == "" || tag != reply.header.Get("ETag") {
			t.Errorf("%s has the validator %q, and %s the ETag %q, want the same", uri, tag, path, reply.header.Get("ETag"))
		}
		if reply := s.get(t, path, "If-None-Match: "+tag); reply.status != http.StatusNotModified {
			t.Errorf("%s with the validator %s: %v, want 304", path, tag, reply)
		}
	}
	folder := s.validatorOf(t, methodRead, map[string]any{"uri": "repo://hello/sha/" + s.Head + "/contents/dir"})
	if len(folder) < 10 || folder != s.validatorOf(t, methodRead, map[string]any{"uri": "repo://hello/sha/" + s.Head +
		"/contents/dir"}) {
		t.Errorf("a folder has the validator %q, want the same twice", folder)
	}
	for _, uri := range []string{"repo://hello/refs/heads/main/contents/dir/deep.txt", "repo://hello/archive/main.tar"} {
		if tag := s.validatorOf(t, methodRead, map[string]any{"uri": uri}); tag != "" {
			t.Errorf("%s has the validator %s, though it names no commit", uri, tag)
		}
	}
}

// The validator of a tool's result names what it shows, also where that depends on more than the
// commit.
func TestPinnedResultsHaveValidators(t *testing.T) {
	t.Parallel()
	var repo *gittest.Repo
	var head string
	s := newTarget(t, targetOptions{tools: true, build: func(root string) {
		repo = gittest.At(t, filepath.Join(root, "hello.git"))
		head = repo.Commit("main", gittest.Regular("dir/inner.txt", "inner\n"))
	}})
	seen := make(map[string]string)
	for what, call := range map[string]struct {
		tool      string
		arguments map[string]any
	}{
		"a file":         {"get_file_contents", map[string]any{"path": "dir/inner.txt", "ref": head}},
		"a folder":       {"get_file_contents", map[string]any{"path": "dir", "sha": head}},
		"commits":        {"list_commits", map[string]any{"sha": head}},
		"a commit":       {"get_commit", map[string]any{"sha": head}},
		"a whole folder": {"get_repository_tree", map[string]any{"ref": head}},
	} {
		tag := s.toolValidator(t, call.tool, call.arguments)
		if !strings.HasPrefix(tag, `"`) || !strings.HasSuffix(tag, `"`) || len(tag) < 10 {
			t.Errorf("%s has the validator %q, want one", what, tag)
		}
		if again := s.toolValidator(t, call.tool, call.arguments); again != tag {
			t.Errorf("%s has the validator %s, and asked again %s", what, tag, again)
		}
		if other, ok := seen[tag]; ok {
			t.Errorf("%s and %s have the same validator", what, other)
		}
		seen[tag] = what
	}
	if tag := s.toolValidator(t, "list_commits", map[string]any{"ref": "main"}); tag != "" {
		t.Errorf("a branch has the validator %s, want none", tag)
	}
	if tag := s.toolValidator(t, "get_file_contents", map[string]any{"sha": head, "files": []any{
		"dir/inner.txt", map[string]any{"path": "dir/inner.txt", "ref": "main"}}}); tag != "" {
		t.Errorf("several files, one of them of a branch, have the validator %s, want none", tag)
	}
	before := s.toolValidator(t, "get_commit", map[string]any{"sha": head})
	repo.Commit("main", gittest.Regular(".mailmap", "Another Name <"+strings.TrimSpace(repo.Git("log", "-1", "--format=%ae", head))+">\n"))
	if after := s.toolValidator(t, "get_commit", map[string]any{"sha": head}); after == before {
		t.Error("a commit whose author is shown by another name has the same validator")
	}
}
