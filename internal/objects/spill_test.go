package objects

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// bigRepo has three versions of a blob above the spill limit of the test, two
// of them deltified, and a small file.
func bigRepo(t *testing.T) *gittest.Repo {
	repo := gittest.New(t)
	body := noise(3, 300_000)
	for i, insert := range []string{"first", "second, and longer", ""} {
		at := 100_000 * (i + 1)
		body = body[:at] + insert + body[at:]
		repo.Commit("main", gittest.Regular("big", body), gittest.Regular("small", insert))
	}
	repo.Git("repack", "-adfq", "--depth=10")
	return repo
}

func TestLargeDeltasAreResolvedThroughTemporaryFiles(t *testing.T) {
	t.Parallel()
	repo := bigRepo(t)
	s := newStore(t, Options{SpillBytes: 64 << 10}, repo)
	snap := snapshot(t, s, repo)
	want := facts(t, repo)
	compare(t, snap, want)
	if s.spills.Load() == 0 {
		t.Error("no temporary file was used: the test shows nothing")
	}
	kept := 0
	for _, f := range want {
		at, _, err := snap.view.Load().find(f.id)
		if err != nil {
			t.Fatal(err)
		}
		_, data, ok := s.bases.get(at.pack, at.off)
		if ok {
			kept++
		}
		if len(data) > 64<<10 {
			t.Errorf("an object of %d bytes was held in memory", len(data))
		}
	}
	if all, _ := s.bases.size(); kept != all {
		t.Errorf("%d of %d objects in memory were looked at", kept, all)
	}
}

// deltified gives the largest object of a repository that is a delta.
func deltified(t *testing.T, s *Snapshot, all []fact) fact {
	t.Helper()
	var largest fact
	for _, f := range all {
		at, found, err := s.view.Load().find(f.id)
		if !found || err != nil {
			t.Fatal(found, err)
		}
		e, err := at.pack.entryAt(at.off, make([]byte, longestEntryHeader))
		if err != nil {
			t.Fatal(err)
		}
		if (e.kind == ofsDelta || e.kind == refDelta) && len(f.content) > len(largest.content) {
			largest = f
		}
	}
	if largest.content == nil {
		t.Fatal("no object is deltified")
	}
	return largest
}

func TestTemporaryFileThatIsRemovedDoesNotEndTheStream(t *testing.T) {
	repo := bigRepo(t)
	temp := t.TempDir()
	s := newStore(t, Options{SpillBytes: 64 << 10, TempDir: temp}, repo)
	snap := snapshot(t, s, repo)
	want := deltified(t, snap, facts(t, repo))
	object, err := snap.Open(want.id)
	if err != nil {
		t.Fatal(err)
	}
	object.Verify()
	head := make([]byte, 1000)
	if _, err := io.ReadFull(object, head); err != nil {
		t.Fatal(err)
	}
	if s.spilled.used.Load() == 0 {
		t.Error("the object has no temporary file: the test shows nothing")
	}
	files, _ := filepath.Glob(filepath.Join(temp, "*"))
	for _, name := range files {
		_ = os.Remove(name)
	}
	rest, err := io.ReadAll(object)
	if err != nil || !bytes.Equal(append(head, rest...), want.content) {
		t.Errorf("%d bytes, %v", len(rest), err)
	}
	for range 2 {
		if err := object.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTemporaryFilesAreBounded(t *testing.T) {
	repo := bigRepo(t)
	all := facts(t, repo)
	s := newStore(t, Options{SpillBytes: 64 << 10, MaxSpillBytes: 100 << 10}, repo)
	snap := snapshot(t, s, repo)
	if _, err := snap.Open(deltified(t, snap, all).id); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one object beyond the limit: %v", err)
	}
	s = newStore(t, Options{SpillBytes: 64 << 10, MaxSpillBytes: 400 << 10}, repo)
	snap = snapshot(t, s, repo)
	want := deltified(t, snap, all)
	object, err := snap.Open(want.id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := snap.Open(want.id); !errors.Is(err, ErrBusy) {
		t.Errorf("two objects beyond the limit: %v", err)
	}
	if err := object.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compareStream(snap, want); err != nil {
		t.Error(err)
	}
}

func TestTemporaryDirectoryThatIsMissingIsAnError(t *testing.T) {
	repo := bigRepo(t)
	all := facts(t, repo)
	s := newStore(t, Options{SpillBytes: 64 << 10, TempDir: filepath.Join(t.TempDir(), "missing")}, repo)
	snap := snapshot(t, s, repo)
	_, err := snap.Open(deltified(t, snap, all).id)
	if err == nil || isCorrupt(err) || bytes.Contains([]byte(err.Error()), []byte(s.options.TempDir)) {
		t.Errorf("Open gives %v", err)
	}
}

func TestDeltaBeyondTheKeptOnesIsReadAgain(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	body := noise(5, 3_000_000)
	for i := range 4 { // each adds more than fits among the kept deltas
		repo.Commit("main", gittest.Regular("big", body[:len(body)-i*700_000]))
	}
	for i := range 4 {
		body = noise(uint64(50+i), 900_000) + body
		repo.Commit("main", gittest.Regular("big", body))
	}
	repo.Git("repack", "-adfq", "--depth=50")
	compare(t, snapshot(t, newStore(t, Options{}, repo), repo), facts(t, repo))
}
