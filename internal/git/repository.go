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
	// ReachableOnly refuses revisions of commits that no ref, or only hidden refs, lead to: they
	// are [ErrNotFound].
	ReachableOnly bool
	// Hidden returns the rule by which refs are hidden, by their full names, or nil if all are
	// shown. It gets a function that returns the values of keys, such as transfer.hiderefs, from
	// the repository's configuration, in the order of the file. The rule depends on these alone, and
	// is the same for all that read the repository by one store.
	Hidden func(configured func(keys ...string) []string) (hides func(name string) bool)
	// Observer is told of events for the operator; it may be nil.
	Observer Observer
}

// Observer is told of events while a repository is read. Its methods are called by the reading
// goroutines, several at a time.
type Observer interface {
	// Panicked gets an error that matches [ErrCorrupt], made of a panic that the bytes of the
	// repository caused.
	Panicked(err error)
	// Resolved gets the error of each resolved revision, nil if it was found.
	Resolved(err error)
	// RefsListed gets the number of refs in a list, that of unreadable ones, and the first of
	// these. It is called for lists of all refs, and for others if they have unreadable ones.
	RefsListed(refs, damaged int, first Ref)
	// CommitGraphRead gets the reason why the files of a commit-graph are not used, or nil. It is
	// called when they have changed.
	CommitGraphRead(err error)
	// CommitGraphDropped gets the reason why a commit-graph is not used any more.
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
	folds   func() bool // see filenames.IsFoldingLetters
}

// IsGitDir reports whether a folder has the files by which git recognises a repository: HEAD,
// objects and refs (gitrepository-layout(5)).
func IsGitDir(entries []fs.DirEntry) bool {
	const regular fs.FileMode = 0
	has := func(name string, kind fs.FileMode) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name && e.Type() == kind })
	}
	return has("HEAD", regular) && has("objects", fs.ModeDir) && has("refs", fs.ModeDir)
}

// Folder is the repository's path on this machine.
func (r *Repository) Folder() string {
	return filepath.Join(r.store.root.Name(), filepath.FromSlash(r.dir))
}

// Configured returns the values of a key in the repository's configuration, in the order of the file.
func (r *Repository) Configured(key string) ([]string, error) {
	database, err := r.store.objects.Open(r.dir)
	if err != nil {
		return nil, domainError(err)
	}
	return database.Configured(key), nil
}

// Snapshot opens the repository as it is now. It holds the packs open, so other programs may repack
// or delete the repository meanwhile.
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
	return &Snapshot{repository: r, refs: r.refsOf(database), objects: pinned}, nil
}

// refs returns the refs with the rule that hides some of them.
func (r *Repository) refs() (refSet, error) {
	database, err := r.store.objects.Open(r.dir)
	if err != nil {
		return refSet{}, fmt.Errorf("repository: %w", domainError(err))
	}
	return r.refsOf(database), nil
}

func (r *Repository) refsOf(database *objects.Database) refSet {
	f := refSet{hides: func(string) bool { return false }}
	if r.options.Hidden != nil {
		rule := r.options.Hidden(func(keys ...string) []string {
			values := database.Configured(keys...)
			f.rules = append(f.rules, values...)
			return values
		})
		if rule != nil {
			f.hides = rule
		}
	}
	if database.HasRefTables() {
		f.refStore = refTables{r.store.root, r.dir}
	} else {
		f.refStore = refFiles{r.store.root, r.dir, r.store.lookUps, r.folds, f.hides}
	}
	return f
}

// contain turns a panic into damage, since the repository's bytes have caused it. Deferred by
// functions that read a repository.
func (r *Repository) contain(err *error) {
	if value := recover(); value != nil {
		*err = fmt.Errorf("reading the repository: %w: %w", ErrCorrupt,
			&panics.Error{Value: value, Stack: debug.Stack()})
		r.options.Observer.Panicked(*err)
	}
}

// containPanic is contain for a panic that was already turned into an error.
func (r *Repository) containPanic(err error) {
	if panicked := (*panics.Error)(nil); errors.As(err, &panicked) {
		r.options.Observer.Panicked(err)
	}
}
