package objects

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// awaitVerdicts waits until the running comparisons of a store are over.
func awaitVerdicts(t *testing.T, s *Store) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s.checks.mu.Lock()
		running := s.checks.running
		s.checks.mu.Unlock()
		if !running {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the comparison does not end")
		}
	}
}

// enoughEntries make an index that is read by pages. What they are does not
// matter here.
func enoughEntries() []craftedEntry {
	entries := make([]craftedEntry, wholeTable/idxV2Entry+1000)
	nothing := whole("")
	for i := range entries {
		entries[i] = nothing
		entries[i].id = sumOf(Blob, fmt.Append(nil, i))
	}
	return entries
}

// TestLargeIndexesAreComparedWhileInUse flips one bit of an index that is too
// large to be hashed when it is opened, and mends it again.
func TestLargeIndexesAreComparedWhileInUse(t *testing.T) {
	repo := gittest.New(t)
	entries := enoughEntries()
	newCrafted(entries...).write(t, repo)
	names, err := filepath.Glob(filepath.Join(repo.Dir, "objects/pack/*.idx"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	sound, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t, Options{}, repo)
	for round, flipped := range []bool{false, true, false} {
		content := append([]byte(nil), sound...)
		if flipped {
			content[len(content)-idxTrailer-2] ^= 4 // an offset
		}
		if err := os.WriteFile(names[0], content, 0o600); err != nil {
			t.Fatal(err)
		}
		// The file is another one to everybody.
		when := time.Now().Add(time.Duration(round-10) * time.Hour)
		if err := errors.Join(os.Chtimes(names[0], when, when), os.Chtimes(filepath.Dir(names[0]), when, when)); err != nil {
			t.Fatal(err)
		}
		used := snapshot(t, s, repo)
		awaitVerdicts(t, s)
		for name, snap := range map[string]*Snapshot{"the one in use": used, "a later one": snapshot(t, s, repo)} {
			for _, e := range entries[:100] {
				_, err := snap.Has(e.id)
				if flipped != errors.Is(err, ErrCorrupt) || !flipped && err != nil {
					t.Fatalf("round %d, %s: %v", round, name, err)
				}
			}
			if _, err := snap.Prefix(entries[0].id.String()[:8], 10); flipped != errors.Is(err, ErrCorrupt) {
				t.Errorf("round %d, %s: an abbreviation gives %v", round, name, err)
			}
		}
	}
	if n := len(s.checks.verdicts); n != 1 {
		t.Errorf("%d verdicts on one file", n)
	}
}

// TestStoreEndsItsComparisons closes one that has just begun.
func TestStoreEndsItsComparisons(t *testing.T) {
	repo := gittest.New(t)
	newCrafted(enoughEntries()...).write(t, repo)
	s, err := New(filepath.Dir(repo.Dir), Options{})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := openSnapshot(s, filepath.Base(repo.Dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(snap.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if s.checks.running || len(s.checks.waiting) > 0 {
		t.Error("it goes on after the store was closed")
	}
	s.checks.add(indexCheck{})
	if s.checks.running {
		t.Error("it begins after the store was closed")
	}
}
