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

// state is the last state of a resource that a subscriber knows.
type state struct {
	// basis identifies the source of the state: while it is unchanged, nothing has to be read
	// again.
	basis string
	// text differs if and only if the resource changed. It is "" for a missing resource, so that
	// creation and deletion are changes as well.
	text string
}

// observation reads the states of a repository's resources at one moment: its refs once, and
// objects only for resources that may have changed. Close it.
type observation struct {
	logger     *slog.Logger
	name       string
	repository *repos.Repository
	tips       *git.Tips
	snapshot   *git.Snapshot // opened on demand
	seen       map[string]*observedResource
	absent     error // why the repository cannot be read
}

type observedResource struct {
	resource resources.Resource
	basis    string
	text     string
	read     bool
	err      error
}

// observe begins an observation of a repository.
func (s *Subscriptions) observe(name string) *observation {
	g := &observation{logger: s.logger, name: name, seen: make(map[string]*observedResource)}
	if g.repository, g.absent = s.catalogue.Known(name); g.absent == nil {
		g.tips, g.absent = g.repository.Tips()
	}
	return g
}

func (g *observation) Close() {
	if g.snapshot == nil {
		return
	}
	if err := g.snapshot.Close(); err != nil {
		g.logger.Error("closing a repository failed", "error", err)
	}
}

// LongestRepository implements [resources.Namespace] for the one repository.
func (g *observation) LongestRepository(path string) (name, rest string, err error) {
	rest, ok := strings.CutPrefix(path, g.name)
	rest = strings.TrimPrefix(rest, ".git") // as in the catalogue
	if !ok || rest != "" && rest[0] != '/' {
		return "", "", fmt.Errorf("repository: %w", git.ErrNotFound)
	}
	return g.name, rest, nil
}

// LongestRef implements [resources.Namespace].
func (g *observation) LongestRef(_, prefix, p, marker string) (name, rest string, err error) {
	return g.tips.LongestRef(prefix, p, marker)
}

// state returns the current state of a resource, given the previous one. Only subscriptions of
// clients that may read the repository call it. An error means that the state is unclear.
func (g *observation) state(ctx context.Context, uri string, before state) (state, error) {
	o := g.resourceOf(uri)
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
		o.text, o.err = "", nil
		return state{basis: o.basis}, nil
	case o.err != nil:
		return before, o.err
	default:
		return state{o.basis, o.text}, nil
	}
}

func (g *observation) resourceOf(uri string) *observedResource {
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

// basis returns the refs that a resource depends on. For an archive with content of Git LFS or of
// other repositories that is incomplete: changes of this content go unnoticed.
func (g *observation) basis(r resources.Resource) string {
	switch r.Kind {
	case resources.Card, resources.Refs:
		return g.tips.State() + " " + g.repository.Description()
	case resources.Signature: // a signature is a note
		return g.tips.State()
	case resources.Archive, resources.Checksum, resources.Compare:
		if base := r.BaseRevision(); base != "" {
			return g.tip(r.Revision) + " " + g.tip(base)
		}
	}
	return g.tip(r.Revision)
}

// tip returns the object that a revision names, in the lookup order of [git.Snapshot.Resolve].
// For an id, which may or may not be served, it returns the state of all refs.
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
