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
		if refs, _ := r.data["refs"].([]any); len(refs) != each || strings.Count(r.text+r.content, "unreadable") != each {
			t.Errorf("%s: %+v", tool, r)
		}
	}
	if r := s.call("get_repository", map[string]any{"repo": "hurt"}); !r.failed {
		t.Errorf("get_repository: %+v", r)
	}
}
