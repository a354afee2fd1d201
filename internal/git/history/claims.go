package history

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/commitgraph"
)

// errContradicted means that tree, parents or date in the commit-graph differ from the commit.
var errContradicted = fmt.Errorf("the commit-graph contradicts a commit: %w", git.ErrCorrupt)

// claims are the data of a repository's commit-graph, if it has one. Walks rely on them for the
// commits that they skip. Commits that are shown, started from or compared are verified first.
type claims struct {
	graph *commitgraph.Graph
}

// count returns the number of commits in the graph. Smaller numbers are positions in the graph.
func (c *claims) count() uint32 {
	if c.graph == nil {
		return 0
	}
	return c.graph.Len()
}

func (c *claims) has(n uint32) bool { return n < c.count() }

// withCommitGraph returns the answer of ask, whose walk may use the commit-graph. If the graph
// proves wrong, it asks again without it.
func withCommitGraph[T any](
	ctx context.Context, snapshot *git.Snapshot, cache *Cache, ask func(*source) (T, error),
) (T, error) {
	s, err := newSource(ctx, snapshot, cache)
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
	if s, err = newSource(ctx, snapshot, cache); err != nil {
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

// links returns the graph's data of a commit.
func (c *claims) links(at uint32) links {
	return links{
		number: at, tree: c.graph.Tree(at), date: c.graph.Date(at), parents: slices.Collect(c.graph.Parents(at)),
	}
}

// agrees compares the graph with a commit.
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

// leavesUnchanged reports whether, according to the graph, a commit does not change a path of its
// first parent, or of nothing without a parent. False means unknown.
func (s *source) leavesUnchanged(l links, path string) bool {
	return path != "" && s.claims.has(l.number) && !s.claims.graph.MayChange(l.number, s.trail(path).filter)
}

// mayLead reports whether a commit may be a descendant of another one. A commit in the graph has
// all of its ancestors in the graph.
func (c *claims) mayLead(from, to links) bool {
	return !c.has(from.number) || c.has(to.number) && c.graph.Generation(from.number) > c.graph.Generation(to.number)
}

// ordered reports whether generations order the walk: a commit's generation in the graph exceeds
// those of its ancestors.
func (c *claims) ordered() bool { return c.graph != nil && c.graph.Corrected() }
