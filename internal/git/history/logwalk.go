package history

import (
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/newest"
)

// maxHistory bounds the commits that a walk remembers as seen: three times those of
// Linux, some 300 MiB.
const maxHistory = 4_000_000

// walk goes through history in the order that git-log(1), "Commit Ordering",
// calls the default, without looking at all of it first: the newest commit is taken
// from a queue by date, and its parents are added.
//
// There is one start and nothing that is excluded, so that wrong clocks change the
// order and never the selection. A range is looked at as a whole, see span.
type walk struct {
	source *source
	limits []limit
	// With follow the limit is another one, and it changes.
	follow   bool
	followed limit

	matcher     matcher
	pickaxe     pickaxe
	since       uint64 // 0 for none
	until       uint64
	firstParent bool // parents only
	resumeAt    int  // commits that earlier pages dealt with

	queue  newest.Queue[*step]
	seen   numberSet
	ranged []*visit // what is left of a range
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

// add adds a number that the set does not have.
func (s *numberSet) add(n uint32) {
	s.words = extended(s.words, n/64)
	s.words[n/64] |= 1 << (n % 64)
	s.count++
}

// extended returns a list that has a place of that number.
func extended[T any](list []T, n uint32) []T {
	return append(list, make([]T, max(int(n)+1-len(list), 0))...)
}

// answer is what is known of a condition.
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

// push adds a commit that was not seen before.
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
	}
	w.seen.add(n)
	w.queue.Push(links.date, s)
	return nil
}

// begin queues what the walk begins with.
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

// ended reports whether there are no more commits to look at.
func (w *walk) ended() bool { return w.queue.Len() == 0 && len(w.ranged) == 0 }

// next returns the next commit of the log. It is not ok when history has ended,
// when so many commits have been looked at, or when so much was compared.
func (w *walk) next(end int) (id git.ID, ok bool, err error) {
	for !w.ended() && w.looked < end && w.pickaxe.left > 0 {
		s, same, err := w.step()
		if err != nil {
			return git.ID{}, false, err
		}
		// Of what earlier pages dealt with only the way counts.
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

// step takes the next commit, none when it is too old, and says whether it changes
// none of the paths.
func (w *walk) step() (s *step, same bool, err error) {
	w.looked++
	if len(w.ranged) > 0 {
		v := w.ranged[0]
		w.ranged = w.ranged[1:]
		return &v.step, v.same, nil
	}
	s = w.queue.Pop()
	if s.links.date < w.since {
		return nil, false, nil // and nothing before it, by this way
	}
	same, err = w.advance(s, w.looked <= w.resumeAt)
	return s, same, err
}

// selects reports whether a commit is to be shown, the cheapest question first.
// What looks into files compares a merge with its first parent or not at all.
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

// advance queues the parents that matter, and reports whether the commit changes
// none of the paths. wayOnly says that this is not of interest.
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

// simplify follows git-log(1), History Simplification: a commit that is the same as
// one of its parents, for the paths, leads to that parent only. That parent has to
// be relevant. Others neither stand for the commit nor make it one to show, unless
// all are such.
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

// matches reports whether the commit's author and message fit.
func (w *walk) matches(s *step) (bool, error) {
	if !w.matcher.isSet() {
		return true, nil
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
	}
	return s.matched == yes, nil
}
