// Package retry counts what fails, so that one place decides how long a failure lasts.
//
// An operation is what a caller waits for: a request, a download, a run of a sync. It has
// one count of failures in a row, however many layers take part in it, and each attempt of
// it is made once: what fails within an attempt is not tried again there, but returned to
// the layer that makes the attempts. So a server that always fails gets one request more
// than there are retries, and never a product of them.
//
// These operations are tried again:
//
//   - A message of client.Client (Read, Connect, a page of List): Options.Retries times.
//   - A client.Download: Options.Retries times in a row, from the first request to the last
//     byte; each byte that comes begins the count anew.
//   - A client.Client.Watch: for ever, and within checkout.Follow until Options.Retries
//     looks in a row have failed.
//   - A run of checkout.Sync: its messages and downloads share one count of Options.Retries.
//     An archive that came damaged, or cannot be resumed, is begun anew twice within it.
//   - A checkout.Follow: for ever, with pauses between its runs. The events gone and back
//     say when. It shares its count with the Watch that it follows; each run has its own.
package retry

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// firstPause is short: most connections break alone, and the next one holds.
	firstPause = 100 * time.Millisecond
	// MostPause is how long the return of a server goes unnoticed at worst.
	MostPause = 30 * time.Second
	// doublings are enough to reach any pause that callers ask for.
	doublings = 12
)

// Failures counts those of one operation in a row. Several goroutines may use it.
type Failures struct {
	mu    sync.Mutex
	count int
}

// Count returns how many there were since the last success.
func (f *Failures) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// Forget begins the count anew, after a success.
func (f *Failures) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count = 0
}

// Wait counts a failure and pauses before the next attempt: twice as long each time, from
// least, or 100 ms where that is more, to most. By chance a pause is up to half shorter, so
// that many clients that lost the same server do not come back at once. The error is that
// of ctx.
func (f *Failures) Wait(ctx context.Context, least, most time.Duration) error {
	f.mu.Lock()
	pause := firstPause << min(f.count, doublings)
	f.count++
	f.mu.Unlock()
	pause = min(max(pause, least), most)
	return Sleep(ctx, pause-rand.N(pause/2)) //nolint:gosec // guessing it gains nothing
}

// Sleep pauses for a time, or until ctx ends, whose error it returns then.
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

// place says where in an operation a context is.
type place struct {
	failures  *Failures
	inAttempt bool
}

// Begin returns a context for an operation with a count of its own.
func Begin(ctx context.Context) (context.Context, *Failures) {
	failures := new(Failures)
	return context.WithValue(ctx, key{}, place{failures, false}), failures
}

// Join returns the count of the operation that a context belongs to, or a new one. outer
// reports whether there is such an operation.
func Join(ctx context.Context) (failures *Failures, outer bool) {
	if p, ok := ctx.Value(key{}).(place); ok {
		return p.failures, true
	}
	return new(Failures), false
}

// Attempt returns a context for an attempt: what fails in it is not tried again in it.
func Attempt(ctx context.Context) context.Context {
	failures, _ := Join(ctx)
	return context.WithValue(ctx, key{}, place{failures, true})
}

// InAttempt reports whether the caller makes an attempt, and decides whether there is
// another one.
func InAttempt(ctx context.Context) bool {
	p, _ := ctx.Value(key{}).(place)
	return p.inAttempt
}
