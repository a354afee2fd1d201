package objects

import (
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestReadersSideBySideShareFiles reads a repository through several snapshots
// at once, so that each finds what others have read, and compares all with git.
func TestReadersSideBySideShareFiles(t *testing.T) {
	repo := gittest.New(t)
	history(repo, 5)
	repo.Git("repack", "-adfq")
	all := facts(t, repo)
	s := newStore(t, nil, repo)
	var reading sync.WaitGroup
	for range 4 {
		snap := snapshot(t, s, repo)
		reading.Go(func() {
			for _, f := range all {
				kind, content, err := snap.ReadVerified(f.id, 1<<20, []byte("kept"))
				if err != nil || kind.String() != f.kind || string(content) != "kept"+string(f.content) {
					t.Errorf("%v: %v and %d bytes, %v; git has %s and %d", f.id, kind, len(content), err, f.kind,
						len(f.content))
				}
			}
		})
	}
	reading.Wait()
	if shared := sharedOf(snapshot(t, s, repo), all); shared != len(all) {
		t.Errorf("%d of %d objects are shared", shared, len(all))
	}
}

func TestSingleReaderSharesNothing(t *testing.T) {
	repo := gittest.New(t)
	history(repo, 3)
	repo.Git("repack", "-adfq")
	s := newStore(t, nil, repo)
	snap := snapshot(t, s, repo)
	all := facts(t, repo)
	for _, f := range all {
		if _, _, err := snap.ReadVerified(f.id, 1<<20, nil); err != nil {
			t.Error(err)
		}
	}
	if sharedOf(snap, all) > 0 {
		t.Error("a single reader filled the cache of shared files")
	}
}

// sharedOf counts the objects of a snapshot that others have read.
func sharedOf(snap *Snapshot, all []fact) (shared int) {
	v := snap.view.Load()
	for _, f := range all {
		if at, found, _ := v.Find(f.id); found {
			if _, _, ok := snap.db.store.shared.Get(at); ok {
				shared++
			}
		}
	}
	return shared
}
