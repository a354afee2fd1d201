package cache

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// remoteTimeout bounds a request to object storage or Redis: more than either usually takes,
	// and less than a client notices.
	remoteTimeout = 250 * time.Millisecond
	// After tripAfter consecutive failures, requests pause for breakerPause.
	tripAfter    = 5
	breakerPause = 10 * time.Second
)

func newBreaker[T any](name string) *gobreaker.CircuitBreaker[T] {
	return gobreaker.NewCircuitBreaker[T](gobreaker.Settings{
		Name: name, Timeout: breakerPause,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= tripAfter },
		// A client that disconnects is no failure of the other side.
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
	})
}
