package history

import (
	"context"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/newest"
)

// span is a walk over a range: commits that some starts reach and others, the excluded ones, do not
// (gitrevisions(7), "Specifying ranges"). The excluded commits are only certain at the end, so the
// whole range is examined before the first commit is shown.
//
// Commits are taken by date, as in a walk without a base, and exclusion spreads to parents. If an
// excluded side of a merge has the same files, the merge still follows the other sides; the bases
// themselves count as part of history there. Both follow git, with one difference: git examines
// only five more commits at the apparent end, so that wrong clocks may show a commit too many
// there.
type span struct {
	walk    *walk
	commits map[uint32]*visit
	queue   newest.Queue[*visit]
	fresh   int // number of queued commits that are not excluded
	list    []*visit
}

// visit is a commit of a range.
type visit struct {
	step
	loaded, seen, queued bool
	excluded             bool // a base reaches it
	base                 bool
	same                 bool // it changes none of the paths
}

// span finds the commits of a range, in log order.
func (w *walk) span(starts, bases []uint32) error {
	s := &span{walk: w, commits: make(map[uint32]*visit)}
	for _, n := range bases {
		v, err := s.load(n)
		if err != nil {
			return err
		}
		v.excluded, v.base = true, true
	}
	for _, n := range append(bases[:len(bases):len(bases)], starts...) {
		v, err := s.load(n)
		if err != nil {
			return err
		}
		if s.push(v); v.excluded {
			s.exclude(v.links.parents...)
		}
	}
	if err := s.run(); err != nil {
		return err
	}
	for _, v := range s.list {
		if !v.excluded {
			w.ranged = append(w.ranged, v)
		}
	}
	return nil
}

// get returns the entry of a commit, which may be new.
func (s *span) get(n uint32) *visit {
	v := s.commits[n]
	if v == nil {
		v = new(visit)
		s.commits[n] = v
	}
	return v
}

func (s *span) load(n uint32) (*visit, error) {
	v := s.get(n)
	if v.loaded {
		return v, nil
	}
	if len(s.commits) > maxHistory {
		return nil, fmt.Errorf("more than %d commits of history: %w", maxHistory, git.ErrTooLarge)
	}
	var err error
	v.links, _, err = s.walk.source.links(n)
	v.loaded = err == nil
	return v, err
}

// push queues a commit once.
func (s *span) push(v *visit) {
	if v.seen {
		return
	}
	v.seen, v.queued = true, true
	if !v.excluded {
		s.fresh++
	}
	s.queue.Push(v.links.date, v)
}

// exclude marks commits and their known ancestors as excluded.
func (s *span) exclude(numbers ...uint32) {
	for rest := slices.Clone(numbers); len(rest) > 0; {
		v := s.get(rest[len(rest)-1])
		rest = rest[:len(rest)-1]
		if v.excluded {
			continue
		}
		if v.excluded = true; v.queued {
			s.fresh--
		}
		rest = append(rest, v.links.parents...)
	}
}

// run examines the range, and continues until every excluded commit must have been visited.
func (s *span) run() error {
	oldest := noDate
	for steps := settleSteps; s.queue.Len() > 0 && steps > 0; {
		v := s.queue.Pop()
		if v.queued = false; !v.excluded {
			s.fresh--
		}
		if v.links.date < s.walk.since {
			v.excluded = true // with all of its ancestors
		}
		if err := s.queueParents(v); err != nil {
			return err
		}
		if !v.excluded {
			if v.links.date <= s.walk.until {
				s.list, oldest = append(s.list, v), v.links.date
			}
			continue
		}
		if steps--; s.fresh > 0 || s.queue.Len() > 0 && s.queue.Date() >= oldest {
			steps = settleSteps
		}
	}
	return nil
}

// queueParents queues the relevant parents of a commit; for an excluded commit, all of them.
func (s *span) queueParents(v *visit) (err error) {
	if !v.excluded && len(s.walk.limits) > 0 {
		if v.same, v.links.parents, err = s.walk.simplify(&v.step, s.relevant); err != nil {
			return err
		}
	}
	for _, n := range v.links.parents {
		parent, err := s.load(n)
		if err != nil {
			return err
		}
		if v.excluded {
			s.exclude(n)
			s.exclude(parent.links.parents...)
		}
		if s.push(parent); s.walk.firstParent && !v.excluded {
			break
		}
	}
	return nil
}

// relevant reports whether a parent may replace a merge.
func (s *span) relevant(n uint32) (bool, error) {
	v, err := s.load(n)
	return err == nil && (!v.excluded || v.base), err
}

// Steps lists the commits of base..head that are no merges, oldest first: those of which git
// format-patch makes patches, in its order.
func Steps(ctx context.Context, snapshot *git.Snapshot, cache *Cache, base, head git.ID) ([]Step, error) {
	return withCommitGraph(ctx, snapshot, cache, func(s *source) (steps []Step, err error) {
		at := position{start: head, base: base}
		w := newWalk(s, LogOptions{}, nil, at)
		if err := w.begin(at); err != nil {
			return nil, err
		}
		for _, v := range slices.Backward(w.ranged) {
			if len(v.links.parents) > 1 {
				continue
			}
			if err := s.confirm(v.links.number); err != nil {
				return nil, err
			}
			steps = append(steps, s.step(v.links))
		}
		return steps, nil
	})
}
