package repos

import (
	"context"
	"slices"
	"sync"
)

// maxGraphCommits bounds the commits whose parents are remembered over all
// repositories: about 100 bytes each.
const maxGraphCommits = 2_000_000

// commitGraphs remembers the parents of commits. A commit never changes, so an
// entry is right for ever; the bound is only about memory.
type commitGraphs struct {
	mu      sync.Mutex
	parents map[ID][]ID
}

func newCommitGraphs() *commitGraphs { return &commitGraphs{parents: make(map[ID][]ID)} }

func (g *commitGraphs) get(id ID) ([]ID, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	parents, ok := g.parents[id]
	return parents, ok
}

func (g *commitGraphs) put(id ID, parents []ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.parents) >= maxGraphCommits {
		clear(g.parents)
	}
	g.parents[id] = parents
}

// reachable reports whether a served ref, or HEAD, leads to the commit. The
// walk goes breadth first from the tips, where the wanted commit mostly is; a
// commit that is not reachable costs a walk of the whole history once, and map
// lookups after that.
func (s *Snapshot) reachable(ctx context.Context, want ID) (bool, error) {
	found, err := s.reachableOf(ctx, []ID{want})
	return len(found) > 0, err
}

// reachableOf gives those of the commits, in their order, that a served ref or
// HEAD leads to. It takes one walk for all of them, which ends when they are
// found.
func (s *Snapshot) reachableOf(ctx context.Context, wanted []ID) ([]ID, error) {
	left := make(map[ID]bool, len(wanted))
	for _, id := range wanted {
		left[id] = true
	}
	if len(left) == 0 {
		return nil, nil
	}
	queue, err := s.tips()
	if err != nil {
		return nil, err
	}
	seen := make(map[ID]bool, len(queue))
	for ; len(queue) > 0; queue = queue[1:] {
		id := queue[0]
		if delete(left, id); len(left) == 0 {
			break
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		parents, err := s.parents(id)
		if err != nil {
			return nil, err
		}
		queue = append(queue, parents...)
	}
	return slices.DeleteFunc(slices.Clone(wanted), func(id ID) bool { return left[id] }), nil
}

func (s *Snapshot) tips() ([]ID, error) {
	refs, err := s.Refs()
	if err != nil {
		return nil, err
	}
	tips := make([]ID, 0, len(refs)+1)
	if head, err := s.Head(); err == nil {
		tips = append(tips, head.Commit)
	}
	for _, ref := range refs {
		if !ref.Commit.IsZero() {
			tips = append(tips, ref.Commit)
		}
	}
	return tips, nil
}

// parents of a commit. A shallow repository's history ends where the commit
// is missing.
func (s *Snapshot) parents(id ID) ([]ID, error) {
	graphs := s.repository.catalogue.graphs
	if parents, ok := graphs.get(id); ok {
		return parents, nil
	}
	commit, err := s.Commit(id)
	if err != nil {
		if s.isShallow(err) {
			return nil, nil
		}
		return nil, mustExist(id, err)
	}
	graphs.put(id, commit.Parents)
	return commit.Parents, nil
}
