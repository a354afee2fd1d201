package links

import (
	"testing"

	"go.uber.org/goleak"
)

// A pool of go-redis whose server is gone looks for it once a second, and ends
// that after the next look rather than when it is closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}
