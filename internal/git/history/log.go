package history

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/mailmap"
)

const (
	// DefaultPage is the default number of commits per page.
	DefaultPage = 30
	// MaxPage bounds the page size, because the commits of a page are in memory.
	MaxPage = 1000
	// MaxPageBytes ends a page early: messages of megabytes are rare, and hostile.
	MaxPageBytes = 4 << 20
	// MaxPaths bounds the paths of a log, because each is looked up in each tree.
	MaxPaths = 100
	// MaxPathBytes is the longest path that Linux and git can open.
	MaxPathBytes = 4096
	// DefaultMaxLooked bounds the commits that one call examines for its page: a second or two of
	// work, and more than most histories have.
	DefaultMaxLooked = 100_000
	// DefaultMaxCompared bounds the bytes of files that one call reads to find commits by content:
	// a few seconds of work.
	DefaultMaxCompared = 256 << 20
)

// LogOptions select the commits of a log. Every field but Start is optional.
type LogOptions struct {
	// Start is the newest commit, as [git.Snapshot.Resolve] returned it. A Cursor replaces it.
	Start git.ID
	// Base excludes its ancestors: Base..Start. Symmetric selects what exactly one of both reaches:
	// Base...Start. A Cursor includes both.
	Base      git.ID
	Symmetric bool
	// Paths are literal names of files and folders, relative to the root. They exclude commits that
	// change none of them, and side branches that do not matter for them (git-log(1), History
	// Simplification, default mode). A final slash matches only the folder.
	Paths []string
	// Author is searched in "NAME <EMAIL>", ignoring case.
	Author string
	// Message matches a line of the message, as git log --grep does.
	Message *regexp.Regexp
	// Pickaxe is a string; it selects commits that change its number of occurrences in a file: git
	// log -S. PickaxeLines selects commits that add or delete a matching line: git log -G. Both
	// show merges only with FirstParent. They exclude each other and Follow.
	Pickaxe      string
	PickaxeLines *regexp.Regexp
	// Mailmap maps people to their names; nil leaves names unchanged.
	Mailmap *mailmap.Map
	// Since and Until bound the committer's date, inclusive. As in git, an older commit also hides
	// commits that only it reaches.
	Since, Until time.Time
	// Follow continues with the old name of a renamed file, or with the origin of a copied one. It
	// requires exactly one path. As in git, merges are shown only with FirstParent, and a rename by
	// another Author, or after Until, is not followed.
	Follow bool
	// FirstParent follows only the first parent of merges.
	FirstParent bool

	// Skip omits so many of the selected commits, counted after the Cursor if there is one.
	Skip int
	// Limit is the page size, at most [MaxPage]; 0 means [DefaultPage].
	Limit int
	// Cursor continues after a page: its [LogPage.Next]. All options that select commits must be
	// the same.
	Cursor string
	// MaxLooked bounds the examined commits; 0 means [DefaultMaxLooked]. A range examines all of
	// its commits first, to determine which these are.
	MaxLooked int
	// MaxCompared bounds the bytes of files that Pickaxe and PickaxeLines read: the page stops
	// after the commit that exceeds it. 0 means [DefaultMaxCompared].
	MaxCompared int64
}

// LogPage is a part of a log.
type LogPage struct {
	Commits []Commit
	// Paths are the names of the file in each of the commits, with Follow.
	Paths []string
	// Next is the cursor of the next page, which may be empty; "" at the end of history.
	Next string
	// Looked is the number of commits that the call examined.
	Looked int
	// Stopped reports that the page is incomplete because of MaxLooked, MaxCompared or
	// [MaxPageBytes]. Next continues there.
	Stopped bool
	// Unsearched is the number of commits with files that Pickaxe or PickaxeLines skipped, because
	// the files or their list are too large.
	Unsearched int
}

// Log lists commits, newest first: those that `git log` shows, in its order. Consecutive pages, by
// cursor or by Skip, are parts of the same list whatever happens to the branches meanwhile.
//
// Inconsistent options are [git.ErrInvalid], a cursor whose start is not served any more is
// [git.ErrNotFound], and history beyond all limits [git.ErrTooLarge].
func Log(ctx context.Context, snapshot *git.Snapshot, cache *Cache, options LogOptions) (LogPage, error) {
	limits, err := options.check()
	if err != nil {
		return LogPage{}, err
	}
	at, err := options.position(ctx, snapshot)
	if err != nil {
		return LogPage{}, err
	}
	return withCommitGraph(ctx, snapshot, cache, func(s *source) (LogPage, error) {
		s.people = options.Mailmap
		walk := newWalk(s, options, limits, at)
		if err := walk.begin(at); err != nil {
			return LogPage{}, err
		}
		return options.page(walk, at)
	})
}

