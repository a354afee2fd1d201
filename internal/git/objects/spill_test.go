package objects

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/gittest"
)

// bigRepo has three versions of a blob above the spill limit of the test, two
// of them deltified, and a small file.
func bigRepo(t *testing.T) *gittest.Repo {
	repo := gittest.New(t)
	body := gittest.SeededNoise(3, 300_000)
	for i, insert := range []string{"first", "second, and longer", ""} {
		at := 100_000 * (i + 1)
		body = body[:at] + insert + body[at:]
		repo.Commit("main", gittest.Regular("big", body), gittest.Regular("small", insert))
	}
	repo.Git("repack", "-adfq", "--depth=10")
	return repo
}

// spillEarly makes the blobs of bigRepo too large for memory.
func spillEarly(l *limits) { l.packs.SpillBytes, l.packs.WholeBytes = 64<<10, 0 }

func TestLargeDeltasAreResolvedThroughTemporaryFiles(t *testing.T) {
	t.Parallel()
	repo := bigRepo(t)
	compare(t, snapshot(t, newStore(t, spillEarly, repo), repo), facts(t, repo))
}

// deltified returns the largest object of a repository that is a delta.
func deltified(t *testing.T, repo *gittest.Repo, all []fact) fact {
	t.Helper()
	cmd := exec.Command("git", "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(deltabase)")
	cmd.Dir, cmd.Env = repo.Dir, gittest.Env()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var largest fact
	for _, f := range all {
		whole := f.id.String() + " " + ID{}.String()
		if !bytes.Contains(out, []byte(whole)) && len(f.content) > len(largest.content) {
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
	space := spill.NewSpace(temp, 8<<30)
	s := newStore(t, func(l *limits) { spillEarly(l); l.packs.SpillSpace = space }, repo)
	snap := snapshot(t, s, repo)
	want := deltified(t, repo, facts(t, repo))
	object, err := snap.Open(want.id)
	if err != nil {
		t.Fatal(err)
	}
	object.Verify()
	head := make([]byte, 1000)
	if _, err := io.ReadFull(object, head); err != nil {
		t.Fatal(err)
	}
	if space.Used() == 0 {
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
	s := newStore(t, func(l *limits) { spillEarly(l); l.packs.SpillSpace = spill.NewSpace(t.TempDir(), 100<<10) }, repo)
	snap := snapshot(t, s, repo)
	if _, err := snap.Open(deltified(t, repo, all).id); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one object beyond the limit: %v", err)
	}
	s = newStore(t, func(l *limits) { spillEarly(l); l.packs.SpillSpace = spill.NewSpace(t.TempDir(), 400<<10) }, repo)
	snap = snapshot(t, s, repo)
	want := deltified(t, repo, all)
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
	missing := filepath.Join(t.TempDir(), "missing")
	s := newStore(t, func(l *limits) { spillEarly(l); l.packs.SpillSpace = spill.NewSpace(missing, 8<<30) }, repo)
	snap := snapshot(t, s, repo)
	_, err := snap.Open(deltified(t, repo, all).id)
	if err == nil || errors.Is(err, ErrCorrupt) || bytes.Contains([]byte(err.Error()), []byte(missing)) {
		t.Errorf("Open gives %v", err)
	}
}

// TestLargeDeltasOfAChainAreStreamed has deltas that together are too large for
// memory, of an object that is not.
func TestLargeDeltasOfAChainAreStreamed(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	body := gittest.SeededNoise(5, 3_000_000)
	for i := range 4 {
		repo.Commit("main", gittest.Regular("big", body[:len(body)-i*700_000]))
	}
	for i := range 4 {
		body = gittest.SeededNoise(uint64(50+i), 900_000) + body
		repo.Commit("main", gittest.Regular("big", body))
	}
	repo.Git("repack", "-adfq", "--depth=50")
	for _, most := range []int64{1 << 20, 7 << 20, 32 << 20} {
		s := newStore(t, func(l *limits) { l.packs.SpillBytes, l.packs.WholeBytes = most, 0 }, repo)
		compare(t, snapshot(t, s, repo), facts(t, repo))
	}
}
