package git

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/git/commitgraph"
	"github.com/repomcp/repomcp/internal/git/objects"
)

const (
	// reachedCost is the memory of a commit outside of a graph: its place in a map, of which up to
	// half are free, and one in a queue.
	reachedCost = 60
	// stepsAtOnce is how many commits are walked before waiting goroutines get their turn.
	stepsAtOnce = 1000
	// readSteps is how many rows of a commit-graph take as long as reading one commit.
	readSteps = 100
)

// ErrSteps says that the steps of [WithSteps] were not enough.
var ErrSteps = errors.New("the history is too long to be gone through at once")

type stepsKey struct{}

// WithSteps returns a context in which revisions are resolved within a number of steps, or with
// [ErrSteps]. A step goes to the parents of a commit, if a commit-graph or an earlier walk has
// them; reading a commit counts for a hundred. The same question asked again continues the walk.
func WithSteps(ctx context.Context, most int64) context.Context {
	left := new(atomic.Int64)
	left.Store(most)
	return context.WithValue(ctx, stepsKey{}, left)
}

// takeSteps fails if the context has ended, or has no steps left.
func takeSteps(ctx context.Context, steps int64) error {
	if left, ok := ctx.Value(stepsKey{}).(*atomic.Int64); ok && left.Add(-steps) < 0 {
		return ErrSteps
	}
	return ctx.Err()
}

// reach is the set of commits that some tips lead to, as far as it has been walked: a later
// question continues the walk, so that no commit is walked twice. For the commits of a graph it is
// a bitmap. It may be used by any number of goroutines.
type reach struct {
	state string // of the tips
	graph *commitgraph.Graph

	mu        sync.Mutex
	files     refsState // from which the tips were read, or read again
	positions []uint64  // a bit for each commit of the graph
	others    map[ID]struct{}
	inside    []uint32 // whose parents have not been walked
	outside   []ID
}

func newReach(of *Tips, graph *commitgraph.Graph, tips []ID) *reach {
	r := &reach{state: of.state, files: of.files, graph: graph, others: make(map[ID]struct{}, len(tips))}
	if graph != nil {
		r.positions = make([]uint64, (graph.Len()+63)/64)
	}
	for _, id := range tips {
		r.add(id)
	}
	return r
}

// add notes a commit, whose parents are walked later.
func (r *reach) add(id ID) {
	if at, ok := r.graph.Find(id); ok {
		r.addPosition(at)
		return
	}
	if _, known := r.others[id]; !known {
		r.others[id] = struct{}{}
		r.outside = append(r.outside, id)
	}
}

func (r *reach) addPosition(at uint32) {
	if bit := uint64(1) << (at % 64); r.positions[at/64]&bit == 0 {
		r.positions[at/64] |= bit
		r.inside = append(r.inside, at)
	}
}

func (r *reach) has(id ID) bool {
	if at, ok := r.graph.Find(id); ok {
		return r.positions[at/64]>>(at%64)&1 == 1
	}
	_, known := r.others[id]
	return known
}

// readFrom is the state of the files in which the refs are known to be the tips.
func (r *reach) readFrom() refsState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.files
}

func (r *reach) setReadFrom(state refsState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = state
}

// size is the approximate memory of the reach.
func (r *reach) size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(8*len(r.positions) + 4*cap(r.inside) + reachedCost*len(r.others))
}

// among returns the wanted commits that the tips lead to, in their order. It walks until all are
// found or history ends.
func (r *reach) among(ctx context.Context, wanted []ID, parents func(ID) ([]ID, error)) ([]ID, error) {
	for {
		if err := takeSteps(ctx, stepsAtOnce); err != nil {
			return nil, err
		}
		found, ended := r.look(wanted)
		if ended || len(found) == len(wanted) {
			return found, nil
		}
		if err := r.walk(parents); err != nil {
			return nil, err
		}
	}
}

func (r *reach) look(wanted []ID) (found []ID, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range wanted {
		if r.has(id) {
			found = append(found, id)
		}
	}
	return found, len(r.inside)+len(r.outside) == 0
}

// walk takes some steps.
func (r *reach) walk(parents func(ID) ([]ID, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range stepsAtOnce {
		if err := r.step(parents); err != nil {
			return err
		}
	}
	return nil
}

// step adds the parents of a commit. Outside of the graph it walks breadth first from the tips,
// since the wanted commit is mostly near them.
func (r *reach) step(parents func(ID) ([]ID, error)) error {
	switch {
	case len(r.outside) > 0:
		found, err := parents(r.outside[0])
		if err != nil {
			return err
		}
		r.outside = r.outside[1:]
		for _, id := range found {
			r.add(id)
		}
	case len(r.inside) > 0:
		at := r.inside[len(r.inside)-1]
		r.inside = r.inside[:len(r.inside)-1]
		for parent := range r.graph.Parents(at) {
			r.addPosition(parent)
		}
	}
	return nil
}

// DefaultGraphBytes caches the parents of about 400,000 commits over all repositories. In a larger
// history without a commit-graph file, all commits are read again when refs have changed and a
// client asks for a commit that no ref leads to.
const DefaultGraphBytes = 64 << 20

// These are the costs of an entry: the sizes of the types, and of a place in a map, of which up to
// half are free.
const (
	graphCost  = 130
	parentCost = 24
)

// knownParents caches the parents of commits, within a number of bytes. A commit never changes, so
// an entry is valid for ever. A full cache is emptied: a place in the list of an lru.Cache would
// cost as much as the entry.
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
		g.parents, g.bytes = make(map[ID][]ID), 0 // clear would keep the allocated places
	}
	g.bytes += cost
	g.parents[id] = parents
}

