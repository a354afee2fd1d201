package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// Half an index makes no branch vanish from what agents see.
func TestRefsOfADamagedMirrorAreListedAndMarked(t *testing.T) {
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "hurt.git"))
	const each = 3
	for i := range each {
		id := repo.Commit(fmt.Sprintf("b%d", i), gittest.Regular("a", fmt.Sprint(i)))
		repo.Git("tag", fmt.Sprintf("t%d", i), id)
	}
	repo.SetRef("HEAD", "ref: refs/heads/b0")
	repo.Git("repack", "-adq")
	names, err := filepath.Glob(filepath.Join(repo.Dir, "objects/pack/*.idx"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	if err := os.Chmod(names[0], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(names[0], 500); err != nil {
		t.Fatal(err)
	}
	s := open(t, root)
	for _, tool := range []string{"list_branches", "list_tags"} {
		r := s.call(tool, map[string]any{"repo": "hurt"})
		if refs, _ := r.data["refs"].([]any); len(refs) != each || refs[0].(map[string]any)["damaged"] != true ||
			strings.Count(r.text, "unreadable") != each {
			t.Errorf("%s: %+v", tool, r)
		}
	}
	r := s.call("list_branches", map[string]any{"repo": "hurt", "query": "b*", "sort": "version"})
	if strings.Count(r.text, "unreadable") != each {
		t.Errorf("%+v", r)
	}
	if r := s.call("get_repository", map[string]any{"repo": "hurt"}); !r.failed {
		t.Errorf("get_repository: %+v", r)
	}
}

// Of a ref that cannot be read it is not known what it leads to, which is another
// answer than that it does not lead there.
func TestDamagedRefsAreNoneThatDoNotContain(t *testing.T) {
	s, repo := single(t)
	id := repo.Commit("main", gittest.Regular("a", "1"))
	repo.WriteFile("refs/heads/hurt", []byte("no id\n"))
	r := s.call("list_branches", args{"repo": "one", "contains": id})
	if refs, _ := r.data["refs"].([]any); len(refs) != 1 ||
		!strings.Contains(r.text, "Left out: 1 that cannot be read") {
		t.Errorf("%s", r.text)
	}
	r = s.call("list_branches", args{"repo": "one"})
	if !strings.Contains(r.text, "\nhurt unreadable\n") {
		t.Errorf("%s", r.text)
	}
}
