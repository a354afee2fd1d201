package repos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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

	scanning sync.Mutex // only one walk at a time

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
	c := &Catalogue{store: store, options: options, logger: logger}
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
	for range ticks.Every(ctx, c.options.Rescan) {
		c.store.CloseIdle(idlePacks)
		if err := c.rescan(0); err != nil {
			c.logger.Error("the root cannot be read; keeping the last listing", "error", err)
		}
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
		return nil
	}
	found := make(map[string]*Repository)
	if err := c.walk(".", found); files.LacksDescriptor(err) {
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

// walk adds the repositories at and below dir, a path relative to the root. It skips a folder that
// cannot be read, except for the root itself.
func (c *Catalogue) walk(dir string, found map[string]*Repository) error {
	entries, err := files.ReadDir(c.store.Root(), dir)
	if err != nil {
		return err
	}
	folder, isRepository, err := c.gitDir(dir, entries)
	switch {
	case err != nil:
		return err
	case isRepository && folder == dir:
		c.add(found, strings.TrimSuffix(c.nameOf(dir), ".git"), dir)
		return nil
	case isRepository:
		c.add(found, c.nameOf(dir), folder)
		return nil
	case has(entries, ".git", regular):
		c.leaveOut(
			dir,
			"its .git is a file: it is a linked worktree, a submodule or has its repository elsewhere; serve that",
		)
		return nil
	}
	if err := c.links(dir, entries, found); err != nil {
		return err
	}
	for _, entry := range entries {
		// Symbolic links are handled by links.
		if !entry.IsDir() || entry.Name() == ".git" {
			continue
		}
		below := path.Join(dir, entry.Name())
		err := c.walk(below, found)
		if files.LacksDescriptor(err) {
			return err
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && c.told.first(below) {
			c.logger.Warn("a folder below the root cannot be read; let the server's user read it", "folder", below,
				"error", files.Pathless(err))
		}
	}
	return nil
}

// gitDir is the folder with HEAD, objects and refs of the repository in a folder: the folder itself
// if it is bare, or the .git in it.
func (c *Catalogue) gitDir(dir string, entries []fs.DirEntry) (folder string, ok bool, err error) {
	if git.IsGitDir(entries) {
		return dir, true, nil
	}
	if !has(entries, ".git", fs.ModeDir) {
		return "", false, nil
	}
	folder = path.Join(dir, ".git")
	inner, err := files.ReadDir(c.store.Root(), folder)
	if files.LacksDescriptor(err) {
		return "", false, err
	}
	return folder, err == nil && git.IsGitDir(inner), nil
}

// links adds the repositories that symbolic links in a folder point to, under the names of the
// links. A link to anything else is not followed, so that no folder is walked twice. Links out of
// the root are logged, in one line for a folder, since some have thousands.
func (c *Catalogue) links(dir string, entries []fs.DirEntry, found map[string]*Repository) error {
	out := 0
	first := ""
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink == 0 {
			continue
		}
		link := path.Join(dir, entry.Name())
		target, err := c.inside(link)
		switch {
		case errors.Is(err, errOutside):
			if out++; out == 1 {
				first = link
			}
		case err == nil: // others point nowhere
			if err := c.addLinked(found, link, target); err != nil {
				return err
			}
		}
	}
	if out > 0 && c.told.first(path.Join(dir, "links")) {
		c.logger.Warn(
			"symbolic links lead out of the root and are not followed; move what they lead to below the root",
			"folder", dir, "links", out, "first", first,
		)
	}
	return nil
}

var errOutside = errors.New("leads out of the root")

// inside is the path below the root that a symbolic link finally points to, whether it is absolute
// or relative. It only looks at names: the target is opened through the os.Root like everything
// else.
func (c *Catalogue) inside(link string) (string, error) {
	root, err := filepath.EvalSymlinks(c.store.Root().Name())
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(link)))
	if err != nil {
		return "", err
	}
	below, err := filepath.Rel(root, target)
	if err != nil || !filepath.IsLocal(below) {
		return "", errOutside
	}
	return filepath.ToSlash(below), nil
}

func (c *Catalogue) addLinked(found map[string]*Repository, link, target string) error {
	entries, err := files.ReadDir(c.store.Root(), target)
	if files.LacksDescriptor(err) {
		return err
	}
	if err != nil {
		return nil // most links point to files
	}
	folder, ok, err := c.gitDir(target, entries)
	if ok {
		c.add(found, strings.TrimSuffix(link, ".git"), folder)
	}
	return err
}

// nameOf is the name of the repository in a folder: its path below the root, or the root's own name
// if the root itself is the repository.
func (c *Catalogue) nameOf(dir string) string {
	if dir == "." {
		return filepath.Base(c.store.Root().Name())
	}
	return dir
}

// add keeps the first of two folders with the same name: a.git and a sort in a fixed order, so the
// choice is stable.
func (c *Catalogue) add(found map[string]*Repository, name, dir string) {
	switch {
	case !IsName(name):
		c.leaveOut(dir, "its name cannot be served: names have letters, digits and "+nameMarks+
			", and no part of them begins with a dot or dash; rename its folder")
	case found[name] != nil:
		c.leaveOut(dir, "another folder has the same name; rename or remove one of them")
	default:
		found[name] = newRepository(c, name, dir)
	}
}

// leaveOut logs once why a repository is not served.
func (c *Catalogue) leaveOut(dir, reason string) {
	if c.told.first(dir) {
		c.logger.Warn("a repository is left out", "folder", dir, "reason", reason)
	}
}

// regular is the type of a regular file.
const regular fs.FileMode = 0

func has(entries []fs.DirEntry, name string, kind fs.FileMode) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name && e.Type() == kind })
}
