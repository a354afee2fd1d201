package history

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/git/mailmap"
)

// LineLogOptions select the lines whose history [LineLog] lists.
type LineLogOptions struct {
	// Start is the newest commit, as [git.Snapshot.Resolve] returned it, and Path a file in it.
	Start git.ID
	Path  string
	// First and Last are lines of the file, counted from 1; a Last after the end means the end.
	First, Last int
	// Mailmap maps people to their names; nil leaves names unchanged.
	Mailmap *mailmap.Map
	// Skip omits so many of the commits, and Limit bounds the others; 0 means [DefaultPage].
	Skip, Limit int
}

// LineLogPage is a part of the history of lines.
type LineLogPage struct {
	Commits []LineCommit
	// More reports that further commits follow.
	More bool
	// Stopped reports that the list is incomplete, because too many versions of the file were to be
	// compared.
	Stopped bool
}

// LineCommit is a commit that changed the lines.
type LineCommit struct {
	Commit
	// Path is the name of the file, and Ranges are the lines in it; none after their deletion.
	Path   string
	Ranges []diff.Range
}

// MaxLineVersions bounds the pairs of versions of a file that one call compares: seconds of work.
const MaxLineVersions = 5000

// LineLog lists the commits that changed lines of a file, children before parents: those of `git
// log -L FIRST,LAST:PATH`, in its order. As there, a merge is listed if no parent has the lines as
// they are, and the file is followed across renames.
//
// Lines that do not exist are [git.ErrInvalid], a path without a file is [git.ErrNotFound], and
// history beyond all limits [git.ErrTooLarge].
func LineLog(ctx context.Context, snapshot *git.Snapshot, cache *Cache, o LineLogOptions) (LineLogPage, error) {
	path, err := parseLimit(o.Path)
	if err != nil {
		return LineLogPage{}, err
	}
	o.Limit = cmp.Or(o.Limit, DefaultPage)
	return withCommitGraph(ctx, snapshot, cache, func(s *source) (LineLogPage, error) {
		s.people = o.Mailmap
		l := &lineLog{
			tracer: tracer{
				source: s, contents: lru.New[git.ID, []byte](maxContents), revisions: make(map[version]*revision),
				left: MaxLineVersions,
			},
			ranges: make(map[uint32]map[string][]diff.Range),
		}
		if err := l.begin(s.number(o.Start), path.path, o.First, o.Last); err != nil {
			return LineLogPage{}, err
		}
		return l.page(o)
	})
}

// lineLog follows lines through history. Commits are taken in the topological order of git-log(1),
// so that all children of a commit have told which of its lines count.
type lineLog struct {
	tracer
	ranges map[uint32]map[string][]diff.Range // by commit and path
	ready  []uint32                           // commits whose children were all taken; the last is next
	waits  map[uint32]int                     // number of children that were not yet taken
}

// begin checks the lines, and counts the children of all commits.
func (l *lineLog) begin(start uint32, path string, first, last int) error {
	at, err := l.tracer.begin(version{start, path})
	if err != nil {
		return err
	}
	text, err := l.read(at.id)
	if err != nil {
		return err
	}
	last = min(last, diff.CountLines(text))
	if first < 1 || first > last {
		return fmt.Errorf("lines %d to %d: %w", first, last, git.ErrInvalid)
	}
	l.ranges[start] = map[string][]diff.Range{path: {{Start: first - 1, End: last}}}
	l.ready, l.waits = []uint32{start}, map[uint32]int{start: 0}
	for rest := []uint32{start}; len(rest) > 0; {
		links, _, err := l.source.links(rest[len(rest)-1])
		if err != nil {
			return err
		}
		rest = rest[:len(rest)-1]
		for _, parent := range links.parents {
			if _, seen := l.waits[parent]; !seen {
				rest = append(rest, parent)
			}
			l.waits[parent]++
		}
		if len(l.waits) > maxPainted {
			return fmt.Errorf("more than %d commits of history: %w", maxPainted, git.ErrTooLarge)
		}
	}
	return nil
}

