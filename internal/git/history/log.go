package history

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/mailmap"
)

const (
	// DefaultPage is how many commits a page has when nobody says.
	DefaultPage = 30
	// MaxPage is the largest page: the commits of one are held in memory.
	MaxPage = 1000
	// MaxPageBytes ends a page early: messages of megabytes are rare, and hostile.
	MaxPageBytes = 4 << 20
	// MaxPaths bounds the paths of a log: each takes a look at each tree.
	MaxPaths = 100
	// MaxPathBytes is the longest path that Linux and git can open.
	MaxPathBytes = 4096
	// DefaultMaxLooked is how many commits one call goes through to fill its
	// page: a second or two of work, and more than most histories have.
	DefaultMaxLooked = 100_000
	// DefaultMaxCompared is how much of files one call reads to find commits by
	// content: a few seconds of work.
	DefaultMaxCompared = 256 << 20
)

// LogOptions say which commits a log has. The zero value of all but Start
// means no condition.
type LogOptions struct {
	// Start is the newest commit, one that [git.Snapshot.Resolve] returned. With a
	// Cursor it is not looked at.
	Start git.ID
	// Base leaves out what it leads to: Base..Start. With Symmetric the log has
	// what either leads to and not both: Base...Start. A Cursor knows it as well.
	Base      git.ID
	Symmetric bool
	// Paths are files and folders, relative to the root, taken literally:
	// commits that change none of them are left out, and so are side branches
	// that do not matter for them (git-log(1), History Simplification, default
	// mode). A final slash means the folder only.
	Paths []string
	// Author is looked for in "NAME <EMAIL>", in either case.
	Author string
	// Message matches a line of the message, as git log --grep has it.
	Message *regexp.Regexp
	// Pickaxe is a text, and the log has the commits that change how often it
	// occurs in a file: git log -S. PickaxeLines matches a line that a commit
	// adds or deletes: git log -G. Merges are shown with FirstParent only. There
	// is neither of them with Follow, and not both at once.
	Pickaxe      string
	PickaxeLines *regexp.Regexp
	// Mailmap says what people are called; nil leaves names as they are.
	Mailmap *mailmap.Map
	// Since and Until bound the committer's date, both included. As for git, an
	// older commit also hides what only it leads to.
	Since, Until time.Time
	// Follow goes on under its old name where a file was renamed, or copied from
	// another. It takes exactly one path. As for git, merges are not shown, unless
	// with FirstParent; and a rename by another Author, or after Until, goes
	// unnoticed.
	Follow bool
	// FirstParent follows of merges the first parent alone.
	FirstParent bool

	// Skip leaves out so many commits of those that are selected, of those that
	// follow the Cursor if there is one.
	Skip int
	// Limit is the size of the page, at most [MaxPage]; 0 is [DefaultPage].
	Limit int
	// Cursor goes on after a page: its [LogPage.Next]. All options that select
	// commits have to be the same.
	Cursor string
	// MaxLooked is how many commits are gone through at most;
	// 0 is [DefaultMaxLooked]. Of a range, all commits are gone through first to
	// know which they are.
	MaxLooked int
	// MaxCompared is how many bytes of files are read for Pickaxe and
	// PickaxeLines, before the commit after which the page stops;
	// 0 is [DefaultMaxCompared].
	MaxCompared int64
}

// LogPage is a part of a log.
type LogPage struct {
	Commits []Commit
	// Paths are what the file was called in each of the commits, with Follow.
	Paths []string
	// Next is the cursor of the page after this one, which may turn out to be
	// empty; "" when history has ended.
	Next string
	// Looked is how many commits the call went through.
	Looked int
	// Stopped says that the page is not full because Looked or the compared bytes
	// have reached their maximum, or the commits [MaxPageBytes]. Next goes on
	// from there.
	Stopped bool
	// Unsearched is how many commits have files that Pickaxe or PickaxeLines did
	// not look into, since they, or the list of them, are too large.
	Unsearched int
}

// Log lists commits, the newest first: those that `git log` shows, in its
// order. Pages that follow one another by cursor, or by Skip, are parts of the
// same list whatever happens to the branches meanwhile.
//
// Options that make no sense are [git.ErrInvalid], a cursor whose start is
// served no longer is [git.ErrNotFound], and history beyond all limits
// [git.ErrTooLarge].
func Log(ctx context.Context, snapshot *git.Snapshot, facts *Facts, options LogOptions) (LogPage, error) {
	limits, err := options.check()
	if err != nil {
		return LogPage{}, err
	}
	at, err := options.position(ctx, snapshot)
	if err != nil {
		return LogPage{}, err
	}
	return withCommitGraph(ctx, snapshot, facts, func(s *source) (LogPage, error) {
		s.people = options.Mailmap
		walk := newWalk(s, options, limits, at)
		if err := walk.begin(at); err != nil {
			return LogPage{}, err
		}
		return options.page(walk, at)
	})
}

// check fills in defaults and refuses what makes no sense.
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

// page collects commits until there are enough.
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
