// Package ticks repeats what is done every so often.
package ticks

import (
	"context"
	"time"
)

// Every yields each time that an interval has passed, for the first time after one, until
// ctx ends. Who takes longer than an interval misses what has passed meanwhile.
func Every(ctx context.Context, interval time.Duration) func(yield func() bool) {
	return func(yield func() bool) {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if !yield() {
				return
			}
		}
	}
}
