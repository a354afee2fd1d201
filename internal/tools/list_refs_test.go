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
	if !strings.Contains(r.text, "\nhurt unreadable\n") || !strings.Contains(r.text, "The default branch is main.") {
		t.Errorf("%s", r.text)
	}
	repo.WriteFile("HEAD", []byte("no id\n"))
	r = s.call("list_branches", args{"repo": "one"})
	if !strings.Contains(r.text, "main ") || !strings.Contains(r.text, "HEAD is unreadable") {
		t.Errorf("%s", r.text)
	}
}

// A repository with thousands of refs and an unusable pack is damaged, and not taken for a busy server.
func TestAnUnusablePackOfManyRefsIsCalledDamage(t *testing.T) {
	s, repo := single(t)
	id := repo.Commit("main", gittest.Regular("f", gittest.Noise(1000)))
	repo.Git("repack", "-adq")
	packed := "# pack-refs with: peeled fully-peeled sorted \n"
	for i := range 2300 {
		packed += fmt.Sprintf("%s refs/heads/b%04d\n", id, i)
	}
	repo.WriteFile("packed-refs", []byte(packed))
	packs, err := filepath.Glob(filepath.Join(repo.Dir, "objects/pack/*.pack"))
	if err != nil || len(packs) != 1 || os.Chmod(packs[0], 0o600) != nil || os.Truncate(packs[0], 100) != nil {
		t.Fatal(packs, err)
	}
	for tool, arguments := range map[string]args{
		"list_branches": {"repo": "one"}, "get_file_contents": {"repo": "one", "path": "f"}, "list_commits": {"repo": "one"},
	} {
		if r := s.call(tool, arguments); strings.Contains(r.text, "descriptors") ||
			!strings.Contains(r.text, "unreadable") && !strings.Contains(r.text, "git fsck") {
			t.Errorf("%s: %.500s, want damage", tool, r.text)
		}
	}
}

// A tag of a file has no commit and no files, which is no damage.
func TestATagOfAFileIsRefusedWithTheReason(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("key", "of a person\n"))
	repo.SetRef("refs/tags/light", repo.Git("rev-parse", "main:key"))
	repo.Git("tag", "-m", "x", "annotated", "light")
	for _, ref := range []string{"light", "annotated", "refs/tags/annotated", "annotated^{}", "annotated~1"} {
		for _, tool := range []string{"list_commits", "get_file_contents", "get_repository_tree", "get_archive_link"} {
			if r := s.call(tool, args{"repo": "one", "ref": ref}); !r.failed || !strings.Contains(r.text, "leads to a file (blob ") {
				t.Errorf("%s of %s: %s, want an error with the reason", tool, ref, r.text)
			}
		}
	}
}
