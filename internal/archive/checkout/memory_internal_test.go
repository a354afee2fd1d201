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

// What a checkout holds is bounded by its number of objects, whatever these are.
func TestObjectsTakeWhatIsReserved(t *testing.T) {
	const objects = 130_000
	for _, folders := range []int{10, 2} { // of so many entries, one is a folder
		gittest.HeapFits(t, objects*ObjectMemory, func() any {
			space := spill.NewSpace(t.TempDir(), 1<<30)
			pack, index, seen := NewPack(space), NewIndex(space, idOf(0)), make(Seen)
			t.Cleanup(pack.Close)
			t.Cleanup(index.Close)
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
			if err := pack.Seal(); err != nil {
				t.Fatal(err)
			}
			if _, err := pack.writeReverse(io.Discard); err != nil {
				t.Fatal(err)
			}
			if index.Size() == 0 {
				t.Error("the index is empty")
			}
			return []any{pack, index, seen}
		})
	}
}
