package tree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/pretty"
)

const (
	// submodulesFile is where a commit says what its submodules are.
	submodulesFile = ".gitmodules"
	// maxSubmoduleDepth bounds submodules of submodules. A commit cannot
	// contain itself, but a repository can contain its own history, one commit
	// in the next.
	maxSubmoduleDepth = 16
	// maxSubmodules of one archive: the repository of each is held open.
	maxSubmodules = 1024
)

// Siblings opens the repositories that the submodules of one repository name.
type Siblings interface {
	// Open finds the commit in the repository that the URL of a submodule
	// means. What does not exist, is not served, or not to this caller, is
	// git.ErrNotFound. What it opens has to stay usable as long as the
	// selection is used; to close it then is the caller's.
	Open(ctx context.Context, url string, commit git.ID) (Sibling, error)
}

// Sibling is a commit whose tree is put into an archive as a submodule.
type Sibling struct {
	// Repository is the name of what it is of.
	Repository string
	Source     Source
	Commit     git.Commit
	// Siblings opens its own submodules.
	Siblings Siblings
}

// Module is a submodule whose content is taken. It does not change.
type Module struct {
	Sibling
	Path string // below the archive's own root, without a slash at the end
	Info []byte // info/attributes of its repository
	root Folder

	// Descriptions are those of its commit, for all that make its content.
	Descriptions pretty.Descriptions
}

// openSubmodules finds all submodules that may be written.
func (s *Selection) openSubmodules(ctx context.Context) error {
	if s.Siblings == nil {
		return nil
	}
	s.modules = make(map[string]*Module)
	return s.openBelow(ctx, "", s.Root, s.Siblings, 1)
}

// openBelow opens the submodules of a repository whose root is at a path with
// a final slash, or at "".
func (s *Selection) openBelow(ctx context.Context, at string, root Folder, siblings Siblings, depth int) error {
	urls, err := SubmoduleURLs(root)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(urls)) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if !s.mayTake(at + path) {
			continue
		}
		link, ok, err := gitlink(root, path)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := s.openSubmodule(ctx, at+path, siblings, urls[path], link, depth); err != nil {
			return err
		}
	}
	return nil
}

// openSubmodule opens a submodule and those in it.
func (s *Selection) openSubmodule(
	ctx context.Context, path string, siblings Siblings, url string, commit git.ID, depth int,
) error {
	found, err := siblings.Open(ctx, url, commit)
	if errors.Is(err, git.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if depth > maxSubmoduleDepth {
		return fmt.Errorf("%w: submodules are nested more than %d deep", ErrLimit, maxSubmoduleDepth)
	}
	if len(s.modules) == maxSubmodules {
		return fmt.Errorf("%w: more than %d submodules", ErrLimit, maxSubmodules)
	}
	m := &Module{Sibling: found, Path: path}
	if m.root, err = ReadFolder(m.Source, m.Commit.Tree); err != nil {
		return Damaged(err)
	}
	if s.Attributes == ForArchive {
		if m.Info, err = m.Source.InfoAttributes(); err != nil {
			return err
		}
	}
	s.modules[path] = m
	return s.openBelow(ctx, path+"/", m.root, m.Siblings, depth+1)
}

// SubmoduleURLs reads the .gitmodules of a repository's root: URLs by paths. Like
// git, of a link it reads nothing.
func SubmoduleURLs(root Folder) (map[string]string, error) {
	e, ok := root.find(submodulesFile)
	if !ok || !e.Mode.IsRegular() {
		return nil, nil
	}
	content, err := root.Source.ReadBlob(e.ID, git.MaxSubmodulesBytes, nil)
	if errors.Is(err, git.ErrTooLarge) {
		return nil, fmt.Errorf("%w: %s of more than %d bytes", ErrLimit, submodulesFile, git.MaxSubmodulesBytes)
	}
	if err != nil {
		return nil, Damaged(err)
	}
	return git.ParseSubmodules(content), nil
}

// gitlink is the commit that is at a path of the same repository, if any is.
func gitlink(at Folder, path string) (commit git.ID, ok bool, err error) {
	for {
		name, rest, more := strings.Cut(path, "/")
		e, ok := at.find(name)
		switch {
		case !ok, more && !e.Mode.IsDir():
			return git.ID{}, false, nil
		case !more:
			return e.ID, e.Mode.IsGitlink(), nil
		}
		if at.Entries, err = at.Source.Tree(e.ID); err != nil {
			return git.ID{}, false, Damaged(err)
		}
		path = rest
	}
}

// mayTake reports whether a submodule is not outside of what paths, exclude and
// strip choose, so that it has to be opened.
func (s *Selection) mayTake(path string) bool {
	strip := s.Strip
	if strip != "" && !strings.HasPrefix(path+"/", strip+"/") && !strings.HasPrefix(strip+"/", path+"/") {
		return false
	}
	for end := range len(path) {
		if path[end] == '/' && !s.Match([]byte(path[:end]), git.ModeDir) {
			return false
		}
	}
	return s.Match([]byte(path), git.ModeDir)
}

// Modules lists the submodules below a folder by their paths; "" is the root.
func (s *Selection) Modules(path string) []*Module {
	var list []*Module
	for _, at := range slices.Sorted(maps.Keys(s.modules)) {
		if path == "" || strings.HasPrefix(at, path+"/") {
			list = append(list, s.modules[at])
		}
	}
	return list
}

// submodule is what the entry at walk.path is, if its content is taken.
func (w *Walk) submodule(mode git.Mode) *Module {
	if len(w.selection.modules) == 0 || !mode.IsGitlink() {
		return nil
	}
	return w.selection.modules[string(w.path)]
}

// into makes the submodule at walk.path, with its final slash, the repository
// that the walk is in.
func (w *Walk) into(m *Module) {
	w.outer = append(w.outer, w.scope)
	w.scope = scope{source: m.Source, module: m, base: len(w.path), rules: w.selection.newRules(m.Info)}
}
