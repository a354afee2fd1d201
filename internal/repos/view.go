package repos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

// Views give each client its view. Code that is given a [Catalogue] as Views cannot accidentally
// see more than the client.
type Views interface {
	For(ctx context.Context) View
}

// View is the part of a catalogue that one client may know of. A hidden name is treated exactly
// like a missing one: with the same error, in the same time and with the same disk access. A View
// is for one request, or for as long as the access decision behind it may be kept.
type View struct {
	catalogue *Catalogue
	visible   func(name string) bool // nil: all are visible
}

// gitSuffix is that of the folders of bare repositories. Names are also accepted with it.
const gitSuffix = ".git"

// Names lists all repositories in byte order. The slice must not be changed.
func (v View) Names() []string {
	all := v.catalogue.listing()
	if v.visible == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !v.visible(name) })
}

// Page lists up to limit names that follow the given one, and whether there are more. The cursor
// stays right while repositories come and go.
func (v View) Page(after string, limit int) (names []string, more bool) {
	all := v.catalogue.listing()
	start, found := slices.BinarySearch(all, after)
	if found {
		start++
	}
	for _, name := range all[start:] {
		switch {
		case !v.Sees(name):
		case len(names) == limit:
			return names, true
		default:
			names = append(names, name)
		}
	}
	return names, false
}

// Get looks a repository up by its name, or by its name with .git.
func (v View) Get(name string) (*Repository, error) {
	r, err := v.Known(name)
	if err == nil || !IsName(name) {
		return r, err
	}
	if err := v.catalogue.rescan(missRescan); err != nil {
		return nil, err
	}
	return v.Known(name)
}

// Snapshot takes a snapshot of a repository, which it looks up like [View.Get].
func (v View) Snapshot(name string) (*git.Snapshot, error) {
	repository, err := v.Get(name)
	if err != nil {
		return nil, err
	}
	return repository.Snapshot()
}

// Known looks a repository up among those that the last walk found: it answers at once, and may be
// as old as the listing.
func (v View) Known(name string) (*Repository, error) {
	if r := v.lookup(name); r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("repository: %w", git.ErrNotFound)
}

// Longest finds the repository whose name is the longest leading part of the path that ends at a
// slash or at the end, and returns the rest.
func (v View) Longest(p string) (r *Repository, rest string, err error) {
	if r, rest, err = v.LongestKnown(p); err == nil {
		return r, rest, nil
	}
	if err := v.catalogue.rescan(missRescan); err != nil {
		return nil, "", err
	}
	return v.LongestKnown(p)
}

// LongestKnown is [View.Longest] among the repositories that the last walk found, like
// [View.Known].
func (v View) LongestKnown(p string) (r *Repository, rest string, err error) {
	for end := len(p); end > 0; end = strings.LastIndexByte(p[:end], '/') {
		if r := v.lookup(p[:end]); r != nil {
			return r, p[end:], nil
		}
	}
	return nil, "", fmt.Errorf("repository: %w", git.ErrNotFound)
}

// Sibling finds the repository that a submodule's URL means. A relative URL (./ and ../) is
// resolved against the name of the repository, as gitmodules(5) says. Otherwise the longest end of
// host and path that is the name of a repository counts: for https://host/group/lib.git these are
// host/group/lib and group/lib. A last part alone is a name only if it is the whole path. A URL
// without a match is [git.ErrNotFound].
//
// A match with the wrong repository of the same name is harmless: a submodule names its commit by
// the hash of its content.
func (v View) Sibling(of *Repository, rawURL string) (*Repository, error) {
	for _, name := range siblingNames(of.name, rawURL) {
		sibling, err := v.Get(name)
		if !errors.Is(err, git.ErrNotFound) {
			return sibling, err
		}
	}
	return nil, fmt.Errorf("submodule: %w", git.ErrNotFound)
}

// lookup also accepts the name of the folder: name.git is name. It checks whether a name is visible
// before it checks whether the name exists, so that the answer takes the same time either way. It
// skips the check for a name longer than any repository's, which a client could make arbitrarily
// long.
func (v View) lookup(name string) *Repository {
	c := v.catalogue
	c.mu.RLock()
	byName, longest := c.byName, c.longest
	c.mu.RUnlock()
	bare, folder := strings.CutSuffix(name, gitSuffix)
	if len(bare) > longest {
		return nil
	}
	if v.Sees(name) && byName[name] != nil {
		return byName[name]
	}
	if folder && v.Sees(bare) {
		return byName[bare]
	}
	return nil
}

// Sees reports whether a repository of a name would be visible, if there is one.
func (v View) Sees(name string) bool { return v.visible == nil || v.visible(name) }
