package cache

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// remoteTimeout is what a request to object storage or Redis has: more than
	// either takes, and less than a client would notice.
	remoteTimeout = 250 * time.Millisecond
	// tripAfter so many failures in a row nothing is asked for breakerPause.
	tripAfter    = 5
	breakerPause = 10 * time.Second
)

func newBreaker[T any](name string) *gobreaker.CircuitBreaker[T] {
	return gobreaker.NewCircuitBreaker[T](gobreaker.Settings{
		Name: name, Timeout: breakerPause,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= tripAfter },
		// A client that goes away says nothing about the other side.
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
	})
}
