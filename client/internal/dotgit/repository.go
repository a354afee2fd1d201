package dotgit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/gitconfig"
)

// ErrUnsupported says that a repository has a form in which it is not kept in step.
var ErrUnsupported = errors.New("git pull brings this repository up to date, and not this program")

// Repository is the existing repository of a working tree, which may have been made by git. One goroutine uses it.
type Repository struct {
	dir    string     // the working tree
	folder string     // of HEAD and the index: .git, or for a linked worktree a folder in that of the main one
	common string     // of refs and objects
	store  *git.Store // of common; nil until it is needed
}

// Close closes the objects.
func (r *Repository) Close() error {
	if r.store == nil {
		return nil
	}
	return r.store.Close()
}

// Open opens the repository of a working tree. It returns nil if there is none.
func Open(dir string) (*Repository, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	r := &Repository{dir: dir, folder: filepath.Join(dir, ".git")}
	info, err := os.Lstat(r.folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // likewise
	case err != nil:
		return nil, err
	case info.Mode().IsRegular():
		if r.folder, err = r.follow(r.folder, "gitdir: "); err != nil {
			return nil, err
		}
	case !info.IsDir():
		return nil, fmt.Errorf("%w: its .git is a link", ErrUnsupported)
	}
	r.common, err = r.follow(filepath.Join(r.folder, "commondir"), "")
	if errors.Is(err, fs.ErrNotExist) {
		r.common, err = r.folder, nil
	}
	if err == nil {
		err = r.supports()
	}
	return r, err
}

// follow reads a file with the path of a folder after a word (gitrepository-layout(5)).
func (r *Repository) follow(name, word string) (string, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(strings.TrimRight(string(content), "\r\n"), word)
	if !ok || path == "" {
		return "", fmt.Errorf("%w: %s is malformed", ErrUnsupported, filepath.Base(name))
	}
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(name), path)
	}
	return filepath.EvalSymlinks(path)
}

// unsupported are settings under which the working tree or the refs are not where this package
// looks for them, with the values that change nothing.
var unsupported = map[string][]string{
	"core.bare": {"false"}, "core.worktree": {}, "core.sparsecheckout": {"false"}, "index.sparse": {"false"},
	"core.splitindex": {"false"}, "extensions.refstorage": {"files"}, "extensions.objectformat": {"sha1"},
	"extensions.relativeworktrees": {"true", "false"}, "extensions.worktreeconfig": {"false"},
}

func (r *Repository) supports() error {
	settings, err := r.settings()
	if err != nil {
		return err
	}
	for _, s := range settings {
		values, known := unsupported[s.Name]
		if !known {
			continue
		}
		harmless := false
		for _, value := range values {
			harmless = harmless || strings.EqualFold(value, s.Value)
		}
		if !harmless {
			return fmt.Errorf("%w: it has %s=%s", ErrUnsupported, s.Name, s.Value)
		}
	}
	return nil
}

func (r *Repository) settings() ([]gitconfig.Setting, error) {
	content, err := os.ReadFile(r.configFile())
	if err != nil {
		return nil, err
	}
	settings, err := gitconfig.Parse(string(content))
	if err != nil {
		return nil, fmt.Errorf("%w: its configuration: %w", ErrUnsupported, err)
	}
	return settings, nil
}

func (r *Repository) configFile() string { return filepath.Join(r.common, "config") }

// Head is what a repository has checked out.
type Head struct {
	// Name is the full name of a branch, or "" for a commit alone.
	Name   string
	Commit git.ID
}

func (r *Repository) headFile() string { return filepath.Join(r.folder, "HEAD") }

// Head reads HEAD.
func (r *Repository) Head() (h Head, err error) {
	content, err := os.ReadFile(r.headFile())
	if err != nil {
		return h, err
	}
	text := strings.TrimSpace(string(content))
	if name, ok := strings.CutPrefix(text, "ref: "); ok {
		h.Name = name
		if h.Commit, err = r.Ref(name); err == nil && h.Commit.IsZero() {
			err = fmt.Errorf("%w: its branch has no commit yet", ErrUnsupported)
		}
		return h, err
	}
	if h.Commit, err = git.ParseID(text); err != nil {
		err = fmt.Errorf("%w: its HEAD is malformed", ErrUnsupported)
	}
	return h, err
}

