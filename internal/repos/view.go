package repos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

// Views show each visitor what he may know of. A [Catalogue] is the one there is:
// who is given it as Views cannot see more than a visitor by mistake.
type Views interface {
	For(ctx context.Context) View
}

// View is what one visitor may know of a catalogue. All else is not there: a name
// that he may not know takes the way of one that nobody has, to the same error, in
// the same time and with the same look at the disk. It is for one request, or for
// as long as what was decided when it was made may hold.
type View struct {
	catalogue *Catalogue
	visible   func(name string) bool // nil: everything is
}

// gitSuffix is that of the folders of bare repositories: with it behind them names
// are understood all the same.
const gitSuffix = ".git"

// Names lists all repositories in byte order. The slice is not to be changed.
func (v View) Names() []string {
	all := v.catalogue.listing()
	if v.visible == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !v.visible(name) })
}

// Page lists up to limit names that come after the given one, and whether
// there are more. The cursor stays right while repositories come and go.
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

// Get looks a repository up by its name, or that with .git behind it.
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

// Snapshot takes a snapshot of a repository, which [View.Get] finds.
func (v View) Snapshot(name string) (*git.Snapshot, error) {
	repository, err := v.Get(name)
	if err != nil {
		return nil, err
	}
	return repository.Snapshot()
}

// Known looks a repository up among those that the last walk found: the answer
// is there at once, and may be old by as much as the listing.
func (v View) Known(name string) (*Repository, error) {
	if r := v.lookup(name); r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("repository: %w", git.ErrNotFound)
}

// Longest finds the repository with the longest name that is the given path
// or a leading part of it, ended by a slash, and returns what follows it.
func (v View) Longest(p string) (r *Repository, rest string, err error) {
	if r, rest, err = v.LongestKnown(p); err == nil {
		return r, rest, nil
	}
	if err := v.catalogue.rescan(missRescan); err != nil {
		return nil, "", err
	}
	return v.LongestKnown(p)
}

// LongestKnown is [View.Longest] among those that the last walk found, as
// [View.Known] is.
func (v View) LongestKnown(p string) (r *Repository, rest string, err error) {
	for end := len(p); end > 0; end = strings.LastIndexByte(p[:end], '/') {
		if r := v.lookup(p[:end]); r != nil {
			return r, p[end:], nil
		}
	}
	return nil, "", fmt.Errorf("repository: %w", git.ErrNotFound)
}

// Sibling finds the repository that the URL of a submodule means, of a repository
// among those of the view. A relative URL (./ and ../) counts from the name of the
// repository, as gitmodules(5) says. Of another one the host and the path count, by
// the longest end of them that is the name of a repository: of
// https://host/group/lib.git those are host/group/lib and group/lib. A bare
// last part is taken for a name only when it is the whole path. What fits
// nothing is [git.ErrNotFound].
//
// That another repository of the same name is meant does no harm: a submodule
// names its commit by the hash of its content.
func (v View) Sibling(of *Repository, rawURL string) (*Repository, error) {
	for _, name := range siblingNames(of.name, rawURL) {
		sibling, err := v.Get(name)
		if !errors.Is(err, git.ErrNotFound) {
			return sibling, err
		}
	}
	return nil, fmt.Errorf("submodule: %w", git.ErrNotFound)
}

// lookup takes the name of the folder, too: name.git is name. Whether a name is
// visible is asked before whether it is there, so that the answer takes the same
// time either way; but not of what is longer than any name, which a client can
// make as long as it likes.
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
