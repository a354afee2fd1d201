package repos

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestKnownParentsTakeWhatTheyMay remembers as many commits as there is room for, and
// begins anew often.
func TestKnownParentsTakeWhatTheyMay(t *testing.T) {
	for _, parents := range []int{0, 1, 2, 9} {
		for _, bound := range []int64{3 << 20, 4 << 20, 5 << 20, 6 << 20} {
			t.Run(fmt.Sprintf("%d parents in %d MiB", parents, bound>>20), func(t *testing.T) {
				gittest.HeapFits(t, bound, func() any {
					known := newKnownParents(bound)
					full := int(bound) / (graphCost + parentCost*parents)
					for n := range 5 * full {
						var id ID
						binary.BigEndian.PutUint64(id[:], uint64(n)*0x9e3779b97f4a7c15)
						known.put(id, make([]ID, parents))
						known.put(id, nil) // is known
					}
					if got, ok := known.get(ID{}); ok {
						t.Errorf("the first is still there: %v", got)
					}
					return known
				})
			})
		}
	}
}
