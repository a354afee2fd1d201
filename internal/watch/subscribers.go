package watch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
)

// Change is a notification to a client.
type Change struct {
	// URI of a resource as the client wrote it; "" for the list of repositories.
	URI string
	// Number is higher than those of the session's earlier notifications.
	Number int64
}

// Stream takes the notifications of a session.
type Stream struct {
	// Send queues a notification without blocking. A failed notification is sent again later.
	Send func(Change) error
	// Replaced ends the stream, because the session has connected another one; nil if it cannot.
	Replaced func()
	// Seen is the number of the last notification that the client received on an earlier stream; 0
	// if that is unknown.
	Seen int64
	// Resumes reports whether the client had an earlier stream, which may have been another server's.
	// Watched are the resources that the session watched then, and Address is that of the client, as in
	// [Subscriptions.Subscribe].
	Resumes bool
	Watched []string
	Address string
}

// client is a session, or a single stream that cannot be resumed. All but its key is guarded by
// Subscriptions.mu.
type client struct {
	key string // in Subscriptions.clients
	// principal defines the client's rights. listed are the repositories that were visible to it
	// when the rules were last considered.
	principal access.Principal
	listed    repos.View
	stream    *Stream // nil while none is connected
	connected bool    // it has had a stream
	number    int64   // of the last change
	begun     int64   // the last number that was sent before the stream, or the last stream, connected
	// list stands for the list of repositories; nil if the client wants no notifications about it.
	list *subscription

	subscriptions map[string]*subscription // by URI
	pending       []*subscription          // in the order of their numbers
	gone          time.Time                // when the session lost its stream; zero: connected
	ended         bool
}

// Open creates a session for one stream, which watches resources, and the list of repositories if
// lists is set. refused maps URIs that cannot be watched to the reason. Connect starts
// notifications, including changes since Open. The caller must call Forget.
func (s *Subscriptions) Open(
	ctx context.Context, address string, uris []string, lists bool,
) (session string, refused map[string]error) {
	s.mu.Lock()
	s.streams++
	c := s.newClient(ctx, fmt.Sprintf("listen %d", s.streams))
	if lists {
		c.list = &subscription{client: c}
	}
	s.mu.Unlock()
	return c.key, s.add(ctx, func() *client { return c }, address, uris)
}

// newClient creates a client for the principal of a context. The caller holds s.mu. Its numbers begin
// with the time, so that they are higher than those of the session before it was forgotten.
func (s *Subscriptions) newClient(ctx context.Context, key string) *client {
	now := time.Now().UnixMicro()
	c := &client{
		key: key, principal: access.PrincipalOf(ctx), listed: s.catalogue.For(ctx), number: now, begun: now,
		subscriptions: make(map[string]*subscription),
	}
	s.clients[key] = c
	return c
}

// ofSession returns or creates the client of a session. Its rights are those of the principal's
// last request. The caller holds s.mu, and releases the client if it adds nothing to it.
func (s *Subscriptions) ofSession(ctx context.Context, session string) *client {
	c := s.clients[session]
	if c == nil {
		c = s.newClient(ctx, session)
		c.list, c.gone = &subscription{client: c}, time.Now()
	}
	c.principal = access.PrincipalOf(ctx)
	return c
}

// Connect starts notifications of a session, including missed ones. A stream that was connected
// before ends: the client may have lost it without the server noticing. What that stream has sent is
// sent again, once, from [Stream.Seen] on. The first stream here that resumes another server's brings its
// resources along, and reports each, and the list: what changed meanwhile is not known. A session belongs
// to one principal: the caller includes the principal's id in the session's name.
func (s *Subscriptions) Connect(ctx context.Context, session string, stream *Stream) {
	if s.connect(ctx, session, stream) && stream.Resumes {
		s.restore(ctx, session, stream)
	}
}

// connect reports whether the stream is the session's first one here.
func (s *Subscriptions) connect(ctx context.Context, session string, stream *Stream) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.ofSession(ctx, session)
	if c.stream == stream {
		return false
	}
	if c.stream != nil && c.stream.Replaced != nil {
		c.stream.Replaced()
	}
	begun := c.number
	if len(c.pending) > 0 {
		begun = c.pending[0].number - 1
	}
	s.repeat(c, stream.Seen)
	first = !c.connected
	c.stream, c.begun, c.gone, c.connected = stream, begun, time.Time{}, true
	return first
}

