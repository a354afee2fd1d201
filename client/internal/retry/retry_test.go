package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/repomcp/repomcp/client/internal/retry"
)

func TestPausesGrowUntilASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, failures := retry.Begin(t.Context())
		pause := func(least, most time.Duration) time.Duration {
			before := time.Now()
			if err := failures.Wait(t.Context(), least, most); err != nil {
				t.Fatal(err)
			}
			return time.Since(before)
		}
		within := func(what string, got, longest time.Duration) {
			t.Helper()
			if got > longest || got < longest/2 {
				t.Errorf("the pause %s is %v, want %v to %v", what, got, longest/2, longest)
			}
		}
		for i := range 20 {
			within("of a row", pause(0, retry.MostPause), min(100*time.Millisecond<<i, retry.MostPause))
		}
		if failures.Count() != 20 {
			t.Errorf("%d failures are counted, want 20", failures.Count())
		}
		within("of another limit", pause(0, 5*time.Minute), 5*time.Minute)
		failures.Forget()
		within("after a success", pause(0, retry.MostPause), 100*time.Millisecond)
		within("that a server asks for", pause(7*time.Second, retry.MostPause), 7*time.Second)
		within("that a server asks too much for", pause(time.Hour, retry.MostPause), retry.MostPause)
	})
}

func TestAPauseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		failures, _ := retry.Join(ctx)
		if err := failures.Wait(ctx, time.Minute, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the pause ended with %v, want that of its context", err)
		}
	})
}

func TestLayersShareACount(t *testing.T) {
	t.Parallel()
	if _, outer := retry.Join(t.Context()); outer || retry.InAttempt(t.Context()) {
		t.Error("a plain context belongs to an operation")
	}
	ctx, failures := retry.Begin(t.Context())
	joined, outer := retry.Join(ctx)
	if joined != failures || !outer || retry.InAttempt(ctx) {
		t.Error("the context of an operation does not lead to its count, or is that of an attempt")
	}
	attempt := retry.Attempt(ctx)
	if joined, _ := retry.Join(attempt); joined != failures || !retry.InAttempt(attempt) {
		t.Error("the context of an attempt does not lead to the count of its operation")
	}
	inner, other := retry.Begin(attempt)
	if other == failures || retry.InAttempt(inner) {
		t.Error("an operation of its own has the count of another one, or is an attempt of it")
	}
}
