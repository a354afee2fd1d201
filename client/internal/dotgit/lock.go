package dotgit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/git"
)

var (
	// ErrLocked says that another git program changes the repository, or was killed while it did.
	ErrLocked = errors.New("another git program has locked the repository")
	// ErrMoved says that a user has moved a branch meanwhile.
	ErrMoved = errors.New("the branch was moved meanwhile")
)

// lock keeps other programs from changing a file, as git's lock files do (api-lockfile). Its file has
// a mark of the working tree, so that the next run for that, which is the only one at its time, removes what a killed run has left.
type lock struct {
	r    *Repository
	name string // of the locked file
}

func (r *Repository) lock(name string) (*lock, error) {
	mark := "repomcp sync " + r.dir + "\n"
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil { //nolint:gosec // the umask decides
		return nil, err
	}
	at := name + ".lock"
	file, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // likewise
	if errors.Is(err, fs.ErrExist) {
		if content, other := os.ReadFile(at); other == nil && string(content) == mark {
			return &lock{r, name}, nil
		}
		rel, _ := filepath.Rel(r.common, at)
		return nil, fmt.Errorf("%w: if none runs, remove %s", ErrLocked, filepath.ToSlash(rel))
	}
	if err != nil {
		return nil, err
	}
	_, err = file.WriteString(mark)
	return &lock{r, name}, errors.Join(err, file.Close())
}

// replace gives the file another content, by a rename.
func (l *lock) replace(write func(name string) error) error {
	fresh := filepath.Join(l.r.folder, "repomcp-new")
	if err := write(fresh); err != nil {
		return err
	}
	return os.Rename(fresh, l.name)
}

func (l *lock) write(text string) error {
	return l.replace(func(fresh string) error {
		return os.WriteFile(fresh, []byte(text), 0o666) //nolint:gosec // the umask decides
	})
}

func (l *lock) release() error { return os.Remove(l.name + ".lock") }

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
	if isFolder(l.name) { // of refs that were deleted; git removes such folders, too
		_ = os.Remove(l.name)
	}
	if err := l.write(id.String() + "\n"); err != nil {
		return err
	}
	return r.log(filepath.Join(r.common, "logs", filepath.FromSlash(name)), id, old)
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
