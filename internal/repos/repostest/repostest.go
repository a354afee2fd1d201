// Package repostest opens repositories for as long as a test runs. It is imported
// by tests only.
package repostest

import (
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

// Open opens the catalogue of a root folder, until the test ends.
func Open(t testing.TB, root string, options repos.Options) *repos.Catalogue {
	t.Helper()
	catalogue, err := repos.Open(root, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	})
	return catalogue
}

// Snapshot opens a repository of a catalogue by its name, until the test ends.
func Snapshot(t testing.TB, catalogue *repos.Catalogue, name string) *git.Snapshot {
	t.Helper()
	repository, err := catalogue.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := snapshot.Close(); err != nil {
			t.Error(err)
		}
	})
	return snapshot
}
