package git

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/objects"
	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// These are sentinels. Callers test with [errors.Is]; the messages may be shown to users, so they
// contain no path of the host.
var (
	// ErrNotFound means that the repository, revision or path does not exist or is hidden: the two
	// are never distinguished.
	ErrNotFound = errors.New("not found")
	// ErrInvalid means that a name cannot exist by the rules of its kind.
	ErrInvalid = errors.New("invalid name")
	// ErrCorrupt means that the repository's data is damaged.
	ErrCorrupt = errors.New("repository data is damaged")
	// ErrLFS means that an object of git-lfs in the mirror does not match its pointer. It matches
	// ErrCorrupt, although the damage is outside of git's data.
	ErrLFS = fmt.Errorf("an object of git-lfs is not what its pointer says: %w", ErrCorrupt)
	// ErrDenied means that the permissions of the host keep the process from
	// reading the repository.
	ErrDenied = errors.New("permission denied")
	// ErrPartial means that an object is missing from a partial clone.
	ErrPartial = errors.New("object is missing from a partial clone")
	// ErrOutside means that an object is missing, and that the repository has an alternate outside
	// of the root, which is not read.
	ErrOutside = errors.New("object is missing, and an alternate leads out of the root")
	// ErrUnsupported means that the repository uses a format that is not read.
	ErrUnsupported = errors.New("repository format is not supported")
	// ErrTooLarge means that a file is larger than the caller's limit.
	ErrTooLarge = errors.New("too large")
	// ErrBusy means that the process has no descriptor or temporary space left
	// for the repository at this moment.
	ErrBusy = errors.New("server is busy")
	// ErrEmpty means that the repository has no commit to show.
	ErrEmpty = errors.New("repository has no commits")
	// ErrUnborn means that HEAD names a branch that does not exist. It matches ErrEmpty, although
	// there may be other refs.
	ErrUnborn = fmt.Errorf("HEAD names a branch that does not exist: %w", ErrEmpty)
)

// AmbiguousError lists the commits that an abbreviated object id could mean.
type AmbiguousError struct {
	Prefix     string
	Candidates []ID
}

func (e *AmbiguousError) Error() string {
	names := make([]string, len(e.Candidates))
	for i, id := range e.Candidates {
		names[i] = id.String()
	}
	return fmt.Sprintf("abbreviated commit id %s is ambiguous: %s", e.Prefix, strings.Join(names, ", "))
}

// KindError says that a revision leads to a file or a folder and not to a commit. It matches
// [ErrNotFound].
type KindError struct {
	// ID is that of the file or folder.
	ID ID
	// Tree is true for a folder.
	Tree bool
}

func (e *KindError) Error() string {
	if e.Tree {
		return fmt.Sprintf("the revision leads to a folder (tree %s), not to a commit", e.ID)
	}
	return fmt.Sprintf("the revision leads to a file (blob %s), not to a commit or folder", e.ID)
}

// Unwrap makes the error match [ErrNotFound].
func (e *KindError) Unwrap() error { return errNotCommit }

// damage says that an object is damaged.
func damage(id ID, err error) error { return fmt.Errorf("object %s: %w: %w", id, ErrCorrupt, err) }

// translations map the sentinels of the object database to those of this package; the first match
// counts.
var translations = []struct{ from, to error }{
	{objects.ErrPartial, ErrPartial},
	{objects.ErrOutside, ErrOutside},
	{objects.ErrNotFound, ErrNotFound},
	{objects.ErrDenied, ErrDenied},
	{objects.ErrUnsupported, ErrUnsupported},
	{objects.ErrCorrupt, ErrCorrupt},
	{objects.ErrTooLarge, ErrTooLarge},
	{objects.ErrBusy, ErrBusy},
}

// domainError translates an error of the object database.
func domainError(err error) error {
	for _, t := range translations {
		if errors.Is(err, t.from) {
			return fmt.Errorf("%w: %w", t.to, err)
		}
	}
	return err
}

// IsAbsent reports whether an error means that something does not exist, as opposed to damage.
func IsAbsent(err error) bool { return errors.Is(err, ErrNotFound) && !errors.Is(err, ErrCorrupt) }

// unreadable are the reasons why existing data cannot be read at the moment, or until an operator
// repairs it.
var unreadable = []error{ErrCorrupt, ErrDenied, ErrPartial, ErrOutside}

func isDamage(err error) bool {
	return slices.ContainsFunc(unreadable, func(damage error) bool { return errors.Is(err, damage) })
}

// readError translates the error of reading a folder or an open file.
func readError(what string, err error) error {
	switch err = files.Pathless(err); {
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("%w: %w", ErrDenied, err)
	case files.LacksDescriptor(err):
		err = fmt.Errorf("%w: %w", ErrBusy, err)
	default:
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return fmt.Errorf("reading %s: %w", what, err)
}
