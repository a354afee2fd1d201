package repos

import (
	"context"
	"sync"
)

// DefaultGraphBytes remembers the parents of about 400,000 commits over all
// repositories. In a larger history without a commit-graph file, all commits are
// read again when refs have changed and a commit is asked for that none leads to.
const DefaultGraphBytes = 64 << 20

// What an entry takes: the sizes of the types, and of a place in a map, of which
// up to half are free.
const (
	graphCost  = 130
	parentCost = 24
)

// knownParents remembers the parents of commits, within a number of bytes. A
// commit never changes, so an entry is right for ever; when they are full, all go:
// a place in the list of an lru.Cache would cost as much as the entry.
type knownParents struct {
	limit int64

	mu      sync.Mutex
	bytes   int64
	parents map[ID][]ID
}

func newKnownParents(limit int64) *knownParents {
	if limit <= 0 {
		limit = DefaultGraphBytes
	}
	return &knownParents{limit: limit, parents: make(map[ID][]ID)}
}

func (g *knownParents) get(id ID) ([]ID, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	parents, ok := g.parents[id]
	return parents, ok
}

func (g *knownParents) put(id ID, parents []ID) {
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

// reachable reports whether a served ref, or HEAD, leads to the commit.
func (s *Snapshot) reachable(ctx context.Context, want ID) (bool, error) {
	found, err := s.reachableOf(ctx, []ID{want})
	return len(found) > 0, err
}

// reachableOf returns those of the commits, in their order, that a served ref or
// HEAD leads to. What is learned is remembered until the refs change. Where none is
// found and a ref cannot be read, that is an error: the ref may lead to them.
func (s *Snapshot) reachableOf(ctx context.Context, wanted []ID) ([]ID, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	reach, damage, err := s.reach()
	if err != nil {
		return nil, err
	}
	found, err := reach.among(ctx, wanted, s.parents)
	if err != nil {
		return nil, err
	}
	if sure, err := s.confirmed(reach.graph, found); err != nil {
		return nil, err
	} else if !sure { // the graph is dropped
		return s.reachableOf(ctx, wanted)
	}
	s.repository.catalogue.shapes.countReach(s.repository.dir, reach)
	if len(found) == 0 {
		return nil, damage
	}
	return found, nil
}

// reach is what the refs lead to as they are now. Damage is why that is not known
// of all refs.
func (s *Snapshot) reach() (r *reach, damage, err error) {
	now, raws, err := s.refs.tips()
	if err != nil {
		return nil, nil, err
	}
	graph := s.CommitGraph()
	if r = s.repository.catalogue.shapes.reach(s.repository.dir, now.state, graph); r != nil {
		return r, nil, nil
	}
	refs, err := s.refsOf(now.Names, raws, s.ref)
	if err != nil {
		return nil, nil, err
	}
	if raw, ok := s.refs.followIn(raws, "HEAD"); ok {
		if head, err := s.ref("HEAD", raw); err == nil {
			refs = append(refs, head)
		}
	}
	tips := make([]ID, 0, len(refs))
	for _, ref := range refs {
		if !ref.Commit.IsZero() {
			tips = append(tips, ref.Commit)
		}
		if damage == nil {
			damage = ref.Damage
		}
	}
	r = newReach(now.state, graph, tips)
	if damage == nil && !s.isCut() { // or more may be reached although no ref changes
		r = s.repository.catalogue.shapes.keepReach(s.repository.dir, r)
	}
	return r, damage, nil
}

// parents of a commit. A shallow repository's history ends where the commit
// is missing.
func (s *Snapshot) parents(id ID) ([]ID, error) {
	known := s.repository.catalogue.parents
	if parents, ok := known.get(id); ok {
		return parents, nil
	}
	commit, err := s.Commit(id)
	if err != nil {
		if s.isShallow(err) {
			return nil, nil
		}
		return nil, mustExist(id, err)
	}
	known.put(id, commit.Parents)
	return commit.Parents, nil
}
