package history

import (
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/newest"
)

// maxHistory bounds the visited commits of a walk: three times those of Linux, some 300 MiB.
const maxHistory = 4_000_000

// walk visits history in the default order of git-log(1), "Commit Ordering", without reading all of
// it first: it takes the newest commit from a queue by date, and adds its parents.
//
// There is one start and no exclusion, so that wrong clocks change the order but never the
// selection. A range is examined completely; see span.
type walk struct {
	source *source
	limits []limit
	// With follow, the limit changes during the walk.
	follow   bool
	followed limit

	matcher     matcher
	known       *matches // of the matcher
	pickaxe     pickaxe
	since       uint64 // 0 for none
	until       uint64
	firstParent bool // parents only
	resumeAt    int  // commits that earlier pages handled

	queue  newest.Queue[*step]
	seen   numberSet
	ranged []*visit // remaining commits of a range
	looked int
}

// step is a commit in the queue.
type step struct {
	links   links
	matched answer // whether its author and message match
}

// numberSet is a set of the numbers of commits.
type numberSet struct {
	words []uint64
	count int
}

func (s *numberSet) has(n uint32) bool {
	return int(n/64) < len(s.words) && s.words[n/64]>>(n%64)&1 == 1
}

func (s *numberSet) add(n uint32) {
	s.words = extended(s.words, n/64)
	s.words[n/64] |= 1 << (n % 64)
	s.count++
}

// extended returns a list with an element n.
func extended[T any](list []T, n uint32) []T {
	return append(list, make([]T, max(int(n)+1-len(list), 0))...)
}

// answer is the state of a condition.
type answer int8

const (
	unknown answer = iota
	no
	yes
)

func newWalk(source *source, o LogOptions, limits []limit, at position) *walk {
	w := &walk{
		source: source, limits: limits, matcher: newMatcher(o), pickaxe: newPickaxe(o), firstParent: o.FirstParent,
		until: noDate, resumeAt: at.looked, follow: o.Follow,
	}
	if w.matcher.isSet() {
		w.known = source.cache.matches(source.ancestry, w.matcher.question())
	}
	if o.Follow {
		w.followed, w.limits = limits[0], nil
		if found, err := parseLimit(at.followed); err == nil && at.followed != "" {
			w.followed = found
		}
	}
	if !o.Since.IsZero() {
		w.since = uint64(max(o.Since.Unix(), 0))
	}
	if !o.Until.IsZero() {
		w.until = uint64(max(o.Until.Unix(), 0))
	}
	return w
}

// noDate is after all dates.
const noDate = ^uint64(0)

// push queues a commit unless it was seen before.
func (w *walk) push(n uint32) error {
	if w.seen.has(n) {
		return nil
	}
	if w.seen.count >= maxHistory {
		return fmt.Errorf("more than %d commits of history: %w", maxHistory, git.ErrTooLarge)
	}
	links, raw, err := w.source.links(n)
	if err != nil {
		return err
	}
	s := &step{links: links}
	if w.matcher.isSet() && raw != nil {
		s.matched = w.matcher.match(raw)
		w.known.remember(w.source.factNumber(n), s.matched)
	}
	w.seen.add(n)
	w.queue.Push(links.date, s)
	return nil
}

// begin queues the start.
func (w *walk) begin(at position) error {
	start := w.source.number(at.start)
	if err := w.source.confirm(start); err != nil {
		return err
	}
	if at.base.IsZero() {
		return w.push(start)
	}
	base := w.source.number(at.base)
	if err := w.source.confirm(base); err != nil {
		return err
	}
	if !at.symmetric {
		return w.span([]uint32{start}, []uint32{base})
	}
	bases, err := w.source.mergeBases(base, start)
	if err != nil {
		return err
	}
	return w.span([]uint32{base, start}, bases)
}

func (w *walk) ended() bool { return w.queue.Len() == 0 && len(w.ranged) == 0 }

// next returns the next commit of the log. ok is false at the end of history, or at a limit of
// examined commits or compared bytes.
func (w *walk) next(end int) (id git.ID, ok bool, err error) {
	for !w.ended() && w.looked < end && w.pickaxe.left > 0 {
		s, same, err := w.step()
		if err != nil {
			return git.ID{}, false, err
		}
		// Commits of earlier pages only matter for the path of the walk.
		if s == nil || w.looked <= w.resumeAt || same || s.links.date > w.until {
			continue
		}
		shown, err := w.selects(s)
		if err != nil || shown {
			return w.source.id(s.links.number), shown, err
		}
	}
	return git.ID{}, false, nil
}