// visible returns those of the wanted commits, in their order, that HEAD or a visible ref leads to,
// or all unless [Options.ReachableOnly] is set. The result of the walk is cached until the refs
// change. If none is found and a ref cannot be read, that is an error: the ref may lead to them.
func (s *Snapshot) visible(ctx context.Context, wanted []ID) ([]ID, error) {
	if len(wanted) == 0 || !s.repository.options.ReachableOnly {
		return wanted, nil
	}
	reach, damage, err := s.reach()
	if err != nil {
		return nil, err
	}
	found, err := reach.among(ctx, wanted, func(id ID) ([]ID, error) { return s.parents(ctx, id) })
	if err != nil {
		return nil, err
	}
	if sure, err := s.confirmed(reach.graph, found); err != nil {
		return nil, err
	} else if !sure { // the graph was dropped
		return s.visible(ctx, wanted)
	}
	s.repository.store.shapes.countReach(s.repository.dir, reach)
	if len(found) == 0 {
		return nil, damage
	}
	return found, nil
}

// Hidden returns those of the ids whose objects are here although no visible ref is known to lead to them: hidden
// commits, and all that are no commits. What shown commits lead to is not hidden; it is mostly enough to look there,
// while the refs are as many as pull requests. The result is nil unless [Options.ReachableOnly] is set.
func (s *Snapshot) Hidden(ctx context.Context, ids, shown []ID) (map[ID]bool, error) {
	if !s.repository.options.ReachableOnly {
		return nil, nil
	}
	hidden, commits, err := s.present(ids)
	if err != nil || len(commits) == 0 {
		return hidden, err
	}
	_, from, err := s.present(shown)
	if err != nil {
		return nil, err
	}
	found, err := s.near(ctx, commits, from)
	for _, id := range found {
		delete(hidden, id)
	}
	if err != nil && !isDamage(err) {
		return nil, err
	}
	commits = slices.DeleteFunc(commits, func(id ID) bool { return !hidden[id] })
	if found, err = s.visible(ctx, commits); err != nil && !isDamage(err) {
		return nil, err
	}
	for _, id := range found {
		delete(hidden, id)
	}
	return hidden, nil
}

// nearRounds bounds the walk of near, which is not remembered as that from the refs is.
const nearRounds = 10

// near returns those of the wanted commits to which a short walk from others leads.
func (s *Snapshot) near(ctx context.Context, wanted, from []ID) (found []ID, err error) {
	r, ended := newReach(&Tips{}, s.CommitGraph(), from), false
	for range nearRounds {
		if found, ended = r.look(wanted); ended || len(found) == len(wanted) {
			break
		}
		if err := takeSteps(ctx, stepsAtOnce); err != nil {
			return nil, err
		}
		if err := r.walk(func(id ID) ([]ID, error) { return s.parents(ctx, id) }); err != nil {
			return found, err
		}
	}
	return found, nil
}

// present returns those of the ids that objects have, and among them those of commits.
func (s *Snapshot) present(ids []ID) (all map[ID]bool, commits []ID, err error) {
	all = make(map[ID]bool)
	for _, id := range ids {
		kind, err := s.objects.Type(id)
		if err = domainError(err); errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil && !isDamage(err) {
			return nil, nil, err
		}
		all[id] = true
		if err == nil && kind == objects.Commit {
			commits = append(commits, id)
		}
	}
	return all, commits, nil
}

// reach is the reach of the present refs. damage is the error of a ref that could not be read.
func (s *Snapshot) reach() (r *reach, damage, err error) {
	graph := s.CommitGraph()
	known := s.repository.store.shapes.reach(s.repository.dir, graph)
	if known != nil && s.refs.areStill(known.readFrom()) {
		return known, nil, nil
	}
	now, raws, err := s.refs.tips()
	if err != nil {
		return nil, nil, err
	}
	if known != nil && known.state == now.state {
		known.setReadFrom(now.files)
		return known, nil, nil
	}
	refs, err := s.refsOf(now.Names, raws, s.ref)
	if err != nil {
		return nil, nil, err
	}
	s.report(refs, true)
	if raw, ok := s.refs.followIn(raws, "HEAD"); ok {
		var head Ref
		if head, damage = s.ref("HEAD", raw); damage == nil {
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
	r = newReach(now, graph, tips)
	cut, err := s.isCut()
	if damage == nil && !cut && err == nil { // or more may become reachable although no ref changes
		r = s.repository.store.shapes.keepReach(s.repository.dir, r)
	}
	return r, damage, nil
}

// parents returns the parents of a commit. A shallow repository's history ends at a missing commit.
func (s *Snapshot) parents(ctx context.Context, id ID) ([]ID, error) {
	known := s.repository.store.parents
	if parents, ok := known.get(id); ok {
		return parents, nil
	}
	if err := takeSteps(ctx, readSteps); err != nil {
		return nil, err
	}
	commit, err := s.Commit(id)
	if err != nil {
		missing := errors.Is(err, ErrNotFound) || errors.Is(err, ErrPartial) || errors.Is(err, ErrOutside)
		if !missing {
			return nil, MustExist(id, err)
		}
		if cut, unknown := s.isCut(); cut || unknown != nil {
			return nil, unknown
		}
		return nil, MustExist(id, err)
	}
	known.put(id, commit.Parents)
	return commit.Parents, nil
}
