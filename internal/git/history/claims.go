package history

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/commitgraph"
)

// errContradicted says that the commit-graph has another tree, other parents or
// another date than a commit.
var errContradicted = fmt.Errorf("the commit-graph contradicts a commit: %w", git.ErrCorrupt)

// claims are what the commit-graph of a repository says; nothing where there is none.
// Walks go by it, so what they pass over is what the graph says. What they show,
// begin with or compare is compared with the commits first.
type claims struct {
	graph *commitgraph.Graph
}

// count is how many commits the graph has. Those below it are their positions.
func (c *claims) count() uint32 {
	if c.graph == nil {
		return 0
	}
	return c.graph.Len()
}

func (c *claims) has(n uint32) bool { return n < c.count() }

// withCommitGraph returns the answer to a question whose walk may go by the
// commit-graph. Where the graph turns out to be wrong, the question is asked again
// without it.
func withCommitGraph[T any](
	ctx context.Context, snapshot *git.Snapshot, facts *Facts, ask func(*source) (T, error),
) (T, error) {
	s, err := newSource(ctx, snapshot, facts)
	if err != nil {
		var none T
		return none, err
	}
	s.claims.graph = snapshot.CommitGraph()
	found, err := ask(s)
	graph, first := s.claims.graph, err
	if graph == nil || !errors.Is(err, git.ErrCorrupt) && graph.Fault() == nil {
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

func (c *claims) find(id git.ID) (at uint32, ok bool) {
	if c.graph == nil {
		return 0, false
	}
	return c.graph.Find(id)
}

// links returns what the graph has of a commit.
func (c *claims) links(at uint32) links {
	return links{
		number: at, tree: c.graph.Tree(at), date: c.graph.Date(at), parents: slices.Collect(c.graph.Parents(at)),
	}
}

// agrees compares the graph with what a commit says.
func (c *claims) agrees(id git.ID, l git.CommitLinks) error {
	if !git.Confirm(c.graph, id, l.Tree, l.Parents, l.Date) {
		return errContradicted
	}
	return nil
}

// confirm compares the graph with commits.
func (s *source) confirm(numbers ...uint32) error {
	for _, n := range numbers {
		if !s.claims.has(n) {
			continue
		}
		id := s.claims.graph.ID(n)
		found, _, err := s.stored(s.ancestry.number(id))
		if err != nil {
			return err
		}
		read := git.CommitLinks{Tree: found.tree, Date: found.date}
		for _, parent := range found.parents {
			read.Parents = append(read.Parents, s.ancestry.id(parent))
		}
		if err := s.claims.agrees(id, read); err != nil {
			return err
		}
	}
	return nil
}

// leavesUnchanged reports whether the graph says that a commit has the same at a path
// as its first parent, or nothing where it has no parent. False says nothing.
func (s *source) leavesUnchanged(l links, path string) bool {
	return path != "" && s.claims.has(l.number) && !s.claims.graph.MayChange(l.number, s.trail(path).filter)
}

// mayLead reports whether a commit may lead to another one. Out of the graph there
// is no way.
func (c *claims) mayLead(from, to links) bool {
	return !c.has(from.number) || c.has(to.number) && c.graph.Generation(from.number) > c.graph.Generation(to.number)
}

// ordered reports whether generations are good enough to walk by: among those of
// the graph a commit comes after all that lead to it.
func (c *claims) ordered() bool { return c.graph != nil && c.graph.Corrected() }
