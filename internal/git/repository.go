package git

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/git/objects"
)

// Options of a [Repository]. The zero value reads everything, as git does.
type Options struct {
	// ReachableOnly refuses revisions that name commits to which no ref leads, or hidden refs
	// alone: they are [ErrNotFound].
	ReachableOnly bool
	// Hidden returns the rule by which refs are hidden, by their full names, or nil where all are
	// shown. It gets the values that the repository's configuration has for keys, such as
	// transfer.hiderefs, in the order of the file.
	Hidden func(configured func(keys ...string) []string) (hides func(name string) bool)
	// Observer is told what an operator may want to know; nil tells no one.
	Observer Observer
}

// Observer is told what is found out about a repository while it is read. Its methods are called
// by the goroutines that read, several at a time.
type Observer interface {
	// Panicked gets the error, which matches [ErrCorrupt], that a panic was turned into. The bytes of
	// the repository made the code panic.
	Panicked(err error)
	// Resolved gets the error of each revision that was resolved, nil where it was found.
	Resolved(err error)
	// RefsListed gets the number of refs that a list has, and of those that cannot be read, with the
	// first of these.
	RefsListed(refs, damaged int, first Ref)
	// CommitGraphRead gets the reason that the files of a commit-graph are not used, or nil. It is
	// called when they have changed.
	CommitGraphRead(err error)
	// CommitGraphDropped gets the reason that a commit-graph is not used any more.
	CommitGraphDropped(err error)
}

// unobserved is the observer of a repository without one.
type unobserved struct{}

func (unobserved) Panicked(error)             {}
func (unobserved) Resolved(error)             {}
func (unobserved) RefsListed(_, _ int, _ Ref) {}
func (unobserved) CommitGraphRead(error)      {}
func (unobserved) CommitGraphDropped(error)   {}

// Repository is a repository in a folder. Any number of goroutines may use it.
type Repository struct {
	store   *Store
	dir     string // below the root of the store
	options Options
}

// IsGitDir reports whether a folder has what git knows a repository by: HEAD,
// objects and refs (gitrepository-layout(5)).
func IsGitDir(entries []fs.DirEntry) bool {
	const regular fs.FileMode = 0
	has := func(name string, kind fs.FileMode) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name && e.Type() == kind })
	}
	return has("HEAD", regular) && has("objects", fs.ModeDir) && has("refs", fs.ModeDir)
}

// Folder is where git has the repository on this machine.
func (r *Repository) Folder() string {
	return filepath.Join(r.store.root.Name(), filepath.FromSlash(r.dir))
}

// Snapshot opens the repository as it is now. Packs are held open, so that
// others may repack or delete the repository meanwhile.
func (r *Repository) Snapshot() (s *Snapshot, err error) {
	defer r.contain(&err)
	database, err := r.store.objects.Open(r.dir)
	if err != nil {
		return nil, fmt.Errorf("repository: %w", domainError(err))
	}
	pinned, err := database.Snapshot()
	if err != nil {
		return nil, fmt.Errorf("repository: %w", domainError(err))
	}
	return &Snapshot{repository: r, refs: r.refFilesOf(database), objects: pinned}, nil
}

// refFiles are the refs with the rule that hides some of them.
func (r *Repository) refFiles() (refFiles, error) {
	database, err := r.store.objects.Open(r.dir)
	if err != nil {
		return refFiles{}, fmt.Errorf("repository: %w", domainError(err))
	}
	return r.refFilesOf(database), nil
}

func (r *Repository) refFilesOf(database *objects.Database) refFiles {
	hides := func(string) bool { return false }
	if r.options.Hidden != nil {
		if rule := r.options.Hidden(database.Configured); rule != nil {
			hides = rule
		}
	}
	return refFiles{root: r.store.root, dir: r.dir, hides: hides}
}

// contain is deferred by what reads a repository: a panic there comes of the
// repository's bytes, so it is damage.
func (r *Repository) contain(err *error) {
	if value := recover(); value != nil {
		*err = fmt.Errorf("reading the repository: %w: %w", ErrCorrupt,
			&panics.Error{Value: value, Stack: debug.Stack()})
		r.options.Observer.Panicked(*err)
	}
}

// containPanic does so for a panic that was made an error where it was.
func (r *Repository) containPanic(err error) {
	if panicked := (*panics.Error)(nil); errors.As(err, &panicked) {
		r.options.Observer.Panicked(err)
	}
}