// check sets defaults and refuses inconsistent options.
func (o *LogOptions) check() ([]limit, error) {
	switch {
	case o.Limit < 0 || o.Limit > MaxPage:
		return nil, fmt.Errorf("a page of %d commits; at most %d: %w", o.Limit, MaxPage, git.ErrInvalid)
	case o.Skip < 0 || o.Skip > maxHistory:
		return nil, fmt.Errorf("%d commits to skip; at most %d: %w", o.Skip, maxHistory, git.ErrInvalid)
	case o.Follow && len(o.Paths) != 1:
		return nil, fmt.Errorf("%d paths to follow, instead of one: %w", len(o.Paths), git.ErrInvalid)
	case o.Pickaxe != "" && o.PickaxeLines != nil, o.Follow && (o.Pickaxe != "" || o.PickaxeLines != nil):
		return nil, fmt.Errorf("pickaxes of two kinds, or one with follow: %w", git.ErrInvalid)
	case len(o.Paths) > MaxPaths:
		return nil, fmt.Errorf("%d paths; at most %d: %w", len(o.Paths), MaxPaths, git.ErrInvalid)
	}
	o.Limit = cmp.Or(o.Limit, DefaultPage)
	o.MaxLooked = cmp.Or(o.MaxLooked, DefaultMaxLooked)
	o.MaxCompared = cmp.Or(o.MaxCompared, DefaultMaxCompared)
	return parseLimits(o.Paths)
}

// page collects the commits of a page.
func (o *LogOptions) page(walk *walk, at position) (page LogPage, err error) {
	end, bytes := at.looked+o.MaxLooked, 0
	for at.skip += o.Skip; len(page.Commits) < o.Limit; {
		if page.Stopped = bytes > MaxPageBytes && !walk.ended(); page.Stopped {
			break
		}
		called := walk.followed.path
		id, ok, err := walk.next(end)
		if err != nil {
			return LogPage{}, err
		}
		if !ok {
			page.Stopped = !walk.ended()
			break
		}
		if at.skip > 0 {
			at.skip--
			continue
		}
		commit, err := walk.source.commit(id)
		for _, parent := range commit.Parents {
			err = cmp.Or(err, walk.source.confirm(walk.source.number(parent)))
		}
		if err != nil {
			return LogPage{}, err
		}
		bytes += commit.stored
		page.Commits = append(page.Commits, commit)
		if o.Follow {
			page.Paths = append(page.Paths, called)
		}
	}
	page.Unsearched = walk.pickaxe.partial
	page.Looked = max(walk.looked-at.looked, 0)
	if !walk.ended() {
		at.looked, at.followed = walk.looked, walk.followed.String()
		page.Next = o.cursor(at)
	}
	return page, nil
}

// AuthorCount is the share of an author in a log.
type AuthorCount struct {
	Name, Email string
	Commits     int
	First, Last Person // the author's oldest and newest commit, by their dates
}

const (
	// MaxCountedCommits bounds the commits that one call of [CountAuthors] examines: some seconds.
	MaxCountedCommits = 300_000
	// maxAuthorBytes bounds the names of all authors.
	maxAuthorBytes = 8 << 20
)

// CountAuthors counts the commits of a log by their authors, most commits first, and then by name
// and address: git shortlog -sne. The options that select a page do not count. complete is false if
// the log goes on after [MaxCountedCommits], or if the names of its authors are too long.
func CountAuthors(
	ctx context.Context, snapshot *git.Snapshot, cache *Cache, o LogOptions,
) (list []AuthorCount, complete bool, err error) {
	o.Skip, o.Limit, o.Cursor, o.MaxLooked = 0, 0, "", MaxCountedCommits
	limits, err := o.check()
	if err != nil {
		return nil, false, err
	}
	at := position{start: o.Start, base: o.Base, symmetric: o.Symmetric}
	complete, err = withCommitGraph(ctx, snapshot, cache, func(s *source) (bool, error) {
		s.people = o.Mailmap
		walk := newWalk(s, o, limits, at)
		if err := walk.begin(at); err != nil {
			return false, err
		}
		list, err = walk.countAuthors(o.MaxLooked)
		return walk.ended(), err
	})
	slices.SortFunc(list, func(a, b AuthorCount) int {
		return cmp.Or(b.Commits-a.Commits, cmp.Compare(a.Name+" <"+a.Email, b.Name+" <"+b.Email))
	})
	return list, complete, err
}

func (w *walk) countAuthors(most int) (list []AuthorCount, err error) {
	type author struct{ name, email string }
	known, bytes := make(map[author]int), 0
	for bytes < maxAuthorBytes {
		id, ok, err := w.next(most)
		if err != nil || !ok {
			return list, err
		}
		commit, err := w.source.commit(id)
		if err != nil {
			return nil, err
		}
		by := commit.Author
		who := author{by.Name, by.Email}
		at, counted := known[who]
		if !counted {
			at = len(list)
			known[who], bytes = at, bytes+len(by.Name)+len(by.Email)
			list = append(list, AuthorCount{Name: by.Name, Email: by.Email, First: by, Last: by})
		}
		c := &list[at]
		c.Commits++
		if by.Seconds < c.First.Seconds {
			c.First = by
		}
		if by.Seconds > c.Last.Seconds {
			c.Last = by
		}
	}
	return list, nil
}