// page collects the commits of a page.
func (l *lineLog) page(o LineLogOptions) (page LineLogPage, err error) {
	for skip := o.Skip; len(l.ranges) > 0 && len(l.ready) > 0; {
		n := l.ready[len(l.ready)-1]
		l.ready = l.ready[:len(l.ready)-1]
		here := l.ranges[n]
		shown, err := l.take(n)
		if err != nil {
			return page, err
		}
		if page.Stopped = l.left <= 0; page.Stopped {
			return page, nil
		}
		if !shown {
			continue
		}
		if skip--; skip >= 0 {
			continue
		}
		if page.More = len(page.Commits) == o.Limit; page.More {
			return page, nil
		}
		commit, err := l.source.commit(l.source.id(n))
		if err != nil {
			return page, err
		}
		shownAt := LineCommit{Commit: commit}
		for _, path := range slices.Sorted(maps.Keys(here)) { // there is one, or the lines came from several files
			shownAt.Path, shownAt.Ranges = path, here[path]
			break
		}
		page.Commits = append(page.Commits, shownAt)
	}
	return page, nil
}

// take passes the lines of a commit on to its parents, and reports whether it changed them.
func (l *lineLog) take(n uint32) (changed bool, err error) {
	links, _, err := l.source.links(n)
	if err != nil {
		return false, err
	}
	delete(l.waits, n)
	for _, parent := range links.parents {
		if l.waits[parent]--; l.waits[parent] == 0 {
			l.ready = append(l.ready, parent)
		}
	}
	here := l.ranges[n]
	if len(here) == 0 {
		return false, nil
	}
	delete(l.ranges, n)
	if err := l.source.confirm(append([]uint32{n}, links.parents...)...); err != nil {
		return false, err
	}
	if len(links.parents) == 0 {
		return true, nil
	}
	passed := make([]map[string][]diff.Range, len(links.parents))
	for i, parent := range links.parents {
		if passed[i], changed, err = l.mapped(links, parent, here); err != nil {
			return false, err
		}
		if !changed { // this parent has all of the lines
			l.pass(parent, passed[i])
			return false, nil
		}
	}
	for i, parent := range links.parents {
		l.pass(parent, passed[i])
	}
	return true, nil
}

// pass adds lines to those of a commit.
func (l *lineLog) pass(n uint32, ranges map[string][]diff.Range) {
	for path, list := range ranges {
		if len(list) == 0 {
			continue
		}
		if l.ranges[n] == nil {
			l.ranges[n] = make(map[string][]diff.Range)
		}
		l.ranges[n][path] = diff.UniteRanges(l.ranges[n][path], list)
	}
}

// mapped returns the lines of a parent that lines of a commit come from.
func (l *lineLog) mapped(
	of links, parent uint32, here map[string][]diff.Range,
) (passed map[string][]diff.Range, changed bool, err error) {
	passed = make(map[string][]diff.Range)
	for path, ranges := range here {
		found, err := l.source.lookup(of, path)
		if err != nil {
			return nil, false, err
		}
		after := &revision{version: version{of.number, path}, links: of, entry: found}
		before, err := l.before(parent, after)
		if err != nil {
			return nil, false, err
		}
		if before == nil { // the file is new
			changed = true
			continue
		}
		changes, err := l.compare(before, after)
		if err != nil {
			return nil, false, err
		}
		lines, touched := diff.MapRanges(ranges, changes)
		passed[before.path] = diff.UniteRanges(passed[before.path], lines)
		changed = changed || touched
	}
	return passed, changed, nil
}

// before returns a parent's version of a file, which may have another name; nil if the file is new.
func (l *lineLog) before(parent uint32, after *revision) (*revision, error) {
	commit, _, err := l.source.links(parent)
	if err != nil {
		return nil, err
	}
	found, err := l.source.lookup(commit, after.path)
	if err != nil {
		return nil, err
	}
	if found.mode == 0 || found.mode.IsDir() {
		return l.renamed(parent, after)
	}
	return &revision{version: version{parent, after.path}, links: commit, entry: found}, nil
}

// compare returns the changes between two versions, which may be of different types.
func (l *lineLog) compare(before, after *revision) ([]diff.Change, error) {
	if before.id == after.id {
		return nil, nil
	}
	l.left--
	for _, side := range []*revision{before, after} {
		if side.mode.IsGitlink() {
			l.contents.Put(side.id, appendSubmodule(nil, side.id), int64(len(side.id)))
		}
	}
	return l.changes(before, after)
}
