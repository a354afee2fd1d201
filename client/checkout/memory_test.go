package checkout

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/gittest"
)

// mostHeap is a part of what the package promises: besides, archives are unpacked.
// Sorted at once, the 75,000 records of the test take 32 MiB.
const mostHeap = 24 << 20

// peakHeap is the most that was in use while something was done.
func peakHeap(do func()) uint64 {
	stop, peak := make(chan bool), make(chan uint64)
	go func() {
		for most := uint64(0); ; {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	do()
	close(stop)
	return <-peak
}

// TestMemoryDoesNotGrowWithTheState sorts a long journal and merges it into a long
// state.
func TestMemoryDoesNotGrowWithTheState(t *testing.T) {
	count := gittest.Volume(75_000, 1_000_000)
	o, err := Options{Repository: "r", Dir: t.TempDir()}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	f := &folder{options: o, state: filepath.Join(o.Dir, stateFolder)}
	if err := os.Mkdir(f.path(""), 0o755); err != nil {
		t.Fatal(err)
	}
	j, err := createJournal(f.path(journalName))
	if err != nil {
		t.Fatal(err)
	}
	path := func(i int) string { return fmt.Sprintf("a folder/of some depth/%d/file %07d.go", i/1000, i) }
	for i := range count { // not quite in order
		at := i ^ 37
		if err := j.add(record{path: path(at), kind: plainFile, flag: brought, id: unpack.ID{1}, size: int64(at),
			mtime: 1}); err != nil {
			t.Fatal(err)
		}
	}
	peak := peakHeap(func() {
		for range 2 { // into none, and into itself
			if err := f.replaceState(f.headerOf("c"), newSorted(j.file), takeChange); err != nil {
				t.Fatal(err)
			}
		}
	})
	if peak > mostHeap {
		t.Errorf("%d MiB of the heap were in use", peak>>20)
	} else {
		t.Logf("%d MiB", peak>>20)
	}
	seen, last := 0, ""
	if err := f.each(func(r record) error {
		if r.path <= last {
			t.Fatalf("%q comes after %q", r.path, last)
		}
		seen, last = seen+1, r.path
		return nil
	}); err != nil || seen < count-64 || f.header.Commit != "c" {
		t.Errorf("%d records, %v", seen, err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(f.path("*")); len(left) != 2 {
		t.Errorf("%q are left", left)
	}
}