// Ref returns the object of a ref, zero if there is none.
func (r *Repository) Ref(name string) (git.ID, error) {
	content, err := os.ReadFile(r.refFile(name))
	switch {
	case err == nil:
		id, err := git.ParseID(strings.TrimSpace(string(content)))
		if err != nil {
			err = fmt.Errorf("%w: the ref %s is malformed, or a symbolic one", ErrUnsupported, name)
		}
		return id, err
	case !errors.Is(err, fs.ErrNotExist) && !isFolder(r.refFile(name)):
		return git.ID{}, err
	}
	packed, err := os.ReadFile(filepath.Join(r.common, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return git.ID{}, err
	}
	for line := range bytes.Lines(packed) {
		digits, of, isRef := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if isRef && of == name {
			return git.ParseID(digits)
		}
	}
	return git.ID{}, nil
}

// checkRefName reports whether a new ref can have a name: a/b is not possible beside a.
func (r *Repository) checkRefName(name string) error {
	taken := ""
	for at := path.Dir(name); strings.Count(at, "/") > 1; at = path.Dir(at) {
		if id, err := r.Ref(at); err != nil {
			return err
		} else if !id.IsZero() {
			taken = at
		}
	}
	packed, err := os.ReadFile(filepath.Join(r.common, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range bytes.Lines(packed) {
		if _, of, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " "); strings.HasPrefix(of, name+"/") {
			taken = of
		}
	}
	err = filepath.WalkDir(r.refFile(name), func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && file != r.refFile(name) && !strings.HasSuffix(file, lockExtension) {
			taken = name + "/" + d.Name()
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if taken != "" {
		return fmt.Errorf("%w: %s is in the way of %s: git remote prune origin, or git branch -d, removes it",
			ErrUnsupported, taken, name)
	}
	return nil
}

// IsCheckedOutElsewhere reports whether another working tree of the repository has a branch checked out
// (git-worktree(1)).
func (r *Repository) IsCheckedOutElsewhere(branch string) (bool, error) {
	heads, err := filepath.Glob(filepath.Join(r.common, "worktrees", "*", "HEAD"))
	if branch == "" || err != nil {
		return false, err
	}
	for _, name := range append(heads, filepath.Join(r.common, "HEAD")) {
		if name == r.headFile() {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if strings.TrimSpace(string(content)) == "ref: "+branch {
			return true, nil
		}
	}
	return false, nil
}

func isFolder(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir()
}

func (r *Repository) refFile(name string) string {
	return filepath.Join(r.common, filepath.FromSlash(name))
}

// operations are the files by which git knows an unfinished operation.
var operations = []struct{ name, what string }{
	{"MERGE_HEAD", "merge"}, {"rebase-merge", "rebase"}, {"rebase-apply", "rebase"},
	{"CHERRY_PICK_HEAD", "cherry-pick"},
	{"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"}, {"sequencer", "sequence of commits"},
}

// Unfinished returns the operation that a user has begun and not ended, or "".
func (r *Repository) Unfinished() string {
	for _, o := range operations {
		if _, err := os.Lstat(filepath.Join(r.folder, o.name)); err == nil {
			return o.what
		}
	}
	return ""
}

// view opens the objects of the repository.
func (r *Repository) view(use func(*git.Snapshot) error) (err error) {
	if r.store == nil {
		if r.store, err = git.NewStore(r.common, git.StoreOptions{}); err != nil {
			return err
		}
	}
	return viewSnapshot(r.store, ".", use)
}

// IsAncestor reports whether a commit is the other one, or an ancestor of it.
func (r *Repository) IsAncestor(ctx context.Context, id, of git.ID) (is bool, err error) {
	err = r.view(func(s *git.Snapshot) error {
		is, err = isAncestor(ctx, s, id, of)
		return err
	})
	return is, err
}

// dateSlack is how much earlier than its parent a commit may claim to be.
const dateSlack = 7 * 24 * 60 * 60

// isAncestor walks from a commit to its ancestors. It does not follow those that are a week older than
// the one it looks for, and takes commits that are not there for cut ones.
func isAncestor(ctx context.Context, s *git.Snapshot, id, of git.ID) (bool, error) {
	sought, err := s.Commit(id)
	if errors.Is(err, git.ErrNotFound) { // or it is no commit
		return false, nil
	}
	if err != nil {
		return false, err
	}
	cut, err := s.Shallow()
	if err != nil {
		return false, err
	}
	seen, buffer := map[git.ID]bool{of: true}, []byte(nil)
	for next := []git.ID{of}; len(next) > 0; {
		at := next[0]
		next = next[1:]
		if at == id {
			return true, nil
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if has, err := s.Has(at); err != nil {
			return false, err
		} else if !has {
			continue
		}
		if buffer, err = s.ScanCommit(at, buffer[:0]); err != nil {
			return false, err
		}
		links, err := git.ParseCommitLinks(at, buffer)
		if err != nil {
			return false, err
		}
		if links.Date+dateSlack < sought.Date || cut[at] {
			continue
		}
		for _, parent := range links.Parents {
			if !seen[parent] {
				seen[parent] = true
				next = append(next, parent)
			}
		}
	}
	return false, nil
}
