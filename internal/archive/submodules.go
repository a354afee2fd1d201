package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/archive/pathspec"
	"github.com/repomcp/repomcp/internal/pretty"
	"github.com/repomcp/repomcp/internal/repos"
)

// Submodules says what is in the folder of a submodule.
type Submodules string

// The choices. The zero value means [SubmodulesOmit].
const (
	// SubmodulesOmit leaves the folders of submodules empty, as git archive
	// does.
	SubmodulesOmit Submodules = "omit"
	// SubmodulesContent fills them, as deep as they go, with what an archive of
	// the submodule's commit has: its own attributes apply, and its $Format$
	// speaks of that commit. All members have the time of the archive's commit.
	// A submodule that .gitmodules does not tell, or that is not served, stays
	// empty.
	SubmodulesContent Submodules = "content"
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
	// repos.ErrNotFound. What it opens has to stay usable as long as the plan
	// is used; to close it then is the caller's of [Engine.Plan].
	Open(ctx context.Context, url string, commit repos.ID) (Sibling, error)
}

// Sibling is a commit whose tree is put into an archive as a submodule.
type Sibling struct {
	// Repository is the name of what it is of.
	Repository string
	Source     Source
	Commit     repos.Commit
	// Siblings opens its own submodules.
	Siblings Siblings
}

// module is a submodule whose content is taken. It does not change.
type module struct {
	Sibling
	path string // below the archive's own root, without a slash at the end
	root []repos.TreeEntry
	info []byte // info/attributes of its repository

	descriptions pretty.Descriptions
}

func (m *module) folder() folder { return folder{m.Source, m.Commit.Tree, m.root} }

// folder is a tree and the repository that it is of.
type folder struct {
	source  Source
	tree    repos.ID
	entries []repos.TreeEntry
}

// openSubmodules finds all submodules that may be written. From then on the
// archive does not depend on which repositories come and go.
func (p *Plan) openSubmodules(ctx context.Context) error {
	if p.options.Submodules != SubmodulesContent {
		return nil
	}
	if p.options.Siblings == nil {
		return fmt.Errorf("%w \"submodules\": there are no other repositories here", ErrOption)
	}
	p.modules = make(map[string]*module)
	return p.openBelow(ctx, "", folder{p.source, p.head.Tree, p.root}, p.options.Siblings, 1)
}

// openBelow opens the submodules of a repository whose root is at a path with
// a final slash, or at "".
func (p *Plan) openBelow(ctx context.Context, at string, root folder, siblings Siblings, depth int) error {
	urls, err := submoduleURLs(root)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(urls)) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if !p.mayTake(at + path) {
			continue
		}
		link, ok, err := gitlink(root, path)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := p.openSubmodule(ctx, at+path, siblings, urls[path], link, depth); err != nil {
			return err
		}
	}
	return nil
}

