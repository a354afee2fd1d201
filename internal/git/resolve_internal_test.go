package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// A commit that a push brings between the search for its object and the look at the refs is neither missing nor damage.
func TestCommitThatIsJustPushedIsFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	origin := gittest.At(t, filepath.Join(root, "origin.git"))
	origin.Commit("main", gittest.Regular("a", "1"))
	mirror := gittest.At(t, filepath.Join(root, "mirror.git"))
	fetch := func() { mirror.Git("fetch", "-q", origin.Dir, "+refs/*:refs/*") }
	fetch()
	store, err := NewStore(root, StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s, err := store.Repository("mirror.git", Options{ReachableOnly: true}).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, content := range []string{"2", "3"} {
		pushed := origin.Commit("main", gittest.Regular("a", content))
		id, err := ParseID(pushed)
		if err != nil {
			t.Fatal(err)
		}
		_, missing := s.peel(id)
		if !errors.Is(missing, ErrNotFound) {
			t.Fatalf("before the push: %v", missing)
		}
		if err := s.doubt(id, missing); !errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt) {
			t.Errorf("before the push: %v", err)
		}
		fetch()
		if err := s.doubt(id, missing); err != nil {
			t.Errorf("after the push: %v", err)
		}
		if found, err := s.ResolveObject(t.Context(), pushed); err != nil || found != id {
			t.Errorf("after the push: %v, %v", found, err)
		}
	}
	// A missing object that the refs still lead to is damage.
	head := mirror.Git("rev-parse", "main")
	id, err := ParseID(head)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"objects/pack", "objects/" + head[:2]} {
		if err := os.RemoveAll(filepath.Join(mirror.Dir, dir)); err != nil {
			t.Fatal(err)
		}
	}
	again, err := store.Repository("mirror.git", Options{ReachableOnly: true}).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	if err := again.doubt(id, ErrNotFound); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a missing commit: %v", err)
	}
}
