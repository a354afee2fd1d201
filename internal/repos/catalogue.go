package repos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/base/ticks"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/objects"
	"github.com/repomcp/repomcp/internal/git/objects/files"
	"github.com/repomcp/repomcp/internal/repos/quarantine"
)

const (
	// defaultRescan is how often the root is walked for new and removed repositories. A lookup that
	// misses also causes a walk, so this only limits the age of listings.
	defaultRescan = 10 * time.Second
	// missRescan is the shortest time between two walks that lookups of unknown names cause: an
	// attacker that guesses names must not keep the disk busy.
	missRescan = time.Second
	// idlePacks is after which time unused packs are closed: an open descriptor keeps the disk
	// space of a deleted pack.
	idlePacks = time.Minute
)

// Options of a [Catalogue]. The zero value is ready to use.
type Options struct {
	// AllowUnreachable also serves commits that no ref leads to.
	AllowUnreachable bool
	// HideRefs are rules in the form of transfer.hideRefs (git-config(1)) that apply after those of
	// each repository's own configuration.
	HideRefs []string
	// ServeRefs are the only refs that are served, unless they are hidden: names such as
	// refs/heads/main, or folders such as refs/tags. None means all.
	ServeRefs []string
	// Rescan is how often the root is walked; 0 means 10 seconds.
	Rescan time.Duration
	// Store bounds the caches of histories.
	Store git.StoreOptions
	// Visible returns a function that reports, by name, which repositories the client of a request
	// may know of. A nil Visible, or a nil function, means all.
	Visible func(ctx context.Context) func(name string) bool
	// Logger gets messages for the operator; nil discards them.
	Logger *slog.Logger
}

// Catalogue knows the repositories below one root. It may be used by any
// number of goroutines.
//
// Its own methods are the operator's: they see everything. Code that serves clients is given
// [Views] instead.
type Catalogue struct {
	View
	store   *git.Store
	options Options
	logger  *slog.Logger

	scanning sync.Mutex    // only one walk at a time
	missed   chan struct{} // a lookup of an unknown name did not cause a walk

	mu      sync.RWMutex
	scanned time.Time
	names   []string // sorted
	byName  map[string]*Repository
	longest int // bytes of the longest name

	told       notices
	quarantine *quarantine.Quarantine
}

// Open walks the root once and returns its catalogue. Close it when done.
func Open(root string, options Options) (*Catalogue, error) {
	if options.Rescan <= 0 {
		options.Rescan = defaultRescan
	}
	logger := options.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	store, err := git.NewStore(root, options.Store)
	if err != nil {
		return nil, err
	}
	c := &Catalogue{store: store, options: options, logger: logger, missed: make(chan struct{}, 1)}
	c.View, c.quarantine = View{catalogue: c}, quarantine.New(logger)
	if err := c.rescan(0); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if len(c.Names()) == 0 {
		c.logger.Warn(
			"there are no repositories below the root yet; make one there with git clone --mirror URL NAME.git",
		)
	}
	return c, nil
}

// Close releases the root. Open snapshots stay usable.
func (c *Catalogue) Close() error { return c.store.Close() }

// Watch keeps the catalogue fresh until ctx ends.
func (c *Catalogue) Watch(ctx context.Context) {
	var late sync.WaitGroup
	defer late.Wait()
	late.Go(func() { c.followMisses(ctx) })
	for range ticks.Every(ctx, c.options.Rescan) {
		c.store.CloseIdle(idlePacks)
		c.walkOrLog(0)
	}
}

// followMisses makes up for the walks that lookups of unknown names did not cause: a client that subscribes to a
// repository looks it up once.
func (c *Catalogue) followMisses(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.missed:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(missRescan):
			c.walkOrLog(missRescan)
		}
	}
}

func (c *Catalogue) walkOrLog(age time.Duration) {
	if err := c.rescan(age); err != nil {
		c.logger.Error("the root cannot be read; keeping the last listing", "error", err)
	}
}

// errRootGone says that the root's path names another folder now, or none.
var errRootGone = errors.New("the root was deleted, or another folder has taken its place")

// Check fails when the root cannot be read any more: it was deleted, unmounted or replaced since it
// was opened. It looks only at the root folder, so it may be called often.
func (c *Catalogue) Check() error {
	opened, err := c.store.Root().Stat(".")
	if err != nil {
		return fmt.Errorf("the root: %w", files.Pathless(err))
	}
	now, err := os.Stat(c.store.Root().Name())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errRootGone
	case err != nil:
		return fmt.Errorf("the root: %w", files.Pathless(err))
	case !os.SameFile(opened, now):
		return errRootGone
	}
	return nil
}

// Usage counts the open resources of all repositories.
func (c *Catalogue) Usage() objects.Usage { return c.store.Usage() }

// For returns the client's view for a request.
func (c *Catalogue) For(ctx context.Context) View {
	if c.options.Visible == nil {
		return c.View
	}
	return View{catalogue: c, visible: c.options.Visible(ctx)}
}

// listing is all names in byte order.
func (c *Catalogue) listing() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.names
}

// rescan walks the root unless it was walked less than age ago.
func (c *Catalogue) rescan(age time.Duration) error {
	c.scanning.Lock()
	defer c.scanning.Unlock()
	c.mu.RLock()
	fresh := age > 0 && time.Since(c.scanned) < age
	c.mu.RUnlock()
	if fresh {
		select {
		case c.missed <- struct{}{}:
		default:
		}
		return nil
	}
	found, err := c.walk()
	if files.LacksDescriptor(err) {
		return fmt.Errorf("reading the root: %w: %w", git.ErrBusy, files.Pathless(err))
	} else if err != nil {
		return fmt.Errorf("reading the root: %w", files.Pathless(err))
	}
	names, longest := slices.Sorted(maps.Keys(found)), 0
	for _, name := range names {
		longest = max(longest, len(name))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names, c.byName, c.longest, c.scanned = names, found, longest, time.Now()
	return nil
}
