package pack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/git/objects/object"
	"github.com/repomcp/repomcp/internal/git/objects/packtest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// readerOf returns a reader of the folder that holds a repository.
func readerOf(t *testing.T, repo *gittest.Repo) *Reader {
	t.Helper()
	root, err := os.OpenRoot(filepath.Dir(repo.Dir))
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(root, new(object.Buffers), Limits{
		Indexes: NewBudget(1 << 30), BaseBytes: 16 << 20, SpillBytes: 64 << 10,
		SpillSpace: spill.NewSpace(t.TempDir(), 1<<30), DeltaDepth: 100,
	})
	t.Cleanup(func() {
		r.Close()
		_ = root.Close()
		if used := r.limits.Indexes.Used() + r.limits.SpillSpace.Used(); used != 0 {
			t.Errorf("%d bytes are counted as used at the end", used)
		}
	})
	return r
}

// openOnly opens the only pack of a repository.
func openOnly(t *testing.T, r *Reader, repo *gittest.Repo) (*Pack, error) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(repo.Dir, "objects/pack/*.idx"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	name, err := filepath.Rel(filepath.Dir(repo.Dir), strings.TrimSuffix(names[0], ".idx"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.OpenPack(filepath.ToSlash(name), true)
	if err == nil {
		t.Cleanup(p.Close)
	}
	return p, err
}

// enoughEntries make an index that is read by pages. What they are does not
// matter here.
func enoughEntries() []packtest.Entry {
	entries := make([]packtest.Entry, wholeTable/idxV2Entry+1000)
	nothing := packtest.Whole("")
	for i := range entries {
		entries[i] = nothing
		entries[i].ID = packtest.SumOf(object.Blob, fmt.Append(nil, i))
	}
	return entries
}

// TestLargeIndexesAreComparedWhileInUse flips one bit of an index that is too
// large to be hashed when it is opened, and mends it again.
func TestLargeIndexesAreComparedWhileInUse(t *testing.T) {
	repo := gittest.New(t)
	entries := enoughEntries()
	packtest.New(entries...).Write(t, repo)
	names, err := filepath.Glob(filepath.Join(repo.Dir, "objects/pack/*.idx"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	sound, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	r := readerOf(t, repo)
	for round, flipped := range []bool{false, true, false} {
		content := append([]byte(nil), sound...)
		if flipped {
			content[len(content)-idxTrailer-2] ^= 4 // an offset
		}
		if err := os.WriteFile(names[0], content, 0o600); err != nil {
			t.Fatal(err)
		}
		// The file now counts as another one.
		when := time.Now().Add(time.Duration(round-10) * time.Hour)
		if err := os.Chtimes(names[0], when, when); err != nil {
			t.Fatal(err)
		}
		p, err := openOnly(t, r, repo)
		if err != nil {
			t.Fatal(err)
		}
		r.checks.running.Wait()
		for _, e := range entries[:100] {
			_, _, err := p.Find(&e.ID)
			if flipped != errors.Is(err, object.ErrCorrupt) || !flipped && err != nil {
				t.Fatalf("round %d, the pack in use: %v", round, err)
			}
		}
		if err := p.IDs(entries[0].ID, func(object.ID) bool { return false }); flipped != errors.Is(err,
			object.ErrCorrupt) {
			t.Errorf("round %d, the ids: %v", round, err)
		}
		if flipped != p.Damaged() || !r.Unchanged(p) {
			t.Errorf("round %d: damaged %v, unchanged %v", round, p.Damaged(), r.Unchanged(p))
		}
		if _, err := openOnly(t, r, repo); flipped != errors.Is(err, object.ErrCorrupt) || !flipped && err != nil {
			t.Errorf("round %d, opened later: %v", round, err)
		}
	}
	if n, _ := r.checks.verdicts.Size(); n != 1 {
		t.Errorf("%d verdicts on one file", n)
	}
}

// TestReaderEndsItsComparisons closes one that has just begun.
func TestReaderEndsItsComparisons(t *testing.T) {
	repo := gittest.New(t)
	packtest.New(enoughEntries()...).Write(t, repo)
	r := readerOf(t, repo)
	before := runtime.NumGoroutine()
	p, err := openOnly(t, r, repo)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	gittest.Await(t, "no goroutine is left of the reader", func() bool { return runtime.NumGoroutine() <= before })
	for range 1000 { // that some of them would be seen
		_ = r.checks.add(p)
	}
	if runtime.NumGoroutine() > before {
		t.Error("it begins after the reader was closed")
	}
}

// TestPanicOfAnIndexComparisonFailsItsIndex has the goroutine that compares
// large indexes panic. Requests for an object of the pack report it.
func TestPanicOfAnIndexComparisonFailsItsIndex(t *testing.T) {
	repo := gittest.New(t)
	entries := enoughEntries()
	packtest.New(entries...).Write(t, repo)
	r := readerOf(t, repo)
	r.checks.root = nil // which is used to open the file
	p, err := openOnly(t, r, repo)
	if err != nil {
		t.Fatal(err)
	}
	r.checks.running.Wait()
	var panicked *panics.Error
	if _, _, err := p.Find(&entries[0].ID); !errors.As(err, &panicked) {
		t.Errorf("the index whose comparison panicked: %v", err)
	}
	if _, err := openOnly(t, r, repo); !errors.As(err, &panicked) {
		t.Errorf("opened later: %v", err)
	}
}
