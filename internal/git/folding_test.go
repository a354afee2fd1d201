package git_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// Where names that differ in case are one, a hidden ref stays hidden by each. Other refs are found by each, as in
// git: HEAD often has another case than the file of its branch.
func TestHiddenRefsHaveOneName(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	root := gittest.FoldingFolder(t)
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	repo.Commit("main", gittest.Regular("a", "1"))
	for _, name := range []string{"refs/heads/secret", "refs/heads/team/secret", "refs/keep/x"} {
		repo.Git("update-ref", name, "main")
	}
	repo.Git("symbolic-ref", "HEAD", "refs/heads/Main")
	hidden := func(name string) bool {
		return name == "refs/heads/secret" || strings.HasPrefix(name, "refs/heads/team/") || strings.HasPrefix(name, "refs/keep/")
	}
	s := snapshot(t, open(t, root, git.StoreOptions{}), "repo", git.Options{
		Hidden: func(func(keys ...string) []string) func(name string) bool { return hidden },
	})
	for _, name := range []string{"HEAD", "main", "Main", "heads/MAIN", "refs/heads/main"} {
		if _, err := s.Resolve(t.Context(), name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{
		"secret", "Secret", "refs/heads/SECRET", "team/secret", "Team/secret", "TEAM/Secret", "refs/Keep/x", "refs/keep/X",
	} {
		if id, err := s.Resolve(t.Context(), name); !errors.Is(err, git.ErrNotFound) {
			t.Errorf("%s: %v, %v", name, id, err)
		}
	}
}