// step takes the next commit, nil if it is too old, and reports whether it changes none of the
// paths.
func (w *walk) step() (s *step, same bool, err error) {
	w.looked++
	if len(w.ranged) > 0 {
		v := w.ranged[0]
		w.ranged = w.ranged[1:]
		return &v.step, v.same, nil
	}
	s = w.queue.Pop()
	if s.links.date < w.since {
		return nil, false, nil // its ancestors are not queued
	}
	same, err = w.advance(s, w.looked <= w.resumeAt)
	return s, same, err
}

// selects reports whether a commit is shown; cheap conditions come first. Content searches compare
// a merge with its first parent or not at all.
func (w *walk) selects(s *step) (shown bool, err error) {
	shown, err = w.matches(s)
	if !shown || !w.follow && !w.pickaxe.isSet() {
		return shown, err
	}
	if len(s.links.parents) > 1 && !w.firstParent {
		return false, nil
	}
	before, err := w.source.firstParent(s.links)
	if err != nil {
		return false, err
	}
	if w.follow {
		return w.changesFollowedFile(before, s.links)
	}
	return w.passesPickaxe(before.root(), s.links.tree)
}

// advance queues the relevant parents, and reports whether the commit changes none of the paths.
// wayOnly means that the caller does not need the latter.
func (w *walk) advance(s *step, wayOnly bool) (same bool, err error) {
	parents := s.links.parents
	if len(w.limits) > 0 && (!wayOnly || len(parents) > 1) {
		always := func(uint32) (bool, error) { return true, nil }
		if same, parents, err = w.simplify(s, always); err != nil {
			return false, err
		}
	}
	for _, parent := range parents {
		if err := w.push(parent); err != nil {
			return false, err
		}
		if w.firstParent {
			break
		}
	}
	return same, nil
}

// simplify implements git-log(1), History Simplification: a commit with the same files as a
// relevant parent, below the paths, leads only to that parent. Irrelevant parents neither replace
// the commit nor make it visible, unless all parents are irrelevant.
func (w *walk) simplify(s *step, relevant func(uint32) (bool, error)) (same bool, rest []uint32, err error) {
	l := s.links
	unchanged := !slices.ContainsFunc(w.limits, func(limit limit) bool {
		return !w.source.leavesUnchanged(l, limit.path)
	})
	if len(l.parents) == 0 {
		if unchanged {
			return true, nil, nil
		}
		if err := w.source.confirm(l.number); err != nil {
			return false, nil, err
		}
		same, err = w.source.sameTree(nil, l, w.limits)
		return same, nil, err
	}
	differs, relevantDiffers, someRelevant := false, false, false
	for i, parent := range l.parents {
		counts, err := relevant(parent)
		if err != nil {
			return false, nil, err
		}
		someRelevant = someRelevant || counts
		if w.firstParent && i > 0 {
			break
		}
		equal := i == 0 && unchanged
		if !equal {
			if err := w.source.confirm(l.number, parent); err != nil {
				return false, nil, err
			}
			before, _, err := w.source.links(parent)
			if err != nil {
				return false, nil, err
			}
			if equal, err = w.source.sameTree(&before, l, w.limits); err != nil {
				return false, nil, err
			}
		}
		if equal && counts {
			return true, l.parents[i : i+1], nil
		}
		differs = differs || !equal
		relevantDiffers = relevantDiffers || !equal && counts
	}
	return !relevantDiffers && (someRelevant || !differs), l.parents, nil
}

// matches reports whether the commit's author and message match.
func (w *walk) matches(s *step) (bool, error) {
	if !w.matcher.isSet() {
		return true, nil
	}
	if s.matched == unknown {
		s.matched = w.known.recall(w.source.factNumber(s.links.number))
	}
	if s.matched == unknown {
		id := w.source.id(s.links.number)
		raw, err := w.source.ScanCommit(id, w.source.commits[:0])
		if err != nil {
			return false, err
		}
		w.source.commits = raw
		l, err := git.ParseCommitLinks(id, raw)
		if err == nil {
			err = w.source.claims.agrees(id, l)
		}
		if err != nil {
			return false, err
		}
		s.matched = w.matcher.match(raw)
		w.known.remember(w.source.factNumber(s.links.number), s.matched)
	}
	return s.matched == yes, nil
}