// restore watches the resources again that a session watched on another server's stream. Those beyond a bound, and
// URIs that cannot be watched, are left out.
func (s *Subscriptions) restore(ctx context.Context, session string, stream *Stream) {
	refused := s.add(ctx, func() *client { return s.ofSession(ctx, session) }, stream.Address, stream.Watched)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.ofSession(ctx, session)
	for _, uri := range stream.Watched {
		if sub := c.subscriptions[uri]; sub != nil {
			s.updated(sub)
		} else {
			s.logger.Debug("a subscription was not restored", "uri", resources.ClipLong(uri), "error", refused[uri])
		}
	}
	s.announce(c)
	s.release(c)
}

// Watched returns the resources that a session watches, in order.
func (s *Subscriptions) Watched(session string) (uris []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clients[session]; c != nil {
		uris = slices.Sorted(maps.Keys(c.subscriptions))
	}
	return uris
}

// repeat queues the changes again that an earlier stream may not have brought to its client. The caller holds
// s.mu.
func (s *Subscriptions) repeat(c *client, seen int64) {
	if seen <= 0 || seen > c.number {
		seen = c.begun
	}
	again := slices.Collect(maps.Values(c.subscriptions))
	if c.list != nil {
		again = append(again, c.list)
	}
	c.pending = slices.DeleteFunc(again, func(sub *subscription) bool {
		sub.pending = sub.pending || sub.number > seen
		return !sub.pending
	})
	slices.SortFunc(c.pending, func(a, b *subscription) int { return cmp.Compare(a.number, b.number) })
	if len(c.pending) > 0 {
		s.waiting[c] = true
	}
}

// Disconnect ends notifications of a session's stream, unless another one has replaced it. The
// subscriptions stay for a while, so that a client that reconnects gets missed changes.
func (s *Subscriptions) Disconnect(session string, stream *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clients[session]; c != nil && c.stream == stream {
		c.stream, c.gone = nil, time.Now()
		s.release(c)
	}
}

// Forget ends all subscriptions of a session.
func (s *Subscriptions) Forget(session string) {
	s.mu.Lock()
	var unwatched []string
	if c := s.clients[session]; c != nil {
		unwatched = s.forgetClient(c)
	}
	s.mu.Unlock()
	s.unwatch(unwatched...)
}

// release forgets a session without a stream and without subscriptions: its id is signed, and
// contains everything needed when the client comes back. The caller holds s.mu.
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

// forgetClient ends all subscriptions of a client and returns the repositories for unwatch. The
// caller holds s.mu.
func (s *Subscriptions) forgetClient(c *client) (unwatched []string) {
	for _, sub := range c.subscriptions {
		unwatched = append(unwatched, s.end(sub))
	}
	s.removeClient(c)
	return unwatched
}

// evict makes room for another subscription: it forgets the session that has been without a stream
// for longest, and returns the repositories for unwatch. When its client comes back it is restored, as after
// the grace period. The caller holds s.mu.
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

// sweep forgets sessions whose grace period has passed.
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

// updated queues a notification about a resource. The caller holds s.mu.
func (s *Subscriptions) updated(sub *subscription) {
	c := sub.client
	if !sub.pending {
		c.number++
		sub.pending, sub.number = true, c.number
		c.pending = append(c.pending, sub)
	}
	s.waiting[c] = true
}

// announce queues a notification about the list. The caller holds s.mu.
func (s *Subscriptions) announce(c *client) {
	if c.list != nil {
		s.updated(c.list)
	}
}

// view returns what a principal may read under the current rules.
func (s *Subscriptions) view(p access.Principal) repos.View {
	return s.catalogue.For(access.WithPrincipal(context.Background(), p))
}

// deliver sends pending notifications. Those that do not fit a client's queue stay pending, one per
// resource; deliver never blocks.
func (s *Subscriptions) deliver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.waiting {
		if c.stream != nil && c.flush(s.view(c.principal)) {
			delete(s.waiting, c)
		}
	}
}

// flush sends pending notifications, and reports whether all were sent. It sends nothing about a
// repository that the client may no longer read, not even earlier changes.
func (c *client) flush(view repos.View) bool {
	for i, sub := range c.pending {
		if sub.repository != "" && !view.Sees(sub.repository) {
			sub.pending = false
			continue
		}
		if c.stream.Send(Change{sub.uri, sub.number}) != nil {
			c.pending = slices.Delete(c.pending, 0, i)
			return false
		}
		sub.pending = false
	}
	c.pending = nil
	return true
}
