package history

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// idOf is an id like no other.
func idOf(n int) (id git.ID) {
	binary.BigEndian.PutUint64(id[:], uint64(n)*0x9e3779b97f4a7c15)
	return id
}

// TestFactsTakeWhatTheyMay remembers several times the bound, with numbers around
// those at which maps grow.
func TestFactsTakeWhatTheyMay(t *testing.T) {
	gittest.Long(t)
	for name, c := range map[string]struct {
		cost int64
		put  func(f *Cache, n int)
	}{
		"commits": {commitCost, func(f *Cache, n int) {
			a := f.ancestry(fmt.Sprint(n / 5000))
			a.remember(a.number(idOf(n)), git.CommitLinks{Parents: []git.ID{idOf(n + 1)}})
		}},
		"merges": {commitCost, func(f *Cache, n int) {
			a := f.ancestry(fmt.Sprint(n / 5000))
			parents := make([]git.ID, 1+n%8)
			for i := range parents {
				parents[i] = idOf(n + i)
			}
			a.remember(a.number(idOf(n)), git.CommitLinks{Parents: parents})
		}},
		"paths": {foundCost, func(f *Cache, n int) {
			f.trail(f.ancestry("repository"), fmt.Sprint(n/5000)).remember(uint32(n%5000), entry{id: idOf(n)})
		}},
		"folders": {folderCost, func(f *Cache, n int) {
			f.trail(f.ancestry("repository"), fmt.Sprint(n/5000)).rememberFolder(folderKey{1, idOf(n)}, entry{})
		}},
		"paths as texts": {cacheCost, func(f *Cache, n int) {
			f.trail(f.ancestry("repository"), fmt.Sprint(strings.Repeat("long/", 100), n)).rememberFolder(folderKey{},
				entry{})
		}},
	} {
		for _, bound := range []int64{3 << 20, 4 << 20, 5 << 20, 6 << 20}[:gittest.Volume(2, 4)] {
			t.Run(fmt.Sprintf("%s in %d MiB", name, bound>>20), func(t *testing.T) {
				gittest.HeapFits(t, bound, func() any {
					cache := NewCache(bound)
					for n := range int(3 * bound / c.cost) {
						c.put(cache, n)
					}
					return cache
				})
			})
		}
	}
}
