// Package retry counts failures, so that one place decides how long a failure lasts.
//
// An operation is what a caller waits for: a request, a download, a run of a sync. It has one count
// of failures in a row, shared by all layers that take part in it, and each of its attempts is made
// once: a failure within an attempt is not retried there, but returned to the layer that makes the
// attempts. So a server that always fails gets one request more than there are retries, and never a
// product of them.
//
// These operations are retried:
//
//   - A message of client.Client (Read, Connect, a page of List): Options.Retries times.
//   - A client.Download: Options.Retries times in a row, from the first request to the last byte;
//     each received byte restarts the count.
//   - A client.Client.Watch: for ever, and within checkout.Follow until Options.Retries looks in a
//     row have failed.
//   - A run of checkout.Sync: its messages and downloads share one count of Options.Retries. An
//     archive that arrived damaged, or cannot be resumed, is restarted twice within it.
//   - A checkout.Follow: for ever, with pauses between its runs. The events gone and back report
//     it. It shares its count with its Watch; each run has its own.
package retry

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// firstPause is short: usually a single connection breaks, and the next one holds.
	firstPause = 100 * time.Millisecond
	// MostPause is the longest time for which a client does not notice that a server is back.
	MostPause = 30 * time.Second
	// doublings are enough to reach any pause that callers ask for.
	doublings = 12
)

// Failures counts the failures of one operation in a row. Several goroutines may use it.
type Failures struct {
	mu    sync.Mutex
	count int
}

// Count returns the number of failures since the last success.
func (f *Failures) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// Forget restarts the count, after a success.
func (f *Failures) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count = 0
}

// Wait counts a failure and pauses before the next attempt: twice as long each time, from least, or
// 100 ms if that is more, to most. A random part shortens a pause by up to half, so that many
// clients of a failed server do not return at once. The error is that of ctx.
func (f *Failures) Wait(ctx context.Context, least, most time.Duration) error {
	f.mu.Lock()
	pause := firstPause << min(f.count, doublings)
	f.count++
	f.mu.Unlock()
	pause = min(max(pause, least), most)
	return Sleep(ctx, pause-rand.N(pause/2)) //nolint:gosec // predictable pauses are harmless
}

// Sleep pauses for a time, or until ctx ends, and then returns its error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

type key struct{}

// place is the position of a context within an operation.
type place struct {
	failures  *Failures
	inAttempt bool
}

// Begin returns a context for an operation with a count of its own.
func Begin(ctx context.Context) (context.Context, *Failures) {
	failures := new(Failures)
	return context.WithValue(ctx, key{}, place{failures, false}), failures
}

// Join returns the count of the operation that a context belongs to, or a new one. outer reports
// whether there is such an operation.
func Join(ctx context.Context) (failures *Failures, outer bool) {
	if p, ok := ctx.Value(key{}).(place); ok {
		return p.failures, true
	}
	return new(Failures), false
}

// Attempt returns a context for an attempt: failures in it are not retried in it.
func Attempt(ctx context.Context) context.Context {
	failures, _ := Join(ctx)
	return context.WithValue(ctx, key{}, place{failures, true})
}

// InAttempt reports whether the caller makes an attempt, and so decides about another one.
func InAttempt(ctx context.Context) bool {
	p, _ := ctx.Value(key{}).(place)
	return p.inAttempt
}
