package resources

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	// pollInterval is how often subscribed resources are looked at.
	pollInterval = time.Second
	// maxSubscriptions bounds the resources that one session may watch, since
	// each costs a look per interval.
	maxSubscriptions = 100

	methodUpdated     = "notifications/resources/updated"
	methodListChanged = string(mcp.MethodNotificationResourcesListChanged)
)

// subscriptions tells clients when a resource changed: it looks at what they
// subscribed to once per interval, which needs no help from the file system.
type subscriptions struct {
	server  *Server
	streams atomic.Int64 // numbers those of modern clients

	mu       sync.Mutex
	watchers map[string]*watcher // by session id, or by the stream of a modern client
}

// watcher is one client with what it watches.
type watcher struct {
	notify func(method string, params map[string]any)
	states map[string]string // URI → state when last looked at
}

func newSubscriptions(s *Server) *subscriptions {
	return &subscriptions{server: s, watchers: make(map[string]*watcher)}
}

// add subscribes the session of a resources/subscribe request.
func (s *subscriptions) add(ctx context.Context, uri string) {
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return
	}
	id := session.SessionID()
	s.put(id, []string{uri}, func(method string, params map[string]any) {
		// A session without an open stream gets it with its next reply; when it
		// is gone, mcp-go unregisters it and forget is called.
		if err := s.server.mcp.SendNotificationToSpecificClient(id, method, params); err != nil {
			s.server.logger.Debug("a notification was not sent", "method", method, "error", err)
		}
	})
}

// listen subscribes a subscriptions/listen stream until it ends.
func (s *subscriptions) listen(ctx context.Context, uris []string) {
	session := server.ClientSessionFromContext(ctx)
	if session == nil || len(uris) == 0 {
		return
	}
	// Modern sessions have no id; the stream's channel is one of its own.
	key := fmt.Sprintf("listen %d", s.streams.Add(1))
	s.put(key, uris, func(method string, params map[string]any) {
		notification := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
		notification.Method = method
		notification.Params.AdditionalFields = params
		select {
		case session.NotificationChannel() <- notification:
		default: // the client does not read; it learns of the next change
		}
	})
	context.AfterFunc(ctx, func() { s.forget(key) })
}

// EventSent notes that an event of the reply was written.
func (r *Request) EventSent() { r.firstOnce.Do(func() { close(r.events) }) }

// ackTimeout bounds how long the result of a subscription waits for its
// acknowledgement; a client that does not read is dropped later than that.
const ackTimeout = 10 * time.Second

// awaitAck holds the result of subscriptions/listen back until the
// acknowledgement was written. mcp-go hands that to another goroutine, which
// drops it when the result is there first: when nothing could be subscribed to,
// it is there at once.
func awaitAck(ctx context.Context) {
	request, ok := ctx.Value(requestKey{}).(*Request)
	if !ok {
		return
	}
	select {
	case <-request.events:
	case <-ctx.Done():
	case <-time.After(ackTimeout):
	}
}

func (s *subscriptions) put(key string, uris []string, notify func(string, map[string]any)) {
	// Before anything is looked at: a request has room for 60,000 URIs.
	uris = uris[:min(len(uris), maxSubscriptions)]
	states := make(map[string]string, len(uris))
	for _, uri := range uris {
		states[uri] = s.server.state(uri)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watchers[key]
	if w == nil {
		w = &watcher{notify: notify, states: make(map[string]string)}
		s.watchers[key] = w
	}
	for uri, state := range states {
		if len(w.states) < maxSubscriptions {
			w.states[uri] = state
		}
	}
}

func (s *subscriptions) remove(ctx context.Context, uri string) {
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watchers[session.SessionID()]; w != nil {
		delete(w.states, uri)
	}
}

func (s *subscriptions) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, key)
}

// watch looks for changes until ctx ends.
func (s *subscriptions) watch(ctx context.Context) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	names := s.server.catalogue.Names()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now := s.server.catalogue.Names(); !slices.Equal(now, names) {
			names = now
			s.server.mcp.SendNotificationToAllClients(methodListChanged, nil)
		}
		s.poll()
	}
}

// poll looks at each watched resource once, however many clients watch it.
func (s *subscriptions) poll() {
	states := make(map[string]string)
	s.mu.Lock()
	for _, w := range s.watchers {
		for uri := range w.states {
			states[uri] = ""
		}
	}
	s.mu.Unlock()
	for uri := range states {
		states[uri] = s.server.state(uri)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watchers {
		for uri, before := range w.states {
			// What was subscribed to since the states were read has none yet.
			if now, ok := states[uri]; ok && now != before {
				w.states[uri] = now
				w.notify(methodUpdated, map[string]any{"uri": uri})
			}
		}
	}
}

// state is a text that changes when the resource does. It is "" for what
// cannot be found, so that coming and going are changes as well.
func (s *Server) state(uri string) string {
	content, err := s.Open(context.Background(), uri)
	if err != nil {
		return ""
	}
	if err := content.Close(); err != nil {
		s.logger.Error("closing a resource failed", "error", err)
	}
	return content.ETag
}
