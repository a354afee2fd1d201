// Package snapshottest opens repositories for as long as a test runs. It is imported by tests only.
package snapshottest

import (
	"testing"

	"github.com/repomcp/repomcp/internal/git"
)

// Open takes a snapshot of the bare repository in a folder, until the test ends.
func Open(t testing.TB, folder string) *git.Snapshot {
	t.Helper()
	store, err := git.NewStore(folder, git.StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := store.Repository(".", git.Options{}).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := snapshot.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return snapshot
}
