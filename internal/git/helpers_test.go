package git_test

import (
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// reachable is what the tests open repositories with, unless they are about another option.
var reachable = git.Options{ReachableOnly: true}

// open opens the folder above repositories until the test ends.
func open(t testing.TB, root string, options git.StoreOptions) *git.Store {
	t.Helper()
	store, err := git.NewStore(root, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// snapshot takes a snapshot of the repository in the folder name.git until the test ends.
func snapshot(t *testing.T, store *git.Store, name string, options git.Options) *git.Snapshot {
	t.Helper()
	s, err := store.Repository(name+".git", options).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// one makes a repository "repo" and a snapshot function for it.
func one(t *testing.T) (*gittest.Repo, func() *git.Snapshot) {
	t.Helper()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	store := open(t, root, git.StoreOptions{})
	return repo, func() *git.Snapshot { return snapshot(t, store, "repo", reachable) }
}
