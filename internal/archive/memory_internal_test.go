package archive

import (
	"fmt"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestValidatorsTakeWhatTheyMay remembers more archives than there is room for.
func TestValidatorsTakeWhatTheyMay(t *testing.T) {
	engine, err := NewEngine(EngineOptions{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	gittest.HeapFits(t, maxValidatorBytes, func() any {
		for n := range 3 * maxValidatorBytes / validatorCost {
			engine.validators.Put(hashed([]any{fmt.Sprint(n)}), n%2 == 0, validatorCost)
		}
		return engine
	})
}