// openSubmodule opens a submodule and those in it.
func (p *Plan) openSubmodule(
	ctx context.Context, path string, siblings Siblings, url string, commit repos.ID, depth int,
) error {
	found, err := siblings.Open(ctx, url, commit)
	if errors.Is(err, repos.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if depth > maxSubmoduleDepth {
		return fmt.Errorf("%w: submodules are nested more than %d deep", ErrLimit, maxSubmoduleDepth)
	}
	if len(p.modules) == maxSubmodules {
		return fmt.Errorf("%w: more than %d submodules", ErrLimit, maxSubmodules)
	}
	m := &module{Sibling: found, path: path}
	if m.root, err = m.Source.Tree(m.Commit.Tree); err != nil {
		return damaged(err)
	}
	if p.options.Profile == ProfileArchive {
		if m.info, err = m.Source.InfoAttributes(); err != nil {
			return err
		}
	}
	p.modules[path] = m
	return p.openBelow(ctx, path+"/", m.folder(), m.Siblings, depth+1)
}

// submoduleURLs reads .gitmodules. Like git, of a link it reads nothing.
func submoduleURLs(root folder) (map[string]string, error) {
	e, ok := find(root.entries, submodulesFile)
	if !ok || !e.Mode.IsRegular() {
		return nil, nil
	}
	content, err := root.source.ReadBlob(e.ID, repos.MaxSubmodulesBytes, nil)
	if errors.Is(err, repos.ErrTooLarge) {
		return nil, fmt.Errorf("%w: %s of more than %d bytes", ErrLimit, submodulesFile, repos.MaxSubmodulesBytes)
	}
	if err != nil {
		return nil, damaged(err)
	}
	return repos.ParseSubmodules(content), nil
}

// gitlink is the commit that is at a path of the same repository, if any is.
func gitlink(at folder, path string) (commit repos.ID, ok bool, err error) {
	for {
		name, rest, more := strings.Cut(path, "/")
		e, ok := find(at.entries, name)
		switch {
		case !ok, more && !e.Mode.IsDir():
			return repos.ID{}, false, nil
		case !more:
			return e.ID, e.Mode.IsGitlink(), nil
		}
		if at.entries, err = at.source.Tree(e.ID); err != nil {
			return repos.ID{}, false, damaged(err)
		}
		path = rest
	}
}

// mayTake reports whether a submodule is not outside of what paths, exclude and
// strip choose, so that it has to be opened.
func (p *Plan) mayTake(path string) bool {
	strip := p.options.Strip
	if strip != "" && !strings.HasPrefix(path+"/", strip+"/") && !strings.HasPrefix(strip+"/", path+"/") {
		return false
	}
	if p.selected == nil {
		return true
	}
	for end := range len(path) {
		if path[end] == '/' && !p.selected.Match([]byte(path[:end]), pathspec.Folder) {
			return false
		}
	}
	return p.selected.Match([]byte(path), pathspec.Folder)
}

// enter gives what is in a folder, or in a submodule whose content is taken.
// Other entries have nothing in them.
func (p *Plan) enter(in folder, path string, e repos.TreeEntry) (below folder, ok bool, err error) {
	if m := p.modules[path]; m != nil && e.Mode.IsGitlink() {
		return m.folder(), true, nil
	}
	if !e.Mode.IsDir() {
		return folder{}, false, nil
	}
	entries, err := in.source.Tree(e.ID)
	return folder{in.source, e.ID, entries}, err == nil, damaged(err)
}

// below lists the submodules below a folder by their paths; "" is the root.
func (p *Plan) below(path string) []*module {
	var list []*module
	for _, at := range slices.Sorted(maps.Keys(p.modules)) {
		if path == "" || strings.HasPrefix(at, path+"/") {
			list = append(list, p.modules[at])
		}
	}
	return list
}

// submodule is what the entry at walk.path is, if its content is taken.
func (w *walk) submodule(mode repos.Mode) *module {
	if len(w.modules) == 0 || !mode.IsGitlink() {
		return nil
	}
	return w.modules[string(w.path)]
}

// into makes the submodule at walk.path, with its final slash, the repository
// that the walk is in.
func (w *walk) into(m *module) {
	w.outer = append(w.outer, w.scope)
	inner := scope{source: m.Source, module: m, base: len(w.path)}
	if w.attrs != nil {
		inner.attrs = attributes.NewStack(m.info)
	}
	w.scope = inner
}

// contentScope is what differs between the repositories that content is of.
type contentScope struct {
	source    Source
	formatter *pretty.Formatter
}

// enter goes over to the repository of an entry. Each submodule's first
// %(describe) is expanded, as in an archive of its own.
func (c *content) enter(m *module) {
	if c.module == m {
		return
	}
	if c.scopes == nil {
		c.scopes = make(map[*module]contentScope)
	}
	c.scopes[c.module] = contentScope{c.source, c.formatter}
	next, ok := c.scopes[m]
	if !ok {
		next = contentScope{m.Source, pretty.New(m.Source, m.Commit.ID, time.Now).Sharing(&m.descriptions)}
	}
	c.module, c.source, c.formatter = m, next.source, next.formatter
}
