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
	"github.com/repomcp/repomcp/internal/resources/skills"
)

const (
	// defaultSessionSubscriptions bounds the resources that one session or stream may watch: each
	// is read when its repository changes.
	defaultSessionSubscriptions = 100
	// defaultTotalSubscriptions bounds the subscriptions of all clients, at about 500 bytes each
	// with URIs of usual length and 5 KB with the longest, and the watched repositories.
	defaultTotalSubscriptions = 10_000
	// addressShare is the share of all subscriptions, one in so many, that the clients of one
	// address may have. It is a half, because all clients behind a proxy have one address.
	addressShare = 2
	// retryEvery is the interval at which full queues are tried again and the names of repositories
	// are compared.
	retryEvery = 250 * time.Millisecond
	// sessionGrace is how long a session without a stream keeps its subscriptions: a client that
	// reconnects gets missed changes.
	sessionGrace = 5 * time.Minute
)

// Options of [Subscriptions]. Catalogue is required.
type Options struct {
	Catalogue *repos.Catalogue
	// PerSession bounds the resources that one session or stream may watch; 0 means 100.
	PerSession int
	// Total bounds the subscriptions of all clients; 0 means 10,000. One address may have half of
	// them.
	Total int
	// NoEvents polls repositories without notifications from the kernel.
	NoEvents bool
	// Skills tells which pushes change the listed skills; nil: none does.
	Skills *skills.Library
	Logger *slog.Logger
}

// Subscriptions notify clients of changed resources. A repository is watched once, and read when
// its refs may have changed, however many clients subscribe.
type Subscriptions struct {
	options   Options
	catalogue *repos.Catalogue
	logger    *slog.Logger
	watcher   *refWatcher
	wake      chan struct{} // receives when a repository is dirty

	reconsider atomic.Bool // the access rules have changed

	mu           sync.Mutex
	clients      map[string]*client // by session, or by the number of a stream
	streams      int64
	total        int
	byAddress    map[string]int                    // counts
	byRepository map[string]map[*subscription]bool // by name; "" has those without a repository
	dirty        map[string]bool                   // repositories to compare
	unclear      map[string]bool                   // repositories to compare again later
	waiting      map[*client]bool                  // clients with pending notifications
}

// subscription of one client to one resource, or to the list of repositories. It is guarded by
// Subscriptions.mu.
type subscription struct {
	client     *client
	address    string // of the client, or ""
	uri        string // as the client wrote it; "" is the list
	repository string
	state      state
	pending    bool  // a notification is pending
	number     int64 // of the last change; 0: none
	ended      bool
}

// New returns Subscriptions that send nothing before [Subscriptions.Run].
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

// Count returns the number of subscriptions of all clients.
func (s *Subscriptions) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Subscribe adds a resource to a session's subscriptions; address is that of its client, or "". A
// resource that does not exist for the context's principal is accepted: it may appear, and its
// existence must not leak. The error is a [*BoundError], [ErrCatalogue], [ErrForeign], or one of
// the URI.
func (s *Subscriptions) Subscribe(ctx context.Context, session, address, uri string) error {
	find := func() *client { return s.ofSession(ctx, session) }
	return s.add(ctx, find, address, []string{uri})[uri]
}

// Unsubscribe ends a session's subscription to a resource.
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

// Bound names one of the bounds of [Options].
type Bound int

const (
	// PerAddress is the share of one address.
	PerAddress Bound = iota
	// PerSession is [Options.PerSession].
	PerSession
	// Total is [Options.Total].
	Total
)

// BoundError refuses a subscription beyond a bound.
type BoundError struct {
	Bound Bound
	Most  int
}

func (e *BoundError) Error() string { return fmt.Sprintf("%d subscriptions are the most", e.Most) }

// ErrCatalogue means that the list of repositories takes no subscriptions: clients request
// notifications of its changes otherwise.
var ErrCatalogue = errors.New("the list of repositories is not subscribed to")

// ErrForeign means that a URI has another scheme, whose resources never change here.
var ErrForeign = errors.New("the resource is of no repository")

// add subscribes a client to further resources, and returns the refused ones with reasons. find
// returns the client, with s.mu held.
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

// reserve counts a new subscription before anything is read for it, because one request may contain
// thousands. It returns nil if the client has the subscription already, or is gone.
func (s *Subscriptions) reserve(find func() *client, uri, address string) (*subscription, error) {
	var unwatched []string
	defer func() { s.unwatch(unwatched...) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := find()
	defer s.release(c)
	if c.ended || c.subscriptions[uri] != nil {
		return nil, nil // nothing to add is no error
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

// bind finds the repository of a new subscription, and starts watching it: later changes are
// noticed. No other goroutine knows the subscription yet.
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
		return nil // the repository may appear
	}
	if err != nil {
		return err
	}
	s.watcher.Add(repository)
	s.mu.Lock()
	defer s.mu.Unlock()
	added.repository = repository.Name()
	if added.ended { // the client has ended, and did not know the name
		s.watcher.Remove(added.repository)
	}
	return nil
}

// begin reads the current states of the resources and publishes the subscriptions. One more
// comparison finds changes between the two.
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
	s.markDirty([]string{name})
}

// index registers a subscription under a repository. The caller holds s.mu.
func (s *Subscriptions) index(sub *subscription, name string) {
	sub.repository = name
	if s.byRepository[name] == nil {
		s.byRepository[name] = make(map[*subscription]bool)
	}
	s.byRepository[name][sub] = true
}

// end removes an active subscription from all tables, and returns the repository for unwatch. It
// returns "" if bind is still running, which then unwatches the repository itself. The caller holds
// s.mu.
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

// unwatch undoes one Add per repository. The caller does not hold s.mu.
func (s *Subscriptions) unwatch(repositories ...string) {
	for _, name := range repositories {
		if name != "" {
			s.watcher.Remove(name)
		}
	}
}

// drop ends a subscription, unless it has ended meanwhile.
func (s *Subscriptions) drop(sub *subscription) {
	s.mu.Lock()
	repository := ""
	if !sub.ended {
		repository = s.end(sub)
	}
	s.mu.Unlock()
	s.unwatch(repository)
}
