package repos

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// walk looks for the repositories below the root.
type walk struct {
	*Catalogue
	found map[string]*Repository // by name
	// unread has the folders and links that could not be read, by their paths: what is there is not known.
	unread map[string]bool
}

// walk returns the repositories at and below the root. A folder that cannot be read keeps those that it had: a disk
// that fails for a moment removes no repository. Without the root itself there is no answer.
func (c *Catalogue) walk() (map[string]*Repository, error) {
	w := &walk{c, make(map[string]*Repository), make(map[string]bool)}
	if err := w.folder("."); err != nil {
		return nil, err
	}
	if len(w.unread) > 0 {
		c.mu.RLock()
		defer c.mu.RUnlock()
		for name, r := range c.byName {
			if w.found[name] == nil && (w.isUnread(r.dir) || w.isUnread(name) || w.isUnread(name+gitSuffix)) {
				w.found[name] = r
			}
		}
	}
	return w.found, nil
}

// isUnread reports whether a path or a folder above it could not be read.
func (w *walk) isUnread(p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if w.unread[p] {
			return true
		}
	}
	return false
}

// skip notes that a folder or a link could not be read. It returns the error if none can be.
func (w *walk) skip(p string, err error) error {
	switch {
	case files.LacksDescriptor(err):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil
	}
	w.unread[p] = true
	if w.told.first(p) {
		w.logger.Warn("a folder below the root cannot be read, and keeps the repositories that it had; "+
			"let the server's user read it", "folder", p, "error", files.Pathless(err))
	}
	return nil
}

// folder adds the repositories at and below a folder, a path relative to the root.
func (w *walk) folder(dir string) error {
	entries, err := files.ReadDir(w.store.Root(), dir)
	if err != nil {
		return err
	}
	folder, isRepository, err := w.gitDir(dir, entries)
	if err != nil {
		if r := w.lookup(w.nameOf(dir)); r != nil && r.dir == folder {
			return err
		}
		err = w.skip(folder, err) // there may be others below
	}
	switch {
	case err != nil:
		return err
	case isRepository && folder == dir:
		w.add(strings.TrimSuffix(w.nameOf(dir), gitSuffix), dir)
		return nil
	case isRepository:
		w.add(w.nameOf(dir), folder)
		return nil
	case has(entries, ".git", regular):
		w.leaveOut(
			dir,
			"its .git is a file: it is a linked worktree, a submodule or has its repository elsewhere; serve that",
		)
		return nil
	}
	if err := w.links(dir, entries); err != nil {
		return err
	}
	for _, entry := range entries {
		// Symbolic links are handled by links.
		if !entry.IsDir() || entry.Name() == ".git" {
			continue
		}
		below := path.Join(dir, entry.Name())
		if err := w.folder(below); err != nil {
			if err = w.skip(below, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// gitDir is the folder with HEAD, objects and refs of the repository in a folder: the folder itself
// if it is bare, or the .git in it.
func (w *walk) gitDir(dir string, entries []fs.DirEntry) (folder string, ok bool, err error) {
	if git.IsGitDir(entries) {
		return dir, true, nil
	}
	if !has(entries, ".git", fs.ModeDir) {
		return "", false, nil
	}
	folder = path.Join(dir, ".git")
	inner, err := files.ReadDir(w.store.Root(), folder)
	if errors.Is(err, fs.ErrNotExist) { // it was just removed
		err = nil
	}
	return folder, err == nil && git.IsGitDir(inner), err
}

// links adds the repositories that symbolic links in a folder point to, under the names of the
// links. A link to anything else is not followed, so that no folder is walked twice. Links out of
// the root are logged, in one line for a folder, since some have thousands.
func (w *walk) links(dir string, entries []fs.DirEntry) error {
	out := 0
	first := ""
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink == 0 {
			continue
		}
		link := path.Join(dir, entry.Name())
		switch err := w.addLinked(link); {
		case errors.Is(err, errOutside):
			if out++; out == 1 {
				first = link
			}
		case err == nil, files.RefusesLink(err): // it leads to itself
		default:
			if err = w.skip(link, err); err != nil {
				return err
			}
		}
	}
	if out > 0 && w.told.first(path.Join(dir, "links")) {
		w.logger.Warn(
			"symbolic links lead out of the root and are not followed; move what they lead to below the root",
			"folder", dir, "links", out, "first", first,
		)
	}
	return nil
}

var errOutside = errors.New("leads out of the root")

// inside is the path below the root that a symbolic link finally points to, whether it is absolute
// or relative. It only looks at names: the target is opened through the os.Root like everything
// else.
func (w *walk) inside(link string) (string, error) {
	root, err := filepath.EvalSymlinks(w.store.Root().Name())
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(link)))
	if err != nil {
		return "", err
	}
	below, err := filepath.Rel(root, target)
	if err != nil || !filepath.IsLocal(below) {
		return "", errOutside
	}
	return filepath.ToSlash(below), nil
}

// addLinked adds the repository that a symbolic link points to. Most links point to files, or nowhere.
func (w *walk) addLinked(link string) error {
	target, err := w.inside(link)
	if err != nil {
		return err
	}
	entries, err := files.ReadDir(w.store.Root(), target)
	if err != nil {
		return err
	}
	folder, ok, err := w.gitDir(target, entries)
	if ok {
		w.add(strings.TrimSuffix(link, gitSuffix), folder)
	}
	return err
}

// nameOf is the name of the repository in a folder: its path below the root, or the root's own name
// if the root itself is the repository.
func (w *walk) nameOf(dir string) string {
	if dir == "." {
		return filepath.Base(w.store.Root().Name())
	}
	return dir
}

// add keeps the first of two folders with the same name: a.git and a sort in a fixed order, so the
// choice is stable.
func (w *walk) add(name, dir string) {
	switch {
	case !IsName(name):
		w.leaveOut(dir, "its name cannot be served: names have letters, digits and "+nameMarks+
			", and no part of them begins with a dot or dash; rename its folder")
	case w.found[name] != nil:
		w.leaveOut(dir, "another folder has the same name; rename or remove one of them")
	default:
		w.found[name] = newRepository(w.Catalogue, name, dir)
	}
}

// leaveOut logs once why a repository is not served.
func (w *walk) leaveOut(dir, reason string) {
	if w.told.first(dir) {
		w.logger.Warn("a repository is left out", "folder", dir, "reason", reason)
	}
}

// regular is the type of a regular file.
const regular fs.FileMode = 0

func has(entries []fs.DirEntry, name string, kind fs.FileMode) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name && e.Type() == kind })
}
