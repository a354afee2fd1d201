package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/newest"
)

// maxPainted bounds the commits that a search for common ancestors remembers, some 100 bytes each:
// more than Linux has.
const maxPainted = 2_000_000

// settleSteps is the number of commits that a count continues after its apparent end, because wrong
// clocks may have hidden some. git continues for five.
const settleSteps = 1000

// MergeBases lists the best common ancestors of two commits, newest first: those that are not
// ancestors of other common ones, as `git merge-base --all` does. There are none for unrelated
// histories, and several after criss-cross merges.
//
// The order of bases committed in the same second may depend on a commit-graph file, as in git.
func MergeBases(ctx context.Context, snapshot *git.Snapshot, cache *Cache, a, b git.ID) ([]git.ID, error) {
	return withCommitGraph(ctx, snapshot, cache, func(s *source) ([]git.ID, error) {
		one, other := s.number(a), s.number(b)
		bases, err := s.mergeBases(one, other)
		if err == nil {
			err = s.confirm(append(bases[:len(bases):len(bases)], one, other)...)
		}
		var ids []git.ID
		for _, n := range bases {
			ids = append(ids, s.id(n))
		}
		return ids, err
	})
}

func (s *source) mergeBases(a, b uint32) ([]uint32, error) {
	if a == b {
		_, _, err := s.links(a)
		return []uint32{a}, err
	}
	bases, err := s.commonAncestors(a, b)
	if err != nil {
		return nil, err
	}
	return s.independent(bases)
}

// MergeBase returns the commit that `git diff A...B` compares b with: the first of the best common
// ancestors. It is [git.ErrNotFound] if there are none.
func MergeBase(ctx context.Context, snapshot *git.Snapshot, cache *Cache, a, b git.ID) (git.ID, error) {
	bases, err := MergeBases(ctx, snapshot, cache, a, b)
	if err != nil {
		return git.ID{}, err
	}
	if len(bases) == 0 {
		return git.ID{}, fmt.Errorf("common ancestor: %w", git.ErrNotFound)
	}
	return bases[0], nil
}

// AheadBehind counts the commits that head has and base lacks, and vice versa, as `git rev-list
// --left-right --count HEAD...BASE` does.
func AheadBehind(
	ctx context.Context, snapshot *git.Snapshot, cache *Cache, base, head git.ID,
) (ahead, behind int, err error) {
	counts, err := withCommitGraph(ctx, snapshot, cache, func(s *source) (counts [2]int, err error) {
		base, head := s.number(base), s.number(head)
		if err := s.confirm(base, head); err != nil {
			return counts, err
		}
		return s.aheadBehind(base, head)
	})
	return counts[0], counts[1], err
}

