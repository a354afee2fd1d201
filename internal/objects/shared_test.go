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
	s := newStore(t, Options{SharedBytes: 64 << 10}, repo)
	var reading sync.WaitGroup
	for range 4 {
		snap := snapshot(t, s, repo)
		reading.Go(func() {
			for _, f := range all {
				kind, content, err := snap.ReadVerified(f.id, 1<<20, []byte("kept"))
				if err != nil || kind.String() != f.kind || string(content) != "kept"+string(f.content) {
					t.Errorf("%v: %v and %d bytes, %v; git has %s and %d", f.id, kind, len(content), err, f.kind, len(f.content))
				}
			}
		})
	}
	reading.Wait()
	if _, shared := s.shared.size(); shared == 0 || shared > 64<<10 {
		t.Errorf("%d bytes are shared, of at most %d", shared, 64<<10)
	}
}

func TestSingleReaderSharesNothing(t *testing.T) {
	repo := gittest.New(t)
	history(repo, 3)
	repo.Git("repack", "-adfq")
	s := newStore(t, Options{}, repo)
	snap := snapshot(t, s, repo)
	for _, f := range facts(t, repo) {
		if _, _, err := snap.ReadVerified(f.id, 1<<20, nil); err != nil {
			t.Error(err)
		}
	}
	if n, _ := s.shared.size(); n > 0 {
		t.Error("a single reader filled the cache of shared files")
	}
}

// size returns how many objects a cache has, and what they cost.
func (c *objectCache) size() (objects int, cost int64) {
	for _, shard := range c.shards {
		n, used := shard.Size()
		objects, cost = objects+n, cost+used
	}
	return objects, cost
}
