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
	// submodulesFile defines a commit's submodules.
	submodulesFile = ".gitmodules"
	// maxSubmoduleDepth bounds nested submodules. A commit cannot contain itself, but a repository
	// can contain its own history, one commit in the next.
	maxSubmoduleDepth = 16
	// maxSubmodules bounds the submodules of one archive, each of whose repositories is held open.
	maxSubmodules = 1024
)

// Siblings opens the repositories of a repository's submodules.
type Siblings interface {
	// Open finds a commit in the repository that a submodule's URL names. It returns
	// git.ErrNotFound if the repository does not exist, is not served, or not to this caller. The
	// result must stay usable as long as the selection is; the caller then closes it.
	Open(ctx context.Context, url string, commit git.ID) (Sibling, error)
}

// Sibling is a commit whose tree is included as a submodule.
type Sibling struct {
	// Repository is the name of its repository.
	Repository string
	Source     Source
	Commit     git.Commit
	// Siblings opens its own submodules.
	Siblings Siblings
}

// Module is an included submodule. It is immutable.
type Module struct {
	Sibling
	Path string // relative to the archive's root, without a final slash
	Info []byte // info/attributes of its repository
	root Folder

	// Descriptions of its commit, shared by everything that produces its content.
	Descriptions pretty.Descriptions
}

// openSubmodules opens all submodules that may be written.
func (s *Selection) openSubmodules(ctx context.Context) error {
	if s.Siblings == nil {
		return nil
	}
	s.modules = make(map[string]*Module)
	return s.openBelow(ctx, "", s.Root, s.Siblings, 1)
}

// openBelow opens the submodules of a repository whose root is at a path with a final slash, or at
// "".
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

// openSubmodule opens a submodule and its own submodules.
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
		return err
	}
	if s.Attributes == ForArchive {
		if m.Info, err = m.Source.InfoAttributes(); err != nil {
			return err
		}
	}
	s.modules[path] = m
	return s.openBelow(ctx, path+"/", m.root, m.Siblings, depth+1)
}

// SubmoduleURLs reads the .gitmodules of a repository's root: URLs by path. Like git, it ignores a
// symbolic link.
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
		return nil, git.MustExist(e.ID, err)
	}
	return git.ParseSubmodules(content), nil
}

// gitlink returns the commit at a path of the same repository, if there is one.
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
			return git.ID{}, false, git.MustExist(e.ID, err)
		}
		path = rest
	}
}

// mayTake reports whether paths, exclude and strip may select something of a submodule, so that it
// has to be opened.
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

// Modules lists the submodules below a folder by path; "" is the root.
func (s *Selection) Modules(path string) []*Module {
	var list []*Module
	for _, at := range slices.Sorted(maps.Keys(s.modules)) {
		if path == "" || strings.HasPrefix(at, path+"/") {
			list = append(list, s.modules[at])
		}
	}
	return list
}

// submodule returns the included submodule at walk.path, if there is one.
func (w *Walk) submodule(mode git.Mode) *Module {
	if len(w.selection.modules) == 0 || !mode.IsGitlink() {
		return nil
	}
	return w.selection.modules[string(w.path)]
}

// enterModule makes the submodule at walk.path, with its final slash, the walk's current
// repository.
func (w *Walk) enterModule(m *Module) {
	w.outer = append(w.outer, w.scope)
	w.scope = scope{source: m.Source, module: m, base: len(w.path), rules: w.selection.newRules(m.Info)}
}
