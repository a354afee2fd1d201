// Package ticks repeats an action at intervals.
package ticks

import (
	"context"
	"time"
)

// Every yields after each interval until ctx ends. A body that takes longer than an interval skips
// the missed ones.
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