func (s *source) aheadBehind(base, head uint32) (counts [2]int, err error) {
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

// marks record the sides from which a commit was reached.
type marks uint8

const (
	left  marks = 1 << iota
	right       // from one of the other commits
	stale       // from a commit that was reached from both sides
	shared
)

// painter propagates marks from commits to their ancestors, newest first, for the answers of
// git-merge-base(1).
type painter struct {
	source *source
	marks  []marks // by the number of the commit
	queued []uint8 // how often: at most once for each mark
	met    int     // marked commits outside of the graph
	queue  newest.Queue[uint32]
	fresh  int // number of queued commits that are not stale
	common []uint32
}

func newPainter(s *source) *painter {
	n := s.claims.count()
	return &painter{source: s, marks: make([]marks, n), queued: make([]uint8, n)}
}

func (p *painter) start(m marks, numbers ...uint32) error {
	for _, n := range numbers {
		if err := p.mark(n, m); err != nil {
			return err
		}
	}
	return nil
}

// date returns the date of a commit, from the graph if possible.
func (p *painter) date(n uint32) (uint64, error) {
	if p.source.claims.has(n) {
		return p.source.claims.graph.Date(n), nil
	}
	found, _, err := p.source.links(n)
	return found.date, err
}

// generation orders the queue; it is constant if the graph's generations are unusable.
func (p *painter) generation(n uint32) uint64 {
	switch {
	case !p.source.claims.ordered():
		return 0
	case p.source.claims.has(n):
		return p.source.claims.graph.Generation(n)
	default:
		return math.MaxUint64
	}
}

// marksOf returns the marks of a commit, none if it was not visited.
func (p *painter) marksOf(n uint32) marks {
	if int(n) >= len(p.marks) {
		return 0
	}
	return p.marks[n]
}

// mark adds marks to a commit and queues it, so that its ancestors inherit them.
func (p *painter) mark(n uint32, m marks) error {
	date, err := p.date(n)
	if err != nil {
		return err
	}
	if p.marksOf(n) == 0 && !p.source.claims.has(n) {
		if p.met++; p.met > maxPainted {
			return fmt.Errorf("more than %d commits of history: %w", maxPainted, git.ErrTooLarge)
		}
		p.marks, p.queued = extended(p.marks, n), extended(p.queued, n)
	}
	if m&stale != 0 && p.marks[n]&stale == 0 {
		p.fresh -= int(p.queued[n])
	}
	p.marks[n] |= m
	if p.queued[n]++; p.marks[n]&stale == 0 {
		p.fresh++
	}
	p.queue.PushRanked(p.generation(n), date, n)
	return nil
}

// step takes the newest commit and marks its parents.
func (p *painter) step() (n uint32, err error) {
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
	if p.source.claims.has(n) {
		for parent := range p.source.claims.graph.Parents(n) {
			if err := p.markParent(parent, m); err != nil {
				return n, err
			}
		}
		return n, p.source.ctx.Err()
	}
	found, _, err := p.source.links(n)
	if err != nil {
		return n, err
	}
	for _, parent := range found.parents {
		if err := p.markParent(parent, m); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (p *painter) markParent(parent uint32, m marks) error {
	if p.marksOf(parent)&m == m {
		return nil
	}
	return p.mark(parent, m)
}

// settle continues until every commit of only one side must have been visited. With generations,
// that is once only ancestors of common commits are left.
func (p *painter) settle() error {
	if p.source.claims.ordered() {
		return p.spread()
	}
	oldest := ^uint64(0)
	for steps := settleSteps; p.queue.Len() > 0 && steps > 0; {
		date := p.queue.Date()
		n, err := p.step()
		if err != nil {
			return err
		}
		if p.marks[n]&stale == 0 {
			oldest = min(oldest, date)
		}
		if steps--; p.fresh > 0 || p.queue.Len() > 0 && p.queue.Date() >= oldest {
			steps = settleSteps
		}
	}
	return nil
}

// paint marks the ancestors of one commit and of others, until only ancestors of common commits are
// left.
func (s *source) paint(one uint32, others ...uint32) (*painter, error) {
	p := newPainter(s)
	if err := errors.Join(p.start(left, one), p.start(right, others...)); err != nil {
		return nil, err
	}
	return p, p.spread()
}

// spread continues until only ancestors of common commits are left.
func (p *painter) spread() error {
	for p.fresh > 0 {
		if _, err := p.step(); err != nil {
			return err
		}
	}
	return nil
}

// commonAncestors finds common ancestors of two commits, including all of the best, newest first.
func (s *source) commonAncestors(a, b uint32) ([]uint32, error) {
	p, err := s.paint(a, b)
	if err != nil {
		return nil, err
	}
	bases := slices.DeleteFunc(p.common, func(n uint32) bool { return p.marks[n]&stale != 0 })
	dates := make(map[uint32]uint64, len(bases))
	for _, n := range bases {
		if dates[n], err = p.date(n); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(bases, func(x, y uint32) int { return cmp.Compare(dates[y], dates[x]) })
	return bases, nil
}

// independent removes ancestors of other commits in the list, which the search may return after
// wrong clocks.
func (s *source) independent(list []uint32) ([]uint32, error) {
	if len(list) < 2 {
		return list, nil
	}
	redundant := make(map[uint32]bool)
	for _, n := range list {
		others := slices.DeleteFunc(slices.Clone(list), func(o uint32) bool { return o == n || redundant[o] })
		if redundant[n] || len(others) == 0 {
			continue
		}
		p, err := s.paint(n, others...)
		if err != nil {
			return nil, err
		}
		redundant[n] = p.marksOf(n)&right != 0
		for _, other := range others {
			redundant[other] = redundant[other] || p.marksOf(other)&left != 0
		}
	}
	return slices.DeleteFunc(list, func(n uint32) bool { return redundant[n] }), nil
}
