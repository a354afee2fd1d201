package resources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/watch"
)

const (
	// defaultSessionSubscriptions bounds the resources that one session or one
	// stream may watch: each costs a look when its repository changes.
	defaultSessionSubscriptions = 100
	// defaultTotalSubscriptions bounds those of all clients, at about 500 bytes
	// each, and the repositories that are watched.
	defaultTotalSubscriptions = 10_000
	// retryEvery is how often it is tried again to notify clients whose queue
	// was full, and how often the names of repositories are compared.
	retryEvery = 250 * time.Millisecond
	// sessionGrace is for how long the subscriptions of a session without a
	// stream are kept: a client that connects again gets what it missed.
	sessionGrace = 5 * time.Minute
	// lookers is how many changed repositories are looked at at once.
	lookers = 4
)

// Subscribing bounds and steers subscriptions. The zero value is ready to use.
type Subscribing struct {
	// PerSession is how many resources one session or stream may watch; 0 means
	// 100.
	PerSession int
	// Total is how many all clients together may; 0 means 10,000.
	Total int
	// NoEvents looks at repositories instead of having the kernel tell of
	// changes.
	NoEvents bool
}

// subscriptions tells clients when a resource changed. Repositories that
// somebody watches are watched once, and looked at when their refs may have
// changed, however many clients watch them.
type subscriptions struct {
	server  *Server
	limits  Subscribing
	watcher *watch.Watcher
	wake    chan struct{} // there is a dirty repository

	mu           sync.Mutex
	clients      map[string]*client // by session id, or by the number of a stream
	streams      int64
	total        int
	byRepository map[string]map[*subscription]bool // by name; "" has those of none
	dirty        map[string]bool                   // repositories to be looked at
	unclear      map[string]bool                   // those to be looked at again later
	waiting      map[*client]bool                  // clients that were not told all
}

// subscription is one resource that one client watches. It is guarded by
// subscriptions.mu.
type subscription struct {
	client     *client
	uri        string // as the client wrote it
	repository string
	state      state
	pending    bool // the client is to be told
	ended      bool
}

func newSubscriptions(s *Server, limits Subscribing) *subscriptions {
	if limits.PerSession == 0 {
		limits.PerSession = defaultSessionSubscriptions
	}
	if limits.Total == 0 {
		limits.Total = defaultTotalSubscriptions
	}
	return &subscriptions{
		server: s, limits: limits, watcher: watch.New(watch.Options{NoEvents: limits.NoEvents, Logger: s.logger}), wake: make(chan struct{}, 1),
		clients: make(map[string]*client), byRepository: make(map[string]map[*subscription]bool),
		dirty: make(map[string]bool), unclear: make(map[string]bool), waiting: make(map[*client]bool),
	}
}

// subscribe answers resources/subscribe. What does not exist can be subscribed
// to: it may come, and whether it exists must not show.
func (s *subscriptions) subscribe(ctx context.Context, uri string) error {
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return nil
	}
	refused := s.add(ctx, s.ofSession(session), []string{uri})
	return refused[uri]
}

// unsubscribe answers resources/unsubscribe.
func (s *subscriptions) unsubscribe(ctx context.Context, uri string) {
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return
	}
	s.mu.Lock()
	var ended *subscription
	if c := s.clients[session.SessionID()]; c != nil {
		ended = c.subscriptions[uri]
	}
	if ended != nil {
		s.end(ended)
	}
	s.mu.Unlock()
	s.unwatch(ended)
}

// listen subscribes a subscriptions/listen stream until it ends. What cannot be
// subscribed to is taken out of the request, so that the acknowledgement says
// what was established.
func (s *subscriptions) listen(ctx context.Context, filter *mcp.SubscriptionFilter) {
	session := server.ClientSessionFromContext(ctx)
	if session == nil || len(filter.ResourceSubscriptions) == 0 && !filter.ResourcesListChanged {
		return
	}
	c := newStreamClient(ctx, session, filter.ResourcesListChanged)
	s.mu.Lock()
	s.streams++
	key := fmt.Sprintf("listen %d", s.streams)
	s.clients[key] = c
	s.mu.Unlock()
	refused := s.add(ctx, c, filter.ResourceSubscriptions)
	filter.ResourceSubscriptions = slices.DeleteFunc(slices.Clone(filter.ResourceSubscriptions), func(uri string) bool { return refused[uri] != nil })
	for uri, err := range refused {
		s.server.logger.Debug("a subscription was not established", "uri", clipLong(uri), "error", err)
	}
	context.AfterFunc(ctx, func() { s.forget(key) })
}

// errSubscriptions says that a bound of [Subscribing] is reached.
func (s *subscriptions) errSubscriptions(all bool) error {
	if all {
		return &Error{Reason: ReasonSubscriptions, Message: fmt.Sprintf("All clients of this server together watch %d resources, which is the most. Try again later, or read the resource from time to time.", s.limits.Total)}
	}
	return &Error{Reason: ReasonSubscriptions, Message: fmt.Sprintf("A session may watch %d resources. End a subscription with resources/unsubscribe, or watch a folder or the repository instead of single files.", s.limits.PerSession)}
}

