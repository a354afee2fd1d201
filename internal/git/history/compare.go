package history

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/git"
)

// DefaultMaxFiles is how many files of a comparison are listed unless the
// caller asks for more: some 200 bytes each are held in memory.
const DefaultMaxFiles = 100_000

// ErrTooMany says that more files differ than are to be listed. A path, or a
// base that is nearer, leaves fewer.
var ErrTooMany = errors.New("too many files differ: compare below a path, or with a nearer commit")

// Status of a file in a comparison, in the letters of git diff --name-status.
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

// FileChange is the change of one file. Of an added file the old mode and id
// are zero, of a deleted one the new ones; the paths are then the same.
type FileChange struct {
	Status Status
	// Score says of a renamed or copied file how much of it is the same, in
	// percent.
	Score            int
	OldPath, NewPath string // any bytes but NUL
	OldMode, NewMode git.Mode
	OldID, NewID     git.ID
}

// CompareOptions say what to compare. The zero value is what git diff does.
type CompareOptions struct {
	// Paths limit the comparison to files and folders of these names, taken
	// literally; none is everything. A renamed file counts as added or deleted
	// when only one of its paths is among them.
	Paths []string
	// NoRenames shows renamed files as deleted and added.
	NoRenames bool
	// Copies also looks for the origin of new files in those that were changed,
	// as git diff -C does.
	Copies bool
	// MaxFiles is how many files may differ; 0 means [DefaultMaxFiles].
	MaxFiles int
}

// Comparison is the list of files that differ, in the order of their new paths
// in the trees.
type Comparison struct {
	Files []FileChange
	// RenamesLimited says that there were too many added and deleted files to
	// look for renamed ones other than those with the same content or, if
	// likely, the same name.
	RenamesLimited bool
}

// CompareCommits lists what is different in the second commit, like
// `git diff FROM TO`. It fails with [ErrTooMany], [git.ErrInvalid] for a path
// that cannot be one, or [git.ErrCorrupt].
func CompareCommits(
	ctx context.Context, snapshot *git.Snapshot, facts *Facts, from, to git.ID, o CompareOptions,
) (Comparison, error) {
	s, err := newSource(ctx, snapshot, facts)
	if err != nil {
		return Comparison{}, err
	}
	before, _, err := s.links(s.number(from))
	if err != nil {
		return Comparison{}, err
	}
	after, _, err := s.links(s.number(to))
	if err != nil {
		return Comparison{}, err
	}
	return s.compareTrees(before.tree, after.tree, o)
}

// CompareWithParent lists what a commit changed in its first parent; in nothing
// when it has none, as git show does for a root commit.
func CompareWithParent(
	ctx context.Context, snapshot *git.Snapshot, facts *Facts, commit git.ID, o CompareOptions,
) (Comparison, error) {
	s, err := newSource(ctx, snapshot, facts)
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

// firstParent returns the first parent of a commit, nil where there is none.
func (s *source) firstParent(l links) (*links, error) {
	if len(l.parents) == 0 {
		return nil, nil
	}
	parent, _, err := s.links(l.parents[0])
	return &parent, err
}

// compareTrees lists what is different in the second tree. The zero id is the
// empty tree.
func (s *source) compareTrees(from, to git.ID, o CompareOptions) (Comparison, error) {
	files, err := s.treeChanges(from, to, o)
	if err != nil || o.NoRenames {
		return Comparison{Files: files}, err
	}
	return s.findRenames(files, o.Copies, maxChunks)
}
