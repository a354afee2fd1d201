package history

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/repos"
)

// maxPainted bounds the commits that a search for common ancestors remembers,
// some 200 bytes each: more than Linux has.
const maxPainted = 2_000_000

// settleSteps is for how many commits a count goes on after it seems to be
// done: clocks that were wrong may have hidden something. git goes on for five
// (SLOP in revision.c).
const settleSteps = 1000

// MergeBases lists the best common ancestors of two commits: those that are
// not ancestors of other common ones, the newest first, as
// `git merge-base --all` does. There are none when the histories have nothing
// in common, and several after merges that crossed.
//
// Of several that were committed in the same second git may list another one
// first when it has a commit-graph file.
func MergeBases(ctx context.Context, snapshot *repos.Snapshot, facts *Facts, a, b repos.ID) ([]repos.ID, error) {
	return walking(ctx, snapshot, facts, func(s *source) ([]repos.ID, error) {
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

// MergeBase is the commit that `git diff A...B` compares b with: the first of
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
func AheadBehind(ctx context.Context, snapshot *repos.Snapshot, facts *Facts, base, head repos.ID) (ahead, behind int, err error) {
	counts, err := walking(ctx, snapshot, facts, func(s *source) (counts [2]int, err error) {
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
	if !s.claims.ordered() {
		bases, err := s.mergeBases(base, head)
		if err == nil {
			err = p.start(left|right|stale, bases...)
		}
		if err != nil {
			return counts, err
		}
	}
	if err := p.settle(); err != nil {
		return counts, err
	}
	for _, c := range p.commits {
		switch c.marks & (left | right) {
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

// painted is a commit that was reached.
type painted struct {
	id      repos.ID
	parents []repos.ID
	date    uint64
	// generation is 0 of all where they are not good enough to walk by.
	generation uint64
	marks      marks
	queued     int // that many times
}

// painter spreads marks from commits to their ancestors, the newest first:
// paint_down_to_common of git's commit-reach.c.
type painter struct {
	source  *source
	commits map[repos.ID]*painted
	queue   paintQueue
	fresh   int // how many in the queue are not stale
	common  []*painted
}

func newPainter(s *source) *painter { return &painter{source: s, commits: make(map[repos.ID]*painted)} }

func (p *painter) start(m marks, ids ...repos.ID) error {
	for _, id := range ids {
		c, err := p.commit(id)
		if err != nil {
			return err
		}
		p.mark(c, m)
	}
	return nil
}

func (p *painter) commit(id repos.ID) (*painted, error) {
	if c := p.commits[id]; c != nil {
		return c, nil
	}
	if len(p.commits) >= maxPainted {
		return nil, fmt.Errorf("more than %d commits of history: %w", maxPainted, repos.ErrTooLarge)
	}
	links, _, err := p.source.links(id)
	if err != nil {
		return nil, err
	}
	c := &painted{id: id, parents: links.parents, date: links.date}
	if p.source.claims.ordered() {
		c.generation = p.source.claims.generation(links)
	}
	p.commits[id] = c
	return c, nil
}

// mark adds marks to a commit and queues it, so that its ancestors get them.
func (p *painter) mark(c *painted, m marks) {
	if m&stale != 0 && c.marks&stale == 0 {
		p.fresh -= c.queued
	}
	c.marks |= m
	if c.queued++; c.marks&stale == 0 {
		p.fresh++
	}
	heap.Push(&p.queue, queuedCommit{c, p.queue.pushed})
	p.queue.pushed++
}

// step takes the newest commit and marks its parents.
func (p *painter) step() (*painted, error) {
	c := heap.Pop(&p.queue).(queuedCommit).painted
	if c.queued--; c.marks&stale == 0 {
		p.fresh--
	}
	m := c.marks & (left | right | stale)
	if m == left|right {
		if c.marks&shared == 0 {
			c.marks |= shared
			p.common = append(p.common, c)
		}
		m |= stale
	}
	for _, id := range c.parents {
		parent, err := p.commit(id)
		if err != nil {
			return nil, err
		}
		if parent.marks&m != m {
			p.mark(parent, m)
		}
	}
	return c, nil
}

// settle goes on until every commit that only one side has must have been met: by
// generations, at once when only ancestors of common ones are left.
func (p *painter) settle() error {
	if p.source.claims.ordered() {
		return p.spread()
	}
	oldest := ^uint64(0)
	for steps := settleSteps; p.queue.Len() > 0 && steps > 0; {
		c, err := p.step()
		if err != nil {
			return err
		}
		if c.marks&stale == 0 {
			oldest = min(oldest, c.date)
		}
		if steps--; p.fresh > 0 || p.queue.Len() > 0 && p.queue.list[0].date >= oldest {
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
func (s *source) commonAncestors(a, b repos.ID) ([]*painted, error) {
	p, err := s.paint(a, b)
	if err != nil {
		return nil, err
	}
	bases := slices.DeleteFunc(p.common, func(c *painted) bool { return c.marks&stale != 0 })
	slices.SortStableFunc(bases, func(x, y *painted) int { return cmp.Compare(y.date, x.date) })
	return bases, nil
}

// independent leaves out commits that others of the list lead to: clocks that
// were wrong can let the search find them.
func (s *source) independent(bases []*painted) ([]repos.ID, error) {
	ids := make([]repos.ID, len(bases))
	for i, c := range bases {
		ids[i] = c.id
	}
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
		redundant[id] = p.commits[id].marks&right != 0
		for _, other := range others {
			redundant[other] = redundant[other] || p.commits[other].marks&left != 0
		}
	}
	return slices.DeleteFunc(ids, func(id repos.ID) bool { return redundant[id] }), nil
}

// queuedCommit is one visit to make. Of those of one second the first to come is
// the first to go.
type queuedCommit struct {
	*painted
	order int
}

// paintQueue has the visits to make, those of the newest commits first.
type paintQueue struct {
	list   []queuedCommit
	pushed int
}

// Len implements [heap.Interface].
func (q *paintQueue) Len() int { return len(q.list) }

// Less implements [heap.Interface].
func (q *paintQueue) Less(i, j int) bool {
	x, y := q.list[i], q.list[j]
	if x.generation != y.generation {
		return x.generation > y.generation
	}
	if x.date != y.date {
		return x.date > y.date
	}
	return x.order < y.order
}

// Swap implements [heap.Interface].
func (q *paintQueue) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }

// Push implements [heap.Interface].
func (q *paintQueue) Push(x any) { q.list = append(q.list, x.(queuedCommit)) }

// Pop implements [heap.Interface].
func (q *paintQueue) Pop() any {
	last := len(q.list) - 1
	c := q.list[last]
	q.list[last] = queuedCommit{}
	q.list = q.list[:last]
	return c
}
