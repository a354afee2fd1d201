package ticks_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/repomcp/repomcp/internal/base/ticks"
)

func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		times := 0
		for range ticks.Every(ctx, time.Second) {
			if times++; time.Since(began) != time.Duration(times)*time.Second {
				t.Errorf("tick %d after %s", times, time.Since(began))
			}
		}
		if times != 3 || time.Since(began) != 3500*time.Millisecond {
			t.Errorf("%d ticks within %s", times, time.Since(began))
		}
		for range ticks.Every(t.Context(), time.Second) {
			break // it must not be asked again
		}
	})
}
