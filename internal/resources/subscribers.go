package resources

import (
	"context"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	methodUpdated     = "notifications/resources/updated"
	methodListChanged = string(mcp.MethodNotificationResourcesListChanged)
)

// client is a session, or a stream of a modern client. All but its functions and
// its key is guarded by subscriptions.mu.
type client struct {
	key string // in subscriptions.clients
	// send queues a notification without waiting; it fails when the queue is
	// full or there is no stream, and is tried again.
	send func(method string, params map[string]any) error
	// ready says whether notifications may be sent: a stream begins with its
	// acknowledgement.
	ready func() bool
	// lists says whether the client asked for changes of the list.
	lists func() bool

	subscriptions map[string]*subscription // by URI
	pending       []*subscription          // in the order in which they changed
	listChanged   bool                     // the client is to be told
	gone          time.Time                // since when a session has no stream; zero: it has
	ended         bool
}

// newStreamClient is for the stream of a subscriptions/listen request. It has no
// session id; its channel is one of its own.
func newStreamClient(ctx context.Context, key string, session server.ClientSession, lists bool) *client {
	return &client{
		key: key, subscriptions: make(map[string]*subscription),
		ready: acknowledged(ctx, session),
		lists: func() bool { return lists },
		send: func(method string, params map[string]any) error {
			notification := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
			notification.Method = method
			notification.Params.AdditionalFields = params
			select {
			case session.NotificationChannel() <- notification:
				return nil
			default:
				return server.ErrNotificationChannelBlocked
			}
		},
	}
}

// acknowledged tells whether the acknowledgement of a stream is on its way. Over
// HTTP it is known when it was written; elsewhere mcp-go queues it as soon as it
// has recorded the filter.
func acknowledged(ctx context.Context, session server.ClientSession) func() bool {
	if request, ok := ctx.Value(requestKey{}).(*Request); ok {
		return func() bool {
			select {
			case <-request.events:
				return true
			default:
				return false
			}
		}
	}
	filtered, ok := session.(server.SessionWithSubscriptionFilter)
	return func() bool {
		if !ok {
			return true
		}
		filter, _ := filtered.SubscriptionFilter()
		return !filter.IsEmpty()
	}
}

// newSessionClient is for a session, by its id: mcp-go makes a new object for
// it whenever the client connects.
func (s *subscriptions) newSessionClient(id string) *client {
	always := func() bool { return true }
	return &client{
		key: id, subscriptions: make(map[string]*subscription), gone: time.Now(), ready: always, lists: always,
		send: func(method string, params map[string]any) error {
			return s.server.mcp.SendNotificationToSpecificClient(id, method, params)
		},
	}
}

// ofSession finds the client of a session, or makes it. The caller holds s.mu,
// and has the client released when it adds nothing to it.
func (s *subscriptions) ofSession(id string) *client {
	c := s.clients[id]
	if c == nil {
		c = s.newSessionClient(id)
		s.clients[id] = c
	}
	return c
}

// release forgets a session that has neither a stream nor a subscription: its
// id is signed, and says all that is needed when it comes back. The caller holds
// s.mu.
func (s *subscriptions) release(c *client) {
	if len(c.subscriptions) > 0 || c.gone.IsZero() {
		return
	}
	c.ended = true
	delete(s.clients, c.key)
	delete(s.waiting, c)
}

// connect notes that mcp-go knows a session, so that notifications reach it.
func (s *subscriptions) connect(session server.ClientSession) {
	if session.SessionID() == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ofSession(session.SessionID()).gone = time.Time{}
}

// disconnect notes that mcp-go has forgotten a session. Its id stays valid, and
// so do its subscriptions for a while.
func (s *subscriptions) disconnect(session server.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clients[session.SessionID()]; c != nil {
		c.gone = time.Now()
		s.release(c)
	}
}

// evict makes room for another subscription by forgetting the session that has
// been without a stream for longest, and returns what it watched. Such a session
// learns nothing of it: when its client comes back, it subscribes again, as after
// the grace. The caller holds s.mu.
func (s *subscriptions) evict(except *client) []*subscription {
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
func (s *subscriptions) sweep(now time.Time) {
	s.mu.Lock()
	var gone []string
	for key, c := range s.clients {
		if !c.gone.IsZero() && now.Sub(c.gone) > sessionGrace {
			gone = append(gone, key)
		}
	}
	s.mu.Unlock()
	for _, key := range gone {
		s.forget(key)
	}
}

// updated has a client told of a resource. The caller holds s.mu.
func (s *subscriptions) updated(sub *subscription) {
	if !sub.pending {
		sub.pending = true
		sub.client.pending = append(sub.client.pending, sub)
	}
	s.waiting[sub.client] = true
}

// announce has all clients told that the list changed. The caller holds s.mu.
func (s *subscriptions) announce() {
	for _, c := range s.clients {
		if c.lists() {
			c.listChanged = true
			s.waiting[c] = true
		}
	}
}

// deliver tells waiting clients what they do not know. What a client's queue
// has no room for stays, once per resource, and is tried again; nobody waits.
func (s *subscriptions) deliver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.waiting {
		if c.ready() && c.flush() {
			delete(s.waiting, c)
		}
	}
}

// flush sends what is pending, and reports whether that was all.
func (c *client) flush() bool {
	if c.listChanged {
		if c.send(methodListChanged, nil) != nil {
			return false
		}
		c.listChanged = false
	}
	for i, sub := range c.pending {
		if c.send(methodUpdated, map[string]any{"uri": sub.uri}) != nil {
			c.pending = slices.Delete(c.pending, 0, i)
			return false
		}
		sub.pending = false
	}
	c.pending = nil
	return true
}
