package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
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
)

// Options bound and steer [Subscriptions]. The Catalogue is required.
type Options struct {
	Catalogue *repos.Catalogue
	// PerSession is how many resources one session or stream may watch; 0 means
	// 100.
	PerSession int
	// Total is how many all clients together may; 0 means 10,000. Those of one
	// address may have half of them.
	Total int
	// NoEvents looks at repositories instead of having the kernel tell of
	// changes.
	NoEvents bool
	Logger   *slog.Logger
}

// Subscriptions tell clients when a resource changed. Repositories that
// somebody watches are watched once, and looked at when their refs may have
// changed, however many clients watch them.
type Subscriptions struct {
	options   Options
	catalogue *repos.Catalogue
	logger    *slog.Logger
	watcher   *refWatcher
	wake      chan struct{} // there is a dirty repository

	reconsider atomic.Bool // the rules of what may be read have changed

	mu           sync.Mutex
	clients      map[string]*client // by session, or by the number of a stream
	streams      int64
	total        int
	byAddress    map[string]int                    // counts
	byRepository map[string]map[*subscription]bool // by name; "" has those of none
	dirty        map[string]bool                   // repositories to be looked at
	unclear      map[string]bool                   // those to be looked at again later
	waiting      map[*client]bool                  // clients that were not told all
}

// subscription is one resource that one client watches. It is guarded by
// Subscriptions.mu.
type subscription struct {
	client     *client
	address    string // of who asked for it, or ""
	uri        string // as the client wrote it
	repository string
	state      state
	pending    bool // the client is to be told
	ended      bool
}

// New has nobody told of anything before [Subscriptions.Run].
func New(options Options) *Subscriptions {
	options.PerSession = cmp.Or(options.PerSession, defaultSessionSubscriptions)
	options.Total = cmp.Or(options.Total, defaultTotalSubscriptions)
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	return &Subscriptions{
		options: options, catalogue: options.Catalogue, logger: options.Logger,
		watcher: newRefWatcher(options), wake: make(chan struct{}, 1),
		clients: make(map[string]*client), byAddress: make(map[string]int),
		byRepository: make(map[string]map[*subscription]bool),
		dirty:        make(map[string]bool), unclear: make(map[string]bool), waiting: make(map[*client]bool),
	}
}

// Count is how many resources are watched, by all clients together.
func (s *Subscriptions) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Subscribe adds a resource to what a session watches; the address is that of its
// client, or "". What does not exist, to the principal of the context, can be subscribed
// to: it may come, and whether it exists must not show. The error is a
// [*BoundError], [ErrCatalogue], [ErrForeign], or one of the URI.
func (s *Subscriptions) Subscribe(ctx context.Context, session, address, uri string) error {
	find := func() *client { return s.ofSession(ctx, session) }
	return s.add(ctx, find, address, []string{uri})[uri]
}

// Unsubscribe ends that a session watches a resource.
func (s *Subscriptions) Unsubscribe(session, uri string) {
	s.mu.Lock()
	var sub *subscription
	if c := s.clients[session]; c != nil {
		sub = c.subscriptions[uri]
	}
	s.mu.Unlock()
	if sub != nil {
		s.drop(sub)
	}
}

// Bound is one of those of [Options].
type Bound int

// The bounds.
const (
	PerAddress Bound = iota
	PerSession
	Total
)

// BoundError refuses a subscription because so many are the most.
type BoundError struct {
	Bound Bound
	Most  int
}

func (e *BoundError) Error() string { return fmt.Sprintf("%d subscriptions are the most", e.Most) }

// ErrCatalogue says that the list of repositories is no resource to subscribe to:
// all who want to know are told when it changes.
var ErrCatalogue = errors.New("the list of repositories is not subscribed to")

// ErrForeign says that a URI is of another scheme: nothing would ever be heard of it.
var ErrForeign = errors.New("the resource is of no repository")

