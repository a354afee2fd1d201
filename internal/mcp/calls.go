package mcp

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrCancelled ends the context of a request that its client cancelled.
var ErrCancelled = errors.New("the client cancelled the request")

// calls are the requests in flight that notifications/cancelled can end. A client may use an id
// twice at the same time; a cancellation then cancels both.
type calls struct {
	mu      sync.Mutex
	running map[callKey][]*context.CancelCauseFunc
}

// callKey identifies a request: ids are unique within a session.
type callKey struct{ session, id string }

// Begin registers a request that came over HTTP, so that its client can cancel it on this server;
// end has to be called. A cancelled context has the cause [ErrCancelled]. Requests of 2026-07-28
// have no session: closing the connection cancels them.
func (s *Server) Begin(ctx context.Context, r *Request) (_ context.Context, end func()) {
	if r.Session == "" || !r.IsRequest() {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	key := callKey{r.Session, string(r.ID)}
	s.calls.add(key, &cancel)
	return ctx, func() {
		s.calls.remove(key, &cancel)
		cancel(nil)
	}
}

// Notified takes a notification or a reply that came over HTTP. It ignores all but cancellations:
// this server sends its clients no requests.
func (s *Server) Notified(r *Request) {
	if r.Method != MethodCancelled || r.Session == "" {
		return
	}
	if id, ok := r.Params.cancelledID(); ok {
		s.calls.cancel(callKey{r.Session, id})
	}
}

// cancelledID returns the id of the request that a notifications/cancelled is about.
func (p Params) cancelledID() (id string, ok bool) {
	canonical, ok := canonicalID(p.members[paramCancelled])
	return string(canonical), ok
}

func (c *calls) add(key callKey, cancel *context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[key] = append(c.running[key], cancel)
}

func (c *calls) remove(key callKey, cancel *context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := slices.DeleteFunc(c.running[key], func(other *context.CancelCauseFunc) bool { return other == cancel })
	if c.running[key] = left; len(left) == 0 {
		delete(c.running, key)
	}
}

func (c *calls) cancel(key callKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.running[key] {
		(*cancel)(ErrCancelled)
	}
}
