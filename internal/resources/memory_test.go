package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestExtentsTakeWhatTheyMay remembers more archives than there is room for.
func TestExtentsTakeWhatTheyMay(t *testing.T) {
	gittest.HeapFits(t, maxExtentBytes, func() any {
		known := newExtents()
		for n := range 3 * maxExtentBytes / extentCost {
			sum := sha256.Sum256([]byte(fmt.Sprint(n)))
			known.put(hex.EncodeToString(sum[:16]), extent{size: int64(n)})
			known.put(hex.EncodeToString(sum[:16]), extent{size: int64(n), digest: sum[:]})
		}
		return known
	})
}