// add subscribes a client to what it does not watch already, and returns what
// was refused and why.
func (s *subscriptions) add(ctx context.Context, c *client, uris []string) (refused map[string]error) {
	refused = make(map[string]error)
	byRepository := make(map[string][]*subscription)
	for _, uri := range uris {
		added, err := s.reserve(c, uri)
		if err == nil && added != nil {
			if err = s.bind(added); err != nil {
				s.drop(added)
			}
		}
		switch {
		case err != nil:
			refused[uri] = err
		case added != nil:
			byRepository[added.repository] = append(byRepository[added.repository], added)
		}
	}
	for name, list := range byRepository {
		s.begin(ctx, name, list, refused)
	}
	return refused
}

// reserve counts a subscription that is about to be made; nil means that the
// client has it, or is gone. Nothing was read for it yet: a request has room for 60,000.
func (s *subscriptions) reserve(c *client, uri string) (*subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.ended, c.subscriptions[uri] != nil:
		return nil, nil // there is nothing to add, which is no error
	case len(c.subscriptions) >= s.limits.PerSession:
		return nil, s.errSubscriptions(false)
	case s.total >= s.limits.Total:
		return nil, s.errSubscriptions(true)
	}
	added := &subscription{client: c, uri: uri}
	c.subscriptions[uri] = added
	s.total++
	return added, nil
}

// bind finds the repository of a subscription that nobody else knows yet, and
// has it watched: what changes from now on is noticed.
func (s *subscriptions) bind(added *subscription) error {
	if isCatalogue(added.uri) {
		return &Error{Reason: ReasonURI, Message: "The list of repositories is not subscribed to: notifications/resources/list_changed tells when repositories come and go."}
	}
	path, _, err := decode(added.uri)
	if errors.Is(err, errURI) {
		return asError(err, added.uri)
	}
	if err != nil {
		return nil // of another scheme: nothing will ever be heard of it
	}
	repository, _, err := s.server.catalogue.Longest(path)
	if errors.Is(err, repos.ErrNotFound) {
		return nil // it may come
	}
	if err != nil {
		return asError(err, added.uri)
	}
	s.watcher.Add(repository)
	s.mu.Lock()
	defer s.mu.Unlock()
	added.repository = repository.Name()
	if added.ended { // by an end of the client, which did not know the name
		s.watcher.Remove(added.repository)
	}
	return nil
}

// begin reads what the resources are now and makes the subscriptions known.
// What changed between the two is found by one more look.
func (s *subscriptions) begin(ctx context.Context, name string, list []*subscription, refused map[string]error) {
	g := s.server.glance(name)
	defer g.Close()
	for _, added := range list {
		now, err := g.state(ctx, added.uri, state{})
		if o := g.seen[added.uri]; o != nil && errors.Is(o.err, errURI) {
			refused[added.uri] = asError(o.err, added.uri)
			s.drop(added)
			continue
		}
		if err != nil {
			s.server.logger.Debug("the state of a resource is not known yet", "uri", clipLong(added.uri), "error", err)
		}
		s.mu.Lock()
		added.state = now
		if !added.ended {
			s.index(added, name)
		}
		s.mu.Unlock()
	}
	s.look(name)
}

// index makes a subscription known as one of a repository. The caller holds
// s.mu.
func (s *subscriptions) index(sub *subscription, name string) {
	sub.repository = name
	if s.byRepository[name] == nil {
		s.byRepository[name] = make(map[*subscription]bool)
	}
	s.byRepository[name][sub] = true
}

// end takes a subscription that has not ended out of all tables; unwatch has to
// follow. The caller holds s.mu.
func (s *subscriptions) end(sub *subscription) {
	sub.ended = true
	delete(sub.client.subscriptions, sub.uri)
	s.unindex(sub)
	s.total--
}

func (s *subscriptions) unindex(sub *subscription) {
	delete(s.byRepository[sub.repository], sub)
	if len(s.byRepository[sub.repository]) == 0 {
		delete(s.byRepository, sub.repository)
	}
}

// unwatch ends the watching of what ended subscriptions were of; nil is none.
func (s *subscriptions) unwatch(ended ...*subscription) {
	for _, sub := range ended {
		if sub != nil && sub.repository != "" {
			s.watcher.Remove(sub.repository)
		}
	}
}

// drop ends a subscription that could not be made, unless its client has ended.
func (s *subscriptions) drop(sub *subscription) {
	s.mu.Lock()
	ended := sub.ended
	if !ended {
		s.end(sub)
	}
	s.mu.Unlock()
	if !ended {
		s.unwatch(sub)
	}
}

// forget ends all that a client watches.
func (s *subscriptions) forget(key string) {
	s.mu.Lock()
	c := s.clients[key]
	var ended []*subscription
	if c != nil {
		ended = slices.Collect(maps.Values(c.subscriptions))
		for _, sub := range ended {
			s.end(sub)
		}
		delete(s.clients, key)
		delete(s.waiting, c)
		c.ended = true
	}
	s.mu.Unlock()
	s.unwatch(ended...)
}
