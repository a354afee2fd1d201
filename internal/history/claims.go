package history

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/repomcp/repomcp/internal/commitgraph"
	"github.com/repomcp/repomcp/internal/repos"
)

// errContradicted says that the commit-graph has another tree, other parents or
// another date than a commit.
var errContradicted = fmt.Errorf("the commit-graph contradicts a commit: %w", repos.ErrCorrupt)

// claims are what the commit-graph of a repository says; nothing where there is none.
// Walks go by it, so what they pass over is what the graph says. What they show,
// begin with or compare is compared with the commits first.
type claims struct {
	graph *commitgraph.Graph
	paths map[string]commitgraph.Path // those asked about, hashed
	// recent has the positions plus one of the parents that were returned last, by
	// their ids: they are asked for next.
	recent [1 << 10]uint32
}

func (c *claims) slot(id repos.ID) *uint32 {
	return &c.recent[int(binary.BigEndian.Uint16(id[:]))%len(c.recent)]
}

// withCommitGraph returns the answer to a question whose walk may go by the
// commit-graph. Where the graph turns out to be wrong, the question is asked again
// without it.
func withCommitGraph[T any](
	ctx context.Context, snapshot *repos.Snapshot, facts *Facts, ask func(*source) (T, error),
) (T, error) {
	s, err := newSource(ctx, snapshot, facts)
	if err != nil {
		var none T
		return none, err
	}
	s.claims.graph = snapshot.CommitGraph()
	found, err := ask(s)
	graph, first := s.claims.graph, err
	if graph == nil || !errors.Is(err, repos.ErrCorrupt) && graph.Fault() == nil {
		return found, err
	}
	if s, err = newSource(ctx, snapshot, facts); err != nil {
		return found, err
	}
	found, err = ask(s)
	if err == nil || errors.Is(first, errContradicted) || graph.Fault() != nil {
		snapshot.DropCommitGraph(graph)
	}
	return found, err
}

func (c *claims) find(id repos.ID) (at uint32, ok bool) {
	if c.graph == nil {
		return 0, false
	}
	if at := *c.slot(id); at > 0 && c.graph.ID(at-1) == id {
		return at - 1, true
	}
	return c.graph.Find(id)
}

// links returns what the graph has of a commit.
func (c *claims) links(id repos.ID) (l links, ok bool) {
	at, ok := c.find(id)
	if !ok {
		return links{}, false
	}
	l = links{tree: c.graph.Tree(at), date: c.graph.Date(at), at: at + 1}
	for parent := range c.graph.Parents(at) {
		id := repos.ID(c.graph.ID(parent))
		*c.slot(id) = parent + 1
		l.parents = append(l.parents, id)
	}
	return l, true
}

// agrees compares the graph with what a commit says.
func (c *claims) agrees(id repos.ID, l links) error {
	if !repos.Confirm(c.graph, id, l.tree, l.parents, l.date) {
		return errContradicted
	}
	return nil
}

// confirm compares the graph with commits.
func (s *source) confirm(ids ...repos.ID) error {
	if s.claims.graph == nil {
		return nil
	}
	for _, id := range ids {
		l, _, err := s.stored(id)
		if err == nil {
			err = s.claims.agrees(id, l)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leavesUnchanged reports whether the graph says that a commit has the same at a path
// as its first parent, or nothing where it has no parent. False says nothing.
func (c *claims) leavesUnchanged(l links, path string) bool {
	if l.at == 0 || path == "" {
		return false
	}
	hashed, known := c.paths[path]
	if !known {
		if c.paths == nil {
			c.paths = make(map[string]commitgraph.Path)
		}
		hashed = commitgraph.NewPath(path)
		c.paths[path] = hashed
	}
	return !c.graph.MayChange(l.at-1, hashed)
}

// leavesAllUnchanged is leavesUnchanged of several paths.
func (c *claims) leavesAllUnchanged(l links, limits []limit) bool {
	for _, limit := range limits {
		if !c.leavesUnchanged(l, limit.path) {
			return false
		}
	}
	return true
}

// mayLead reports whether a commit may lead to another one. Out of the graph there
// is no way.
func (c *claims) mayLead(from, to links) bool {
	return from.at == 0 || to.at > 0 && c.graph.Generation(from.at-1) > c.graph.Generation(to.at-1)
}

// ordered reports whether generations are good enough to walk by: among those of
// the graph a commit comes after all that lead to it.
func (c *claims) ordered() bool { return c.graph != nil && c.graph.Corrected() }
