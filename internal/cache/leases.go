package cache

import "context"

// Leases let one replica at a time build a key. They only save work: a build
// is right without one.
type Leases interface {
	// Take returns a function that ends the lease, or nil when another replica
	// has it. The lease holds until then, or the process ends.
	Take(ctx context.Context, key Key) (release func(), err error)
}

// NoLeases are for a replica that is alone.
type NoLeases struct{}

// Take always succeeds.
func (NoLeases) Take(context.Context, Key) (func(), error) { return func() {}, nil }
