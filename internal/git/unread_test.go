package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestAnUnreadableHeadMayLeadToACommit asks for a commit that only a detached HEAD led to, until it was damaged.
func TestAnUnreadableHeadMayLeadToACommit(t *testing.T) {
	t.Parallel()
	repo, take := one(t)
	repo.Commit("main", gittest.Regular("f", "1"))
	only := repo.Git("commit-tree", "-m", "detached", "-p", "main", "main^{tree}")
	repo.WriteFile("HEAD", []byte(only+"\n"))
	if _, err := take().Resolve(t.Context(), only); err != nil {
		t.Errorf("the commit of HEAD: %v", err)
	}
	repo.WriteFile("HEAD", []byte("no id\n"))
	s := take()
	if _, err := s.Resolve(t.Context(), only); !errors.Is(err, git.ErrCorrupt) {
		t.Errorf("the same with a damaged HEAD: %v, want damage", err)
	}
	if branch, err := s.DefaultBranch(); branch != "" || !errors.Is(err, git.ErrCorrupt) {
		t.Errorf("the default branch %q, %v, want damage", branch, err)
	}
	if _, err := s.Resolve(t.Context(), "main"); err != nil {
		t.Errorf("a commit that a branch leads to: %v", err)
	}
}

// TestAnUnreadableListOfCutCommitsIsNotNone has a symbolic link to itself in the place of the file shallow.
func TestAnUnreadableListOfCutCommitsIsNotNone(t *testing.T) {
	t.Parallel()
	repo, take := one(t)
	repo.Commit("main", gittest.Regular("f", "1"))
	repo.Git("commit-graph", "write", "--reachable")
	if s := take(); s.CommitGraph() == nil {
		t.Fatal("the commit-graph is not used")
	}
	if err := os.Symlink("shallow", filepath.Join(repo.Dir, "shallow")); err != nil {
		t.Fatal(err)
	}
	s := take()
	if _, err := s.Condition(t.Context()); !errors.Is(err, git.ErrCorrupt) {
		t.Errorf("the condition: %v, want damage", err)
	}
	if s.CommitGraph() != nil {
		t.Error("the commit-graph is used, whose parents may be cut off")
	}
	if _, err := s.Resolve(t.Context(), "main"); err != nil {
		t.Errorf("a commit of the branch: %v", err)
	}
}
