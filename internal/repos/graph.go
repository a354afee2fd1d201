package repos

import (
	"context"
	"slices"
	"sync"
)

// DefaultGraphBytes remembers the parents of about 400,000 commits over all
// repositories. In a larger history, a commit that no ref leads to costs a walk of
// all of it each time that it is asked for.
const DefaultGraphBytes = 64 << 20

// What an entry takes: the sizes of the types, and of a place in a map, of which
// up to half are free.
const (
	graphCost  = 130
	parentCost = 24
)

// commitGraphs remembers the parents of commits, within a number of bytes. A
// commit never changes, so an entry is right for ever; when they are full, all go.
type commitGraphs struct {
	limit int64

	mu      sync.Mutex
	bytes   int64
	parents map[ID][]ID
}

func newCommitGraphs(limit int64) *commitGraphs {
	if limit <= 0 {
		limit = DefaultGraphBytes
	}
	return &commitGraphs{limit: limit, parents: make(map[ID][]ID)}
}

func (g *commitGraphs) get(id ID) ([]ID, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	parents, ok := g.parents[id]
	return parents, ok
}

func (g *commitGraphs) put(id ID, parents []ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known := g.parents[id]; known {
		return
	}
	cost := graphCost + parentCost*int64(len(parents))
	if g.bytes+cost > g.limit {
		g.parents, g.bytes = make(map[ID][]ID), 0 // to clear it would keep its places
	}
	g.bytes += cost
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
// found. Where none is, and a ref cannot be read, that is an error: the ref may
// lead to them.
func (s *Snapshot) reachableOf(ctx context.Context, wanted []ID) ([]ID, error) {
	left := make(map[ID]bool, len(wanted))
	for _, id := range wanted {
		left[id] = true
	}
	if len(left) == 0 {
		return nil, nil
	}
	queue, damage, err := s.tips()
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
	found := slices.DeleteFunc(slices.Clone(wanted), func(id ID) bool { return left[id] })
	if len(found) == 0 {
		return nil, damage
	}
	return found, nil
}

// tips are the commits that served refs lead to. Damage is why that is not known
// of all refs.
func (s *Snapshot) tips() (tips []ID, damage, err error) {
	refs, err := s.Refs()
	if err != nil {
		return nil, nil, err
	}
	tips = make([]ID, 0, len(refs)+1)
	if head, err := s.Head(); err == nil {
		tips = append(tips, head.Commit)
	}
	for _, ref := range refs {
		if !ref.Commit.IsZero() {
			tips = append(tips, ref.Commit)
		}
		if damage == nil {
			damage = ref.Damage
		}
	}
	return tips, damage, nil
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
