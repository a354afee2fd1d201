package checkout

import (
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// idOf is a different id for each number.
func idOf(n int) (id git.ID) {
	binary.BigEndian.PutUint32(id[:], uint32(n)*2654435761)
	binary.BigEndian.PutUint32(id[4:], uint32(n))
	return id
}

// weigher measures the heap at the first write.
type weigher struct{ heap int64 }

func (w *weigher) Write(p []byte) (int, error) {
	if w.heap == 0 {
		w.heap = gittest.LiveHeap()
	}
	return len(p), nil
}

// What a checkout holds is bounded by its number of objects, whatever these are.
func TestObjectsTakeWhatIsReserved(t *testing.T) {
	const objects = 130_000
	for _, folders := range []int{10, 2} { // of so many entries, one is a folder
		before := gittest.LiveHeap()
		space := spill.NewSpace(t.TempDir(), 1<<30)
		pack, index, seen := NewPack(space), NewIndex(space, idOf(0)), make(Seen)
		path := ""
		for i := range objects {
			id := idOf(i)
			seen.add(id)
			pack.Add(Object{ID: id, CRC: uint32(i), Length: 100})
			mode := git.ModeRegular
			if path += "x"; i%folders == 0 {
				mode, path = git.ModeDir, fmt.Sprintf("folder-with-a-name-%08d/", i)
			}
			if err := index.Add([]byte(path), mode, id, 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		most := gittest.LiveHeap()
		if len(seen) != objects {
			t.Fatalf("%d objects were seen", len(seen))
		}
		seen = nil
		for _, write := range []func(io.Writer) (int64, error){pack.WriteIndex, pack.WriteReverse, index.WriteTo} {
			var at weigher
			if _, err := write(&at); err != nil {
				t.Fatal(err)
			}
			most = max(most, at.heap)
		}
		if taken, bound := most-before, int64(objects*ObjectMemory); taken > bound || taken < bound/2 {
			t.Errorf("with a folder in %d entries, %d bytes of the heap are taken for each object, with a bound of %d",
				folders, taken/objects, ObjectMemory)
		}
		pack.Close()
		index.Close()
	}
}
