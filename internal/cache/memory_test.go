package cache

import (
	"fmt"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestIndexTakesWhatItMay finds files that were there at the start, and reads each
// of them.
func TestIndexTakesWhatItMay(t *testing.T) {
	gittest.Long(t)
	const number = 1000
	dir := t.TempDir()
	s := &source{bytes: content(1, 10)}
	key := func(i int) Key { return KeyOf("small", fmt.Sprint(i)) }
	earlier := testDisk(t, dir, 1<<30)
	filling := testCache(t, Options{Disk: earlier})
	for i := range number {
		mustRead(t, filling, key(i), s)
	}
	idle(filling)
	if err := earlier.Close(); err != nil {
		t.Fatal(err)
	}
	again := testCache(t, Options{Disk: testDisk(t, t.TempDir(), 1<<30)}) // what a first use makes is not the index
	mustRead(t, again, key(0), s)
	const entryBytes = 350 // of the index, for a file
	gittest.HeapFits(t, number*entryBytes, func() any {
		c := testCache(t, Options{Disk: testDisk(t, dir, 1<<30)})
		for i := range number {
			mustRead(t, c, key(i), s)
		}
		if c.Stats().Entries != number || s.runs.Load() != number+1 {
			t.Errorf("%+v, %d builds", c.Stats(), s.runs.Load())
		}
		return c
	})
}
