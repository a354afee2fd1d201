package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestKnownTakesWhatItMay remembers more contents than there is room for.
func TestKnownTakesWhatItMay(t *testing.T) {
	gittest.HeapFits(t, maxKnownBytes, func() any {
		known := newKnown()
		for n := range 3 * maxKnownBytes / factsCost {
			sum := sha256.Sum256([]byte(fmt.Sprint(n)))
			known.put(hex.EncodeToString(sum[:16]), facts{size: int64(n), kind: kindOf(sum[:])})
			known.put(hex.EncodeToString(sum[:16]), facts{size: int64(n), digest: sum[:]})
		}
		return known
	})
}

func TestKnownIsBounded(t *testing.T) {
	t.Parallel()
	k := newKnown()
	for i := range 3 * maxKnownBytes / factsCost {
		k.put(strconv.Itoa(i), facts{size: int64(i)})
		if _, ok := k.get("0"); !ok {
			t.Fatal("what is used all the time was forgotten")
		}
	}
	if n, _ := k.facts.Size(); n != maxKnownBytes/factsCost {
		t.Errorf("%d are remembered", n)
	}
	if _, ok := k.get("1"); ok {
		t.Error("the oldest is still there")
	}
}
