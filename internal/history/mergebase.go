package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/newest"
)

// maxPainted bounds the commits that a search for common ancestors remembers,
// some 200 bytes each: more than Linux has.
const maxPainted = 2_000_000

// settleSteps is for how many commits a count goes on after it seems to be
// done: clocks that were wrong may have hidden something. git goes on for five.
const settleSteps = 1000

// MergeBases lists the best common ancestors of two commits: those that are
// not ancestors of other common ones, the newest first, as
// `git merge-base --all` does. There are none when the histories have nothing
// in common, and several after merges that crossed.
//
// Of several that were committed in the same second another one may come first
// when there is a commit-graph file, for git as here.
func MergeBases(ctx context.Context, snapshot *repos.Snapshot, facts *Facts, a, b repos.ID) ([]repos.ID, error) {
	return withCommitGraph(ctx, snapshot, facts, func(s *source) ([]repos.ID, error) {
		bases, err := s.mergeBases(a, b)
		if err == nil {
			err = s.confirm(append(bases[:len(bases):len(bases)], a, b)...)
		}
		return bases, err
	})
}

func (s *source) mergeBases(a, b repos.ID) ([]repos.ID, error) {
	if a == b {
		_, _, err := s.links(a)
		return []repos.ID{a}, err
	}
	bases, err := s.commonAncestors(a, b)
	if err != nil {
		return nil, err
	}
	return s.independent(bases)
}

// MergeBase returns the commit that `git diff A...B` compares b with: the first of
// the best common ancestors. It is [repos.ErrNotFound] when there are none.
func MergeBase(ctx context.Context, snapshot *repos.Snapshot, facts *Facts, a, b repos.ID) (repos.ID, error) {
	bases, err := MergeBases(ctx, snapshot, facts, a, b)
	if err != nil {
		return repos.ID{}, err
	}
	if len(bases) == 0 {
		return repos.ID{}, fmt.Errorf("common ancestor: %w", repos.ErrNotFound)
	}
	return bases[0], nil
}

// AheadBehind counts the commits that head has and base has not, and the other
// way round, as `git rev-list --left-right --count HEAD...BASE` does.
func AheadBehind(
	ctx context.Context, snapshot *repos.Snapshot, facts *Facts, base, head repos.ID,
) (ahead, behind int, err error) {
	counts, err := withCommitGraph(ctx, snapshot, facts, func(s *source) (counts [2]int, err error) {
		if err := s.confirm(base, head); err != nil {
			return counts, err
		}
		return s.aheadBehind(base, head)
	})
	return counts[0], counts[1], err
}

func (s *source) aheadBehind(base, head repos.ID) (counts [2]int, err error) {
	p := newPainter(s)
	if err := errors.Join(p.start(left, head), p.start(right, base)); err != nil {
		return counts, err
	}
	if err := p.settle(); err != nil {
		return counts, err
	}
	for _, m := range p.marks {
		switch m & (left | right) {
		case left:
			counts[0]++
		case right:
			counts[1]++
		}
	}
	return counts, nil
}

// marks say from where a commit was reached.
type marks uint8

const (
	left  marks = 1 << iota
	right       // from one of the others
	stale       // from a commit that was reached from both sides
	shared
)

// painter spreads marks from commits to their ancestors, the newest first, for the
// answers of git-merge-base(1). Commits are numbers: those of the graph have their
// positions, others get the next ones as they come.
type painter struct {
	source  *source
	inside  uint32 // commits of the graph
	numbers map[repos.ID]uint32
	others  []outsider
	marks   []marks
	queued  []uint8 // that many times: at most once for each mark
	queue   newest.Queue[uint32]
	fresh   int // how many in the queue are not stale
	common  []uint32
}

// outsider is a commit that is not in the graph.
type outsider struct {
	id repos.ID
	links
}

func newPainter(s *source) *painter {
	p := &painter{source: s, numbers: make(map[repos.ID]uint32)}
	if s.claims.graph != nil {
		p.inside = s.claims.graph.Len()
	}
	p.marks, p.queued = make([]marks, p.inside), make([]uint8, p.inside)
	return p
}

func (p *painter) start(m marks, ids ...repos.ID) error {
	for _, id := range ids {
		n, err := p.number(id)
		if err != nil {
			return err
		}
		p.mark(n, m)
	}
	return nil
}

func (p *painter) number(id repos.ID) (uint32, error) {
	if at, ok := p.source.claims.find(id); ok {
		return at, nil
	}
	if n, known := p.numbers[id]; known {
		return n, nil
	}
	if len(p.others) >= maxPainted {
		return 0, fmt.Errorf("more than %d commits of history: %w", maxPainted, repos.ErrTooLarge)
	}
	found, _, err := p.source.stored(id)
	if err != nil {
		return 0, err
	}
	n := uint32(len(p.marks))
	p.numbers[id] = n
	p.others = append(p.others, outsider{id, found})
	p.marks, p.queued = append(p.marks, 0), append(p.queued, 0)
	return n, nil
}

