package index

import (
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/repomcp/repomcp/internal/git"
)

// Folders of any size know the documents below them, whether those are a list or a bitmap.
func TestFoldersHaveWhatIsBelow(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	n := newNumbering(1 << 30)
	lists, bitmaps := 0, 0
	var build func(depth int) (*Folder, map[number]bool)
	build = func(depth int) (*Folder, map[number]bool) {
		var sum Sum
		below := make(map[number]bool)
		for range r.IntN(fewNumbers) {
			at := r.Uint32N(1 << 18)
			sum.add(at, kind(0))
			below[at] = true
		}
		for range r.IntN(3) * depth {
			f, more := build(depth - 1)
			sum.AddFolder(f)
			for at := range more {
				below[at] = true
			}
		}
		return n.remember(git.ID{1}, &sum), below
	}
	for range 200 {
		f, below := build(2)
		if f.docs == nil {
			lists++
		} else {
			bitmaps++
		}
		for at := range below {
			if !f.intersects(roaring.BitmapOf(at)) || f.end <= at {
				t.Fatalf("%d is not in %+v", at, f)
			}
		}
		others := roaring.New()
		others.AddRange(0, 1<<18)
		for at := range below {
			others.Remove(at)
		}
		if f.intersects(others) {
			t.Fatalf("%+v has more than %v", f, below)
		}
	}
	if lists < 20 || bitmaps < 20 {
		t.Errorf("there were %d lists and %d bitmaps", lists, bitmaps)
	}
	if f := n.remember(git.ID{2}, new(Sum)); f.intersects(roaring.BitmapOf(0)) {
		t.Error("an empty folder has a document")
	}
}
