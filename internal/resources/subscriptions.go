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
	// each with URIs of usual length and 5 KB with the longest, and the
	// repositories that are watched.
	defaultTotalSubscriptions = 10_000
	// addressShare is the part of all subscriptions, one in so many, that the
	// clients of one address may have: the rest is left for others. It is a half,
	// for all clients behind a proxy have one address.
	addressShare = 2
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
	// Total is how many all clients together may; 0 means 10,000. Those of one
	// address may have half of them.
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
	byAddress    map[string]int                    // counts, by [Request.Address]
	byRepository map[string]map[*subscription]bool // by name; "" has those of none
	dirty        map[string]bool                   // repositories to be looked at
	unclear      map[string]bool                   // those to be looked at again later
	waiting      map[*client]bool                  // clients that were not told all
}

// subscription is one resource that one client watches. It is guarded by
// subscriptions.mu.
type subscription struct {
	client     *client
	address    string // of who asked for it, or ""
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
		clients: make(map[string]*client), byAddress: make(map[string]int), byRepository: make(map[string]map[*subscription]bool),
		dirty: make(map[string]bool), unclear: make(map[string]bool), waiting: make(map[*client]bool),
	}
}

// subscribe answers resources/subscribe. What does not exist can be subscribed
// to: it may come, and whether it exists must not show.
func (s *subscriptions) subscribe(ctx context.Context, uri string) error {
	id := sessionOf(ctx)
	if id == "" {
		return nil
	}
	refused := s.add(ctx, func() *client { return s.ofSession(id) }, []string{uri})
	return refused[uri]
}

// sessionOf is the id of the session that a request belongs to: over HTTP that
// of its header, which mcp-go is not shown.
func sessionOf(ctx context.Context) string {
	if request, ok := ctx.Value(requestKey{}).(*Request); ok && request.Session != "" {
		return request.Session
	}
	if session := server.ClientSessionFromContext(ctx); session != nil {
		return session.SessionID()
	}
	return ""
}

// addressOf is the address that a request came from, or "".
func addressOf(ctx context.Context) string {
	if request, ok := ctx.Value(requestKey{}).(*Request); ok {
		return request.Address
	}
	return ""
}

// unsubscribe answers resources/unsubscribe.
func (s *subscriptions) unsubscribe(ctx context.Context, uri string) {
	s.mu.Lock()
	var ended *subscription
	if c := s.clients[sessionOf(ctx)]; c != nil {
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
	s.mu.Lock()
	s.streams++
	key := fmt.Sprintf("listen %d", s.streams)
	c := newStreamClient(ctx, key, session, filter.ResourcesListChanged)
	s.clients[key] = c
	s.mu.Unlock()
	refused := s.add(ctx, func() *client { return c }, filter.ResourceSubscriptions)
	filter.ResourceSubscriptions = slices.DeleteFunc(slices.Clone(filter.ResourceSubscriptions), func(uri string) bool { return refused[uri] != nil })
	for uri, err := range refused {
		s.server.logger.Debug("a subscription was not established", "uri", clipLong(uri), "error", err)
	}
	context.AfterFunc(ctx, func() { s.forget(key) })
}

// errSubscriptions says that a bound of [Subscribing] is reached.
func errSubscriptions(format string, most int) error {
	return &Error{Reason: ReasonSubscriptions, Message: fmt.Sprintf(format, most)}
}

// add subscribes a client to what it does not watch already, and returns what
// was refused and why. find gives the client, with s.mu held.
func (s *subscriptions) add(ctx context.Context, find func() *client, uris []string) (refused map[string]error) {
	refused = make(map[string]error)
	byRepository := make(map[string][]*subscription)
	for _, uri := range uris {
		added, err := s.reserve(find, uri, addressOf(ctx))
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
// client has it, or is gone. Nothing was read for it yet: a request has room for
// thousands.
func (s *subscriptions) reserve(find func() *client, uri, address string) (*subscription, error) {
	var evicted []*subscription
	defer func() { s.unwatch(evicted...) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := find()
	defer s.release(c)
	if c.ended || c.subscriptions[uri] != nil {
		return nil, nil // there is nothing to add, which is no error
	}
	if share := s.limits.Total / addressShare; address != "" && s.byAddress[address] >= share {
		return nil, errSubscriptions("All clients of your address together watch %d resources, which is the most for one address. End subscriptions, or read the resource from time to time.", share)
	}
	if len(c.subscriptions) >= s.limits.PerSession {
		return nil, errSubscriptions("A session may watch %d resources. End a subscription with resources/unsubscribe, or watch a folder or the repository instead of single files.", s.limits.PerSession)
	}
	if s.total >= s.limits.Total {
		evicted = s.evict(c)
	}
	if s.total >= s.limits.Total {
		return nil, errSubscriptions("All clients of this server together watch %d resources, which is the most. Try again later, or read the resource from time to time.", s.limits.Total)
	}
	added := &subscription{client: c, address: address, uri: uri}
	c.subscriptions[uri] = added
	s.total++
	s.byAddress[address]++
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
	c := sub.client
	sub.ended = true
	delete(c.subscriptions, sub.uri)
	if sub.pending {
		c.pending = slices.DeleteFunc(c.pending, func(pending *subscription) bool { return pending == sub })
	}
	s.unindex(sub)
	s.total--
	if s.byAddress[sub.address]--; s.byAddress[sub.address] == 0 {
		delete(s.byAddress, sub.address)
	}
	s.release(c)
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
	var ended []*subscription
	if c := s.clients[key]; c != nil {
		ended = s.forgetClient(c)
	}
	s.mu.Unlock()
	s.unwatch(ended...)
}

// forgetClient ends all that a client watches and returns it for unwatch. The
// caller holds s.mu.
func (s *subscriptions) forgetClient(c *client) []*subscription {
	ended := slices.Collect(maps.Values(c.subscriptions))
	for _, sub := range ended {
		s.end(sub)
	}
	c.ended = true
	delete(s.clients, c.key)
	delete(s.waiting, c)
	return ended
}
