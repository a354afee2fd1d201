package watch

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
)

// state is what a subscriber was last told of, or saw, of a resource.
type state struct {
	// basis is what the state was read from: while it is the same, nothing has
	// to be read again.
	basis string
	// text is another one when the resource changed. It is "" for what cannot be
	// found, so that coming and going are changes as well.
	text string
}

// observation reads the states of resources of one repository at one moment: its
// refs once, and objects only for what may have changed. Close it.
type observation struct {
	logger     *slog.Logger
	name       string
	repository *repos.Repository
	tips       *git.Tips
	snapshot   *git.Snapshot // opened when it is needed
	seen       map[string]*observedResource
	absent     error // why there is nothing to be seen
}

// observedResource is one resource in an observation.
type observedResource struct {
	resource resources.Resource
	basis    string
	text     string
	read     bool
	err      error
}

// observe looks at the repository as the catalogue knows it.
func (s *Subscriptions) observe(name string) *observation {
	g := &observation{logger: s.logger, name: name, seen: make(map[string]*observedResource)}
	if g.repository, g.absent = s.catalogue.Known(name); g.absent == nil {
		g.tips, g.absent = g.repository.Tips()
	}
	return g
}

// Close releases the repository.
func (g *observation) Close() {
	if g.snapshot == nil {
		return
	}
	if err := g.snapshot.Close(); err != nil {
		g.logger.Error("closing a repository failed", "error", err)
	}
}

// LongestRepository implements [resources.Namespace]: there is one.
func (g *observation) LongestRepository(path string) (name, rest string, err error) {
	rest, ok := strings.CutPrefix(path, g.name)
	rest = strings.TrimPrefix(rest, ".git") // as the catalogue takes it
	if !ok || rest != "" && rest[0] != '/' {
		return "", "", fmt.Errorf("repository: %w", git.ErrNotFound)
	}
	return g.name, rest, nil
}

// LongestRef implements [resources.Namespace].
func (g *observation) LongestRef(_, prefix, p, marker string) (name, rest string, err error) {
	return g.tips.LongestRef(prefix, p, marker)
}

// state of a resource, given that it was before. Only who may know of the repository
// is bound to it, and so asks. An error means that the state cannot be told now.
func (g *observation) state(ctx context.Context, uri string, before state) (state, error) {
	o := g.look(uri)
	switch {
	case resources.IsAbsence(o.err):
		return state{}, nil
	case o.err != nil:
		return before, o.err
	case o.basis == before.basis:
		return before, nil
	}
	if !o.read {
		o.text, o.err = g.text(ctx, o)
		o.read = true
	}
	switch {
	case resources.IsAbsence(o.err):
		o.err = nil
		return state{basis: o.basis}, nil
	case o.err != nil:
		return before, o.err
	default:
		return state{o.basis, o.text}, nil
	}
}

func (g *observation) look(uri string) *observedResource {
	if o := g.seen[uri]; o != nil {
		return o
	}
	o := &observedResource{err: g.absent}
	if o.err == nil {
		if o.resource, o.err = resources.Parse(uri, g); o.err == nil {
			o.basis = g.basis(o.resource)
		}
	}
	g.seen[uri] = o
	return o
}

// basis is what the state of a resource depends on, of the refs. That an archive
// with content of git-lfs or of other repositories depends on more is not
// noticed.
func (g *observation) basis(r resources.Resource) string {
	switch r.Kind {
	case resources.Card, resources.Refs:
		return g.tips.State() + " " + g.repository.Description()
	case resources.Signature: // is a note
		return g.tips.State()
	case resources.Archive, resources.Checksum:
		if r.Options.Base != "" {
			return g.tip(r.Revision) + " " + g.tip(r.Options.Base)
		}
	}
	return g.tip(r.Revision)
}

// tip is the object that a revision names, looked up in the order of
// [git.Snapshot.Resolve]; for an id, which may be served or not, the state of
// all refs.
func (g *observation) tip(revision string) string {
	if revision == "" {
		revision = "HEAD"
	}
	if _, err := git.ParseID(revision); err == nil {
		return g.tips.State()
	}
	for _, prefix := range git.RefPrefixes() {
		if id, ok := g.tips.ID(prefix + revision); ok {
			return id.String()
		}
	}
	return g.tips.State()
}

// text reads the state itself.
func (g *observation) text(ctx context.Context, o *observedResource) (string, error) {
	if kind := o.resource.Kind; kind == resources.Card || kind == resources.Refs || kind == resources.Ref {
		return o.basis, nil
	}
	if g.snapshot == nil {
		snapshot, err := g.repository.Snapshot()
		if err != nil {
			return "", err
		}
		g.snapshot = snapshot
	}
	return resources.Identity(ctx, g.snapshot, o.resource)
}
