package watch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/repos"
)

// Change is what a client is told of.
type Change struct {
	// URI of a resource as the client wrote it; "" for the list of repositories.
	URI string
}

// Send queues what a client is to be told without waiting; when it fails it is
// tried again later.
type Send func(Change) error

// client is a session, or a stream, which is a session that nobody comes back to. It is
// guarded by Subscriptions.mu, all but its key.
type client struct {
	key string // in Subscriptions.clients
	// principal is whose rights count, and listed what they saw of the list of
	// repositories when the rules were last considered.
	principal access.Principal
	listed    repos.View
	// send is nil while nobody listens.
	send Send
	// lists says whether the client wants to know of changes of the list.
	lists bool

	subscriptions map[string]*subscription // by URI
	pending       []*subscription          // in the order in which they changed
	listChanged   bool                     // the client is to be told
	gone          time.Time                // since when nobody listens for a session; zero: somebody does
	ended         bool
}

// Open makes a session of one stream, which watches resources, and the list of
// repositories if lists is set. Refused are those of the URIs that cannot be watched, and
// why. Connect has it told of changes, those since Open included; Forget has to follow.
func (s *Subscriptions) Open(
	ctx context.Context, address string, uris []string, lists bool,
) (session string, refused map[string]error) {
	s.mu.Lock()
	s.streams++
	c := s.newClient(ctx, fmt.Sprintf("listen %d", s.streams))
	c.lists = lists
	s.mu.Unlock()
	return c.key, s.add(ctx, func() *client { return c }, address, uris)
}

// newClient makes a client for the principal of a context. The caller holds s.mu.
func (s *Subscriptions) newClient(ctx context.Context, key string) *client {
	c := &client{
		key: key, principal: access.PrincipalOf(ctx), listed: s.catalogue.For(ctx),
		subscriptions: make(map[string]*subscription),
	}
	s.clients[key] = c
	return c
}

// ofSession finds the client of a session, or makes it. The rights of the principal
// are those that he came with last. The caller holds s.mu, and has the client
// released when it adds nothing to it.
func (s *Subscriptions) ofSession(ctx context.Context, session string) *client {
	c := s.clients[session]
	if c == nil {
		c = s.newClient(ctx, session)
		c.lists, c.gone = true, time.Now()
	}
	c.principal = access.PrincipalOf(ctx)
	return c
}

// Connect has a session told of changes from now on, those that it missed
// included. A session is that of one principal: who names it puts his id into the
// name.
func (s *Subscriptions) Connect(ctx context.Context, session string, send Send) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.ofSession(ctx, session)
	c.send, c.gone = send, time.Time{}
}

// Disconnect says that nobody listens for a session any more. What it watches
// stays for a while: who connects again gets what was missed.
func (s *Subscriptions) Disconnect(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clients[session]; c != nil {
		c.send, c.gone = nil, time.Now()
		s.release(c)
	}
}

// Forget ends all that a session watches.
func (s *Subscriptions) Forget(session string) {
	s.mu.Lock()
	var unwatched []string
	if c := s.clients[session]; c != nil {
		unwatched = s.forgetClient(c)
	}
	s.mu.Unlock()
	s.unwatch(unwatched...)
}

// release forgets a session that has neither a stream nor a subscription: its
// id is signed, and says all that is needed when it comes back. The caller holds
// s.mu.
func (s *Subscriptions) release(c *client) {
	if len(c.subscriptions) == 0 && !c.gone.IsZero() {
		s.removeClient(c)
	}
}

func (s *Subscriptions) removeClient(c *client) {
	c.ended = true
	delete(s.clients, c.key)
	delete(s.waiting, c)
}

// forgetClient ends all that a client watches and returns the repositories for unwatch.
// The caller holds s.mu.
func (s *Subscriptions) forgetClient(c *client) (unwatched []string) {
	for _, sub := range c.subscriptions {
		unwatched = append(unwatched, s.end(sub))
	}
	s.removeClient(c)
	return unwatched
}

// evict makes room for another subscription by forgetting the session that has
// been without a stream for longest, and returns what is for unwatch. Such a session
// learns nothing of it: when its client comes back, it subscribes again, as after
// the grace. The caller holds s.mu.
func (s *Subscriptions) evict(except *client) (unwatched []string) {
	var oldest *client
	for _, c := range s.clients {
		if c != except && !c.gone.IsZero() && (oldest == nil || c.gone.Before(oldest.gone)) {
			oldest = c
		}
	}
	if oldest == nil {
		return nil
	}
	return s.forgetClient(oldest)
}

// sweep forgets sessions that did not come back.
func (s *Subscriptions) sweep(now time.Time) {
	s.mu.Lock()
	var unwatched []string
	for _, c := range s.clients {
		if !c.gone.IsZero() && now.Sub(c.gone) > sessionGrace {
			unwatched = append(unwatched, s.forgetClient(c)...)
		}
	}
	s.mu.Unlock()
	s.unwatch(unwatched...)
}

// updated has a client told of a resource. The caller holds s.mu.
func (s *Subscriptions) updated(sub *subscription) {
	if !sub.pending {
		sub.pending = true
		sub.client.pending = append(sub.client.pending, sub)
	}
	s.waiting[sub.client] = true
}

// announce has a client told that the list changed. The caller holds s.mu.
func (s *Subscriptions) announce(c *client) {
	if c.lists {
		c.listChanged = true
		s.waiting[c] = true
	}
}

// view is what a principal may know of as the rules are now.
func (s *Subscriptions) view(p access.Principal) repos.View {
	return s.catalogue.For(access.WithPrincipal(context.Background(), p))
}

// deliver tells waiting clients what they do not know. What a client's queue
// has no room for stays, once per resource, and is tried again; nobody waits.
func (s *Subscriptions) deliver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.waiting {
		if c.send != nil && c.flush(s.view(c.principal)) {
			delete(s.waiting, c)
		}
	}
}

// flush sends what is pending, and reports whether that was all. Of a repository that
// the client may no longer know of nothing is sent, not even what came before that.
func (c *client) flush(view repos.View) bool {
	if c.listChanged {
		if c.send(Change{}) != nil {
			return false
		}
		c.listChanged = false
	}
	for i, sub := range c.pending {
		if sub.repository != "" && !view.Sees(sub.repository) {
			sub.pending = false
			continue
		}
		if c.send(Change{sub.uri}) != nil {
			c.pending = slices.Delete(c.pending, 0, i)
			return false
		}
		sub.pending = false
	}
	c.pending = nil
	return true
}
