package history

import (
	"fmt"

	"github.com/repomcp/repomcp/internal/repos"
)

// maxHistory bounds the commits that a walk remembers as seen, some 100 MiB of
// them: three times Linux.
const maxHistory = 4_000_000

// walk goes through history as get_revision_1 (revision.c) does when git has
// no reason to look at all of it first: a queue by date from which the newest
// commit is taken and to which its parents are added.
//
// git needs no look ahead here, since there is one start and nothing that is
// excluded; so clocks that were wrong change the order and never the selection.
type walk struct {
	source *source
	limits []limit
	// With follow the limit is another one, and it changes.
	follow   bool
	followed limit

	author  matcher
	since   uint64 // 0 for none
	until   uint64
	first   bool // parents only
	resumed int  // that many commits were dealt with before

	queue  newest[*step]
	seen   map[repos.ID]struct{}
	looked int
}

// step is a commit in the queue.
type step struct {
	id    repos.ID
	links links
	by    answer // whether its author is the one that is asked for
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
		source: source, limits: limits, author: newMatcher(o.Author), first: o.FirstParent,
		until: noDate, resumed: at.looked, follow: o.Follow, seen: make(map[repos.ID]struct{}),
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

// noDate is git's TIME_MAX, after all dates.
const noDate = ^uint64(0)

// push adds a commit that was not seen before.
func (w *walk) push(id repos.ID) error {
	if _, seen := w.seen[id]; seen {
		return nil
	}
	if len(w.seen) >= maxHistory {
		return fmt.Errorf("more than %d commits of history: %w", maxHistory, repos.ErrTooLarge)
	}
	links, raw, err := w.source.links(id)
	if err != nil {
		return err
	}
	s := &step{id: id, links: links}
	if w.author != nil && raw != nil {
		s.by = w.author.match(raw)
	}
	w.seen[id] = struct{}{}
	w.queue.push(links.date, s)
	return nil
}

// next gives the next commit of the log. It is not ok when history has ended,
// or when so many commits have been looked at.
func (w *walk) next(end int) (id repos.ID, ok bool, err error) {
	for !w.queue.empty() && w.looked < end {
		s := w.queue.pop()
		w.looked++
		if s.links.date < w.since {
			continue // and nothing before it, by this way
		}
		// Of what earlier pages dealt with only the way counts.
		dealt := w.looked <= w.resumed
		same, err := w.advance(s, dealt)
		if err != nil {
			return repos.ID{}, false, err
		}
		if dealt || same || s.links.date > w.until {
			continue
		}
		shown, err := w.byAuthor(s)
		if shown && w.follow {
			shown, err = w.touches(s)
		}
		if err != nil || shown {
			return s.id, shown, err
		}
	}
	return repos.ID{}, false, nil
}

// advance queues the parents that matter, and reports whether the commit changes
// none of the paths. wayOnly says that this is not of interest.
func (w *walk) advance(s *step, wayOnly bool) (same bool, err error) {
	parents := s.links.parents
	if w.first && len(parents) > 1 {
		parents = parents[:1]
	}
	if len(w.limits) > 0 && (!wayOnly || len(parents) > 1) {
		if same, parents, err = w.simplify(s.links.tree, parents); err != nil {
			return false, err
		}
	}
	for _, parent := range parents {
		if err := w.push(parent); err != nil {
			return false, err
		}
	}
	return same, nil
}

// simplify is try_to_simplify_commit (revision.c): a commit that is the same as
// one of its parents, for the paths, leads to that parent only.
func (w *walk) simplify(tree repos.ID, parents []repos.ID) (same bool, rest []repos.ID, err error) {
	if len(parents) == 0 {
		same, err = w.source.emptyTree(tree, w.limits)
		return same, nil, err
	}
	for i, parent := range parents {
		links, _, err := w.source.links(parent)
		if err != nil {
			return false, nil, err
		}
		if same, err = w.source.sameTree(links.tree, tree, w.limits); err != nil || same {
			return same, parents[i : i+1], err
		}
	}
	return false, parents, nil
}

// byAuthor reports whether the commit's author matches.
func (w *walk) byAuthor(s *step) (bool, error) {
	if w.author == nil {
		return true, nil
	}
	if s.by == unknown {
		raw, err := w.source.ScanCommit(s.id, w.source.commits[:0])
		if err != nil {
			return false, err
		}
		w.source.commits = raw
		s.by = w.author.match(raw)
	}
	return s.by == yes, nil
}
