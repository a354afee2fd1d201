package dotgit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/base/swap"
	"github.com/repomcp/repomcp/internal/git"
)

var (
	// ErrLocked says that another git program changes the repository, or was killed while it did.
	ErrLocked = errors.New("another git program has locked the repository")
	// ErrMoved says that a user has moved HEAD or a branch meanwhile.
	ErrMoved = errors.New("HEAD or a branch was moved meanwhile")
)

const lockExtension = ".lock"

// lock keeps other programs from changing a file, as git's lock files do (api-lockfile). Its file names
// the working tree, so that [Repository.Recover] finds what a killed run has left.
type lock struct {
	r    *Repository
	name string // of the locked file
}

// lockPatience is how long a lock is waited for, as git does for refs: its commands hold locks for milliseconds.
const (
	lockPatience = time.Second
	lockStep     = 10 * time.Millisecond
)

// lock waits for the lock of a file.
func (r *Repository) lock(name string) (l *lock, err error) {
	for start := time.Now(); ; time.Sleep(lockStep) {
		if l, err = r.tryLock(name); !errors.Is(err, ErrLocked) || time.Since(start) > lockPatience {
			return l, err
		}
	}
}

func (r *Repository) tryLock(name string) (*lock, error) {
	at, err := filepath.Rel(r.common, name+lockExtension)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil { //nolint:gosec // the umask decides
		return nil, err
	}
	// It is never there without the mark.
	if err := os.WriteFile(r.fresh(), r.mark(), 0o666); err != nil { //nolint:gosec // likewise
		return nil, err
	}
	err = r.move(r.fresh(), at)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w: if none runs, remove %s", ErrLocked, filepath.ToSlash(at))
		return nil, errors.Join(err, os.Remove(r.fresh()))
	}
	if err != nil {
		return nil, err
	}
	return &lock{r, name}, nil
}

// mark is the content of all locks of this working tree.
func (r *Repository) mark() []byte { return []byte("repomcp sync " + r.dir + "\n") }

// Recover removes the locks that a killed run has left. The caller must be the only run in the working
// tree. Locks of git and of other working trees stay.
func (r *Repository) Recover() error {
	for _, name := range []string{r.IndexFile(), r.headFile(), r.configFile(), r.shallowFile()} {
		if err := r.unlock(name + lockExtension); err != nil {
			return err
		}
	}
	return filepath.WalkDir(filepath.Join(r.common, "refs"), func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // git has removed an empty folder meanwhile
		case err != nil || d.IsDir() || !strings.HasSuffix(name, lockExtension):
			return err
		}
		return r.unlock(name)
	})
}

// unlock removes a lock file of this working tree, if it is one.
func (r *Repository) unlock(name string) error {
	content, err := os.ReadFile(name)
	if err == nil && bytes.Equal(content, r.mark()) {
		err = os.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// fresh is the name of files before they get their own.
func (r *Repository) fresh() string { return filepath.Join(r.folder, "repomcp-new") }

// move gives a file a name below the common folder that no other file has.
func (r *Repository) move(from, to string) (err error) {
	from, err = filepath.Rel(r.common, from)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(r.common)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	folder, err := swap.Open(root, false)
	if err != nil {
		return err
	}
	return errors.Join(folder.Move(from, to), folder.Close())
}

// replace gives the file another content, by a rename.
func (l *lock) replace(write func(name string) error) error {
	if err := write(l.r.fresh()); err != nil {
		return err
	}
	return os.Rename(l.r.fresh(), l.name)
}

func (l *lock) write(text string) error {
	return l.replace(func(fresh string) error {
		return os.WriteFile(fresh, []byte(text), 0o666) //nolint:gosec // the umask decides
	})
}

func (l *lock) release() error { return os.Remove(l.name + lockExtension) }

// setRef makes a ref hold an object in place of another one, which is zero if there was none.
func (r *Repository) setRef(name string, id, old git.ID) (err error) {
	l, err := r.lock(r.refFile(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	now, err := r.Ref(name)
	if err != nil || now == id {
		return err
	}
	if now != old {
		return fmt.Errorf("%w: %s", ErrMoved, name)
	}
	if old.IsZero() {
		if err := r.checkRefName(name); err != nil {
			return err
		}
	}
	return l.setRef(name, id, old)
}

// setRef has the locked ref hold an object in place of another one.
func (l *lock) setRef(name string, id, old git.ID) error {
	if isFolder(l.name) { // of refs that were deleted; git removes such folders, too
		_ = os.Remove(l.name)
	}
	if err := l.write(id.String() + "\n"); err != nil {
		return err
	}
	return l.r.log(filepath.Join(l.r.common, "logs", filepath.FromSlash(name)), id, old)
}

// log appends to a reflog, unless the repository has none: git-reflog(1).
func (r *Repository) log(name string, id, old git.ID) error {
	settings, err := r.settings()
	if err != nil {
		return err
	}
	for _, s := range settings {
		if s.Name == "core.logallrefupdates" && strings.EqualFold(s.Value, "false") {
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil { //nolint:gosec // the umask decides
		return err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666) //nolint:gosec // likewise
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%s %s repomcp <repomcp> %d +0000\tsync\n", old, id, time.Now().Unix())
	return errors.Join(err, file.Close())
}