// add subscribes a client to what it does not watch already, and returns what
// was refused and why. find returns the client, with s.mu held.
func (s *Subscriptions) add(
	ctx context.Context, find func() *client, address string, uris []string,
) (refused map[string]error) {
	refused = make(map[string]error)
	byRepository := make(map[string][]*subscription)
	for _, uri := range uris {
		added, err := s.reserve(find, uri, address)
		if err == nil && added != nil {
			if err = s.bind(ctx, added); err != nil {
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
func (s *Subscriptions) reserve(find func() *client, uri, address string) (*subscription, error) {
	var unwatched []string
	defer func() { s.unwatch(unwatched...) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := find()
	defer s.release(c)
	if c.ended || c.subscriptions[uri] != nil {
		return nil, nil // there is nothing to add, which is no error
	}
	if share := s.options.Total / addressShare; address != "" && s.byAddress[address] >= share {
		return nil, &BoundError{PerAddress, share}
	}
	if len(c.subscriptions) >= s.options.PerSession {
		return nil, &BoundError{PerSession, s.options.PerSession}
	}
	if s.total >= s.options.Total {
		unwatched = s.evict(c)
	}
	if s.total >= s.options.Total {
		return nil, &BoundError{Total, s.options.Total}
	}
	added := &subscription{client: c, address: address, uri: uri}
	c.subscriptions[uri] = added
	s.total++
	s.byAddress[address]++
	return added, nil
}

// bind finds the repository of a subscription that nobody else knows yet, and
// has it watched: what changes from now on is noticed.
func (s *Subscriptions) bind(ctx context.Context, added *subscription) error {
	if resources.IsCatalogue(added.uri) {
		return ErrCatalogue
	}
	path, err := resources.PathOf(added.uri)
	if errors.Is(err, resources.ErrURI) {
		return err
	}
	if err != nil {
		return ErrForeign
	}
	repository, _, err := s.catalogue.For(ctx).Longest(path)
	if errors.Is(err, git.ErrNotFound) {
		return nil // it may come
	}
	if err != nil {
		return err
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
func (s *Subscriptions) begin(ctx context.Context, name string, list []*subscription, refused map[string]error) {
	g := s.observe(name)
	defer g.Close()
	for _, added := range list {
		now, err := g.state(ctx, added.uri, state{})
		if o := g.seen[added.uri]; o != nil && errors.Is(o.err, resources.ErrURI) {
			refused[added.uri] = o.err
			s.drop(added)
			continue
		}
		if err != nil {
			s.logger.Debug("the state of a resource is not known "+
				"yet", "uri", resources.ClipLong(added.uri), "error", err)
		}
		s.mu.Lock()
		added.state = now
		if !added.ended {
			s.index(added, name)
		}
		s.mu.Unlock()
	}
	s.look([]string{name})
}

// index makes a subscription known as one of a repository. The caller holds
// s.mu.
func (s *Subscriptions) index(sub *subscription, name string) {
	sub.repository = name
	if s.byRepository[name] == nil {
		s.byRepository[name] = make(map[*subscription]bool)
	}
	s.byRepository[name][sub] = true
}

// end takes a subscription that has not ended out of all tables, and returns the
// repository for unwatch, or "": what is bound later unwatches that itself. The caller
// holds s.mu.
func (s *Subscriptions) end(sub *subscription) (repository string) {
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
	return sub.repository
}

func (s *Subscriptions) unindex(sub *subscription) {
	delete(s.byRepository[sub.repository], sub)
	if len(s.byRepository[sub.repository]) == 0 {
		delete(s.byRepository, sub.repository)
	}
}

// unwatch undoes one watching of each repository. The caller does not hold s.mu.
func (s *Subscriptions) unwatch(repositories ...string) {
	for _, name := range repositories {
		if name != "" {
			s.watcher.Remove(name)
		}
	}
}

// drop ends a subscription, unless that was done meanwhile.
func (s *Subscriptions) drop(sub *subscription) {
	s.mu.Lock()
	repository := ""
	if !sub.ended {
		repository = s.end(sub)
	}
	s.mu.Unlock()
	s.unwatch(repository)
}