func (p *painter) id(n uint32) repos.ID {
	if n < p.inside {
		return p.source.claims.graph.ID(n)
	}
	return p.others[n-p.inside].id
}

func (p *painter) date(n uint32) uint64 {
	if n < p.inside {
		return p.source.claims.graph.Date(n)
	}
	return p.others[n-p.inside].date
}

// generation orders the queue; where the graph's are not good enough it is the same
// of all.
func (p *painter) generation(n uint32) uint64 {
	switch {
	case !p.source.claims.ordered():
		return 0
	case n < p.inside:
		return p.source.claims.graph.Generation(n)
	default:
		return math.MaxUint64
	}
}

// mark adds marks to a commit and queues it, so that its ancestors get them.
func (p *painter) mark(n uint32, m marks) {
	if m&stale != 0 && p.marks[n]&stale == 0 {
		p.fresh -= int(p.queued[n])
	}
	p.marks[n] |= m
	if p.queued[n]++; p.marks[n]&stale == 0 {
		p.fresh++
	}
	p.queue.PushRanked(p.generation(n), p.date(n), n)
}

// step takes the newest commit and marks its parents.
func (p *painter) step() (n uint32, err error) {
	if err := p.source.ctx.Err(); err != nil {
		return 0, err
	}
	n = p.queue.Pop()
	if p.queued[n]--; p.marks[n]&stale == 0 {
		p.fresh--
	}
	m := p.marks[n] & (left | right | stale)
	if m == left|right {
		if p.marks[n]&shared == 0 {
			p.marks[n] |= shared
			p.common = append(p.common, n)
		}
		m |= stale
	}
	if n < p.inside {
		for parent := range p.source.claims.graph.Parents(n) {
			p.markParent(parent, m)
		}
		return n, nil
	}
	for _, id := range p.others[n-p.inside].parents {
		parent, err := p.number(id)
		if err != nil {
			return n, err
		}
		p.markParent(parent, m)
	}
	return n, nil
}

func (p *painter) markParent(parent uint32, m marks) {
	if p.marks[parent]&m != m {
		p.mark(parent, m)
	}
}

// settle goes on until every commit that only one side has must have been met: by
// generations, at once when only ancestors of common ones are left.
func (p *painter) settle() error {
	if p.source.claims.ordered() {
		return p.spread()
	}
	oldest := ^uint64(0)
	for steps := settleSteps; p.queue.Len() > 0 && steps > 0; {
		n, err := p.step()
		if err != nil {
			return err
		}
		if p.marks[n]&stale == 0 {
			oldest = min(oldest, p.date(n))
		}
		if steps--; p.fresh > 0 || p.queue.Len() > 0 && p.queue.Date() >= oldest {
			steps = settleSteps
		}
	}
	return nil
}

// paint marks the ancestors of one commit and of others, until only ancestors
// of common ones are left.
func (s *source) paint(one repos.ID, others ...repos.ID) (*painter, error) {
	p := newPainter(s)
	if err := errors.Join(p.start(left, one), p.start(right, others...)); err != nil {
		return nil, err
	}
	return p, p.spread()
}

// spread goes on until only ancestors of common commits are left.
func (p *painter) spread() error {
	for p.fresh > 0 {
		if _, err := p.step(); err != nil {
			return err
		}
	}
	return nil
}

// commonAncestors finds common ancestors of two commits, among them all of the
// best, the newest first.
func (s *source) commonAncestors(a, b repos.ID) ([]repos.ID, error) {
	p, err := s.paint(a, b)
	if err != nil {
		return nil, err
	}
	bases := slices.DeleteFunc(p.common, func(n uint32) bool { return p.marks[n]&stale != 0 })
	slices.SortStableFunc(bases, func(x, y uint32) int { return cmp.Compare(p.date(y), p.date(x)) })
	ids := make([]repos.ID, len(bases))
	for i, n := range bases {
		ids[i] = p.id(n)
	}
	return ids, nil
}

// independent leaves out commits that others of the list lead to: clocks that
// were wrong can let the search find them.
func (s *source) independent(ids []repos.ID) ([]repos.ID, error) {
	if len(ids) < 2 {
		return ids, nil
	}
	redundant := make(map[repos.ID]bool)
	for _, id := range ids {
		others := slices.DeleteFunc(slices.Clone(ids), func(o repos.ID) bool { return o == id || redundant[o] })
		if redundant[id] || len(others) == 0 {
			continue
		}
		p, err := s.paint(id, others...)
		if err != nil {
			return nil, err
		}
		reached := func(id repos.ID, by marks) bool {
			n, err := p.number(id) // is known
			return err == nil && p.marks[n]&by != 0
		}
		redundant[id] = reached(id, right)
		for _, other := range others {
			redundant[other] = redundant[other] || reached(other, left)
		}
	}
	return slices.DeleteFunc(ids, func(id repos.ID) bool { return redundant[id] }), nil
}
