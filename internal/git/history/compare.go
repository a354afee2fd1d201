package history

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/git"
)

// DefaultMaxFiles bounds the listed files of a comparison by default: each takes some 200 bytes of
// memory.
const DefaultMaxFiles = 100_000

// ErrTooMany means that too many files differ. A path or a nearer base leaves fewer.
var ErrTooMany = errors.New("too many files differ: compare below a path, or with a nearer commit")

// Status of a file, in the letters of git diff --name-status.
type Status byte

// The statuses.
const (
	Added       Status = 'A'
	Copied      Status = 'C' // the new path is like the old one, which still exists
	Deleted     Status = 'D'
	Modified    Status = 'M' // another content, another permission, or both
	Renamed     Status = 'R'
	TypeChanged Status = 'T' // between file, symbolic link and submodule
)

// String returns the letter.
func (s Status) String() string { return string(rune(s)) }

// FileChange is the change of one file. The old mode and id of an added file are zero, as are the
// new ones of a deleted file; both paths are then equal.
type FileChange struct {
	Status Status
	// Score is the similarity of a renamed or copied file, in percent.
	Score            int
	OldPath, NewPath string // any bytes but NUL
	OldMode, NewMode git.Mode
	OldID, NewID     git.ID
}

// CompareOptions select what to compare. The zero value corresponds to git diff.
type CompareOptions struct {
	// Paths limit the comparison to literal names of files and folders; none selects everything. A
	// renamed file counts as added or deleted if only one of its paths is selected.
	Paths []string
	// NoRenames shows renamed files as deleted and added.
	NoRenames bool
	// Copies also looks for the origin of new files among changed files, as git diff -C does.
	Copies bool
	// MaxFiles bounds the number of differing files; 0 means [DefaultMaxFiles].
	MaxFiles int
}

// Comparison lists the files that differ, in the order of their new paths in the trees.
type Comparison struct {
	Files []FileChange
	// RenamesLimited reports that there were too many added and deleted files for similarity
	// search. Only renames with equal content or, if likely, equal names were found.
	RenamesLimited bool
}

// CompareCommits lists the changes from one commit to another, like `git diff FROM TO`. The zero id
// is the empty tree. The error is [ErrTooMany], [git.ErrInvalid] for an impossible path, or
// [git.ErrCorrupt].
func CompareCommits(
	ctx context.Context, snapshot *git.Snapshot, cache *Cache, from, to git.ID, o CompareOptions,
) (Comparison, error) {
	s, before, after, err := sourceOfTwo(ctx, snapshot, cache, from, to)
	if err != nil {
		return Comparison{}, err
	}
	return s.compareTrees(before, after, o)
}

// VisitChanges calls visit for each file that differs between two commits, without a search for
// renames and without a list in memory, so for any number of files. The zero id is the empty tree.
func VisitChanges(
	ctx context.Context, snapshot *git.Snapshot, cache *Cache, from, to git.ID, visit func(FileChange) error,
) error {
	s, before, after, err := sourceOfTwo(ctx, snapshot, cache, from, to)
	if err != nil {
		return err
	}
	c := treeComparison{source: s, mostFolders: maxComparedFolders, visit: visit}
	return c.folder("", treeOf(before), treeOf(after), true, 0)
}

// sourceOfTwo finds the trees of two commits.
func sourceOfTwo(
	ctx context.Context, snapshot *git.Snapshot, cache *Cache, from, to git.ID,
) (s *source, before, after git.ID, err error) {
	if s, err = newSource(ctx, snapshot, cache); err != nil {
		return nil, before, after, err
	}
	trees := [2]git.ID{}
	for i, commit := range []git.ID{from, to} {
		if commit.IsZero() {
			continue
		}
		l, _, err := s.links(s.number(commit))
		if err != nil {
			return nil, before, after, err
		}
		trees[i] = l.tree
	}
	return s, trees[0], trees[1], nil
}

// Step is a commit with its first parent, the zero id without one: in a shallow clone there are
// commits whose parents are not there.
type Step struct{ Commit, Parent git.ID }

// StepOf returns the step of a commit, and the number of its parents.
func StepOf(
	ctx context.Context, snapshot *git.Snapshot, cache *Cache, commit git.ID,
) (step Step, parents int, err error) {
	s, err := newSource(ctx, snapshot, cache)
	if err != nil {
		return Step{}, 0, err
	}
	l, _, err := s.links(s.number(commit))
	if err != nil {
		return Step{}, 0, err
	}
	return s.step(l), len(l.parents), nil
}

func (s *source) step(l links) Step {
	step := Step{Commit: s.id(l.number)}
	if len(l.parents) > 0 {
		step.Parent = s.id(l.parents[0])
	}
	return step
}

// CompareWithParent lists the changes of a commit to its first parent, or to the empty tree for a
// root commit, as git show does.
func CompareWithParent(
	ctx context.Context, snapshot *git.Snapshot, cache *Cache, commit git.ID, o CompareOptions,
) (Comparison, error) {
	s, err := newSource(ctx, snapshot, cache)
	if err != nil {
		return Comparison{}, err
	}
	after, _, err := s.links(s.number(commit))
	if err != nil {
		return Comparison{}, err
	}
	before, err := s.firstParent(after)
	if err != nil {
		return Comparison{}, err
	}
	return s.compareTrees(before.root(), after.tree, o)
}

// firstParent returns the first parent of a commit, nil if there is none.
func (s *source) firstParent(l links) (*links, error) {
	if len(l.parents) == 0 {
		return nil, nil
	}
	parent, _, err := s.links(l.parents[0])
	return &parent, err
}

// compareTrees lists the changes from one tree to another. The zero id is the empty tree.
func (s *source) compareTrees(from, to git.ID, o CompareOptions) (Comparison, error) {
	files, err := s.treeChanges(from, to, o)
	if err != nil || o.NoRenames {
		return Comparison{Files: files}, err
	}
	return s.findRenames(files, o.Copies, maxChunks)
}
