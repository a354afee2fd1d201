package gittest

import (
	"runtime"
	"testing"
)

// HeapFits fails the test unless what fill returns, and all that can be reached
// from it, takes about as much of the heap as a cache of so many bytes may: half of
// them, or it was not full, to one and a half times. Nothing else may run meanwhile,
// so that the test must not be parallel.
func HeapFits(t testing.TB, bound int64, fill func() any) {
	t.Helper()
	before := LiveHeap()
	kept := fill()
	taken := LiveHeap() - before
	runtime.KeepAlive(kept)
	if taken < bound/2 || taken > bound+bound/2 {
		t.Errorf("%d KiB of the heap are taken, with a bound of %d KiB", taken>>10, bound>>10)
	}
}

// LiveHeap is how many bytes of the heap can be reached. What pools hold goes
// with the second collection.
func LiveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
