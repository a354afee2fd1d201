package repos_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

// one makes a repository "repo" and a snapshot function for it.
func one(t *testing.T, options repos.Options) (*gittest.Repo, func() *git.Snapshot) {
	t.Helper()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	catalogue := repostest.Open(t, root, options)
	return repo, func() *git.Snapshot { return repostest.Snapshot(t, catalogue, "repo") }
}

func TestCatalogueFindsNestedRepositoriesAndFollowsNothingOut(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	gittest.At(t, filepath.Join(outside, "secret.git"))
	for _, dir := range []string{"a.git", "deep/er/still/b.git", "working/.git", "plain-name", "bad name.git",
		"-dash.git"} {
		gittest.At(t, filepath.Join(root, dir))
	}
	gittest.At(t, filepath.Join(root, "a.git", "modules", "inner.git"))
	if err := os.Symlink(filepath.Join(outside, "secret.git"), filepath.Join(root, "link.git")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "folder")); err != nil {
		t.Fatal(err)
	}
	catalogue := repostest.Open(t, root, repos.Options{})
	want := "a deep/er/still/b plain-name working"
	if got := strings.Join(catalogue.Names(), " "); got != want {
		t.Errorf("names %q, want %q", got, want)
	}
	for _, name := range []string{"link", "folder/secret", "../" + filepath.Base(outside) + "/secret", "a.git.git",
		"a/modules/inner", "", ".", "/a", "a/"} {
		if _, err := catalogue.Get(name); !errors.Is(err, git.ErrNotFound) {
			t.Errorf("Get(%q): %v, want not found", name, err)
		}
	}
}

func TestCatalogueNoticesRepositoriesThatComeAndGo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	catalogue := repostest.Open(t, root, repos.Options{})
	gittest.At(t, filepath.Join(root, "new.git"))
	gittest.Await(t, "the catalogue has the new repository", func() bool { _, err := catalogue.Get("new"); return err == nil })
	repository, err := catalogue.Get("new")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(root, "new.git")); err != nil {
		t.Fatal(err)
	}
	if _, err := repository.Snapshot(); !errors.Is(err, git.ErrNotFound) {
		t.Errorf("snapshot of a deleted repository: %v, want not found", err)
	}
}

func TestPageIsStableWhileRepositoriesComeAndGo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d"} {
		gittest.At(t, filepath.Join(root, name+".git"))
	}
	catalogue := repostest.Open(t, root, repos.Options{})
	for _, c := range []struct {
		after string
		limit int
		want  string
		more  bool
	}{
		{"", 2, "a b", true}, {"b", 2, "c d", false}, {"bb", 1, "c", true}, {"d", 5, "", false},
		{"", 9, "a b c d", false},
	} {
		names, more := catalogue.Page(c.after, c.limit)
		if got := strings.Join(names, " "); got != c.want || more != c.more {
			t.Errorf("Page(%q, %d) = %q, %v; want %q, %v", c.after, c.limit, got, more, c.want, c.more)
		}
	}
}

func TestUnreachableCommitsAreNotServed(t *testing.T) {
	t.Parallel()
	for _, allow := range []bool{false, true} {
		repo, snap := one(t, repos.Options{AllowUnreachable: allow})
		secret := repo.Commit("main", gittest.Regular("password", "hunter2"))
		repo.Git("update-ref", "-d", "refs/heads/main")
		public := repo.Commit("main", gittest.Regular("a", "1"))
		repo.Git("update-ref", "refs/keep-around/"+secret, secret)
		s := snap()
		if _, err := s.Resolve(t.Context(), public); err != nil {
			t.Errorf("reachable commit: %v", err)
		}
		for _, revision := range []string{secret, secret[:12]} {
			_, err := s.Resolve(t.Context(), revision)
			if served := err == nil; served != allow {
				t.Errorf("allow %v: Resolve(%q): %v", allow, revision, err)
			}
			if !allow && !errors.Is(err, git.ErrNotFound) {
				t.Errorf("unreachable commit: %v, want not found", err)
			}
		}
	}
}
