package resources

import (
	"context"
	"fmt"

	"github.com/repomcp/repomcp/internal/access/limits"
)

const (
	// fileMemory is what sending a file takes: its deltas and what is copied at a time.
	fileMemory = 512 << 10
	// compareMemory is what is kept of two trees that are compared.
	compareMemory = 4 << 20
	// encodedTimes is how often a result is held while it is encoded.
	encodedTimes = 6
)

// Reserve takes what sending the content needs, until the content is closed or its
// build has ended. part says that a part of it is asked for, for which all that is
// before has to be generated. Nothing is reserved for what is kept, nor for lists. The
// error is a [*limits.Refusal]: nothing was done.
func (c *Content) Reserve(ctx context.Context, part bool) error {
	if c.grant != nil || !c.Digests() || c.fetched() {
		return nil
	}
	reserve := c.limits.Stream
	if c.cached != nil && !part && c.cached.cache.Has(c.cached.key) {
		return nil
	}
	if part && c.prove == nil {
		if err := c.Find(ctx); err != nil || c.fetched() {
			return err
		}
		reserve = c.limits.Part
	}
	grant, err := reserve(ctx, c.Repository, c.memory)
	c.grant = grant
	return err
}

// ReserveRead takes what a result with the whole content needs, until the request has
// its reply.
func (c *Content) ReserveRead(ctx context.Context, limit int64) error {
	if !c.Digests() || c.Size > limit {
		return nil
	}
	size := limit
	if c.Size != UnknownSize {
		size = c.Size
	}
	grant, err := c.limits.Call(ctx, c.Repository, c.memory+encodedTimes*size)
	limits.Keep(ctx, grant)
	return err
}

// lend gives what was reserved to the build. The function that it returns is to be
// called when that has ended.
func (c *Content) lend() (ended func()) {
	grant := c.grant
	c.cached.lent.Store(grant)
	c.grant = nil
	return grant.Release
}

// refusalTexts are what to do about a refusal.
var refusalTexts = map[limits.Reason]string{
	limits.Client: "Your requests use all that one client may have of this server. Wait for their end, and try " +
		"again in %d seconds.",
	limits.Repository: "Too many requests are about this repository at the moment. Try again in %d seconds.",
	limits.Server:     "The server is busy. Try again in %d seconds.",
}

// Refused is a refusal as the client sees it.
func Refused(refusal *limits.Refusal) *Error {
	seconds := int(refusal.RetryAfter.Seconds())
	failure := &Error{Reason: ReasonBusy, Cause: refusal, Message: fmt.Sprintf(refusalTexts[refusal.Reason], seconds)}
	return failure.With("limit", refusal.Reason).With("retryAfterSeconds", seconds)
}
