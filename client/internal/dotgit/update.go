package dotgit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/config"

	"github.com/repomcp/repomcp/internal/git"
)

// Update is a checkout that has come for an existing repository, and that was compared with its
// commit.
type Update struct {
	Change
	*Incoming
	repository *Repository
	base       git.ID
}

// ErrCut says that a repository with the whole history would become one with a part of it.
var ErrCut = errors.New("it has the whole history, and the server sends a part of it")

// incomingFolder is where objects are until they were compared, as in git's own quarantine.
const incomingFolder = "repomcp-incoming"

// Receive begins an archive for the repository.
func (r *Repository) Receive() (*Incoming, error) {
	folder := filepath.Join(r.folder, incomingFolder)
	if err := Remove(folder); err != nil { // of a killed run
		return nil, err
	}
	in, err := Receive(folder)
	if err != nil {
		return nil, err
	}
	objects, err := filepath.Rel(filepath.Join(folder, "objects"), filepath.Join(r.common, "objects"))
	for _, file := range []struct{ name, content string }{
		{"HEAD", "ref: refs/heads/none\n"}, {"refs/heads/.keep", ""}, {"objects/pack/.keep", ""},
		{"objects/info/alternates", filepath.ToSlash(objects) + "\n"},
	} {
		err = errors.Join(err, in.write(file.name, []byte(file.content)))
	}
	if err != nil {
		return nil, errors.Join(err, in.Discard())
	}
	return in, nil
}

// Discard removes what has come for an existing repository.
func (in *Incoming) Discard() error { return errors.Join(in.Close(), Remove(in.folder)) }

// Remove removes a folder with what is in it. A file system in user space (FUSE) keeps a file that was just closed
// for a moment under another name, and the folder is not empty then.
func Remove(folder string) error {
	for start := time.Now(); ; time.Sleep(lockStep) {
		if err := os.RemoveAll(folder); !errors.Is(err, syscall.ENOTEMPTY) || time.Since(start) > lockPatience {
			return err
		}
	}
}

// Compare compares what has come with its commit, and with the one that the archive is the difference
// from.
func (r *Repository) Compare(ctx context.Context, in *Incoming, base git.ID) (*Update, error) {
	if err := in.describe(); err != nil {
		return nil, err
	}
	v, err := in.check(ctx, r.common, base, func(v *verifier) error { return r.view(v.dropKnown) })
	if err != nil {
		return nil, err
	}
	in.shallow = v.cut
	if len(in.shallow) > 0 && !r.IsShallow() {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, ErrCut)
	}
	return &Update{Change: v.change, Incoming: in, repository: r, base: base}, nil
}

// IsShallow reports whether the repository has a part of the history only.
func (r *Repository) IsShallow() bool {
	_, err := os.Lstat(r.shallowFile())
	return err == nil
}

func (r *Repository) shallowFile() string { return filepath.Join(r.common, "shallow") }

// AddChangesOf adds the paths that another commit changes, so that they are those of the update's commit in the end. It
// reports whether there are any. A commit that is not there any more adds none.
func (u *Update) AddChangesOf(ctx context.Context, other git.ID) (added bool, err error) {
	changed := make(map[string]bool, len(u.Paths))
	for _, p := range u.Paths {
		changed[p.Path] = true
	}
	err = u.repository.view(func(s *git.Snapshot) error {
		paths, err := compareTrees(ctx, s, u.base, other)
		for _, p := range paths {
			if !changed[p.Path] {
				// The base and the update have the same.
				u.Paths, added = append(u.Paths, Changed{Path: p.Path, Old: p.Old, New: p.Old}), true
			}
		}
		return err
	})
	if errors.Is(err, git.ErrNotFound) {
		return false, nil
	}
	slices.SortStableFunc(u.Paths, func(a, b Changed) int { return strings.Compare(a.Path, b.Path) })
	return added, err
}

// IsAncestor is [Repository.IsAncestor] before the objects are published.
func (u *Update) IsAncestor(ctx context.Context, id, of git.ID) (is bool, err error) {
	inside, err := filepath.Rel(u.repository.common, u.folder)
	if err != nil {
		return false, err
	}
	err = withSnapshot(u.repository.common, inside, func(s *git.Snapshot) error {
		is, err = isAncestor(ctx, s, id, of)
		return err
	})
	return is, err
}

// movePacks moves the files of packs into another folder, and stops at a fault: an index without its pack would hide
// the same objects in later packs.
func movePacks(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, extension := range packFiles {
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), extension) {
				continue
			}
			if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Publish adds the objects to the repository, and the commits that are cut.
func (u *Update) Publish() (err error) {
	r := u.repository
	packs := filepath.Join("objects", "pack")
	if err := movePacks(filepath.Join(u.folder, packs), filepath.Join(r.common, packs)); err != nil {
		return err
	}
	if len(u.shallow) == 0 {
		return nil
	}
	l, err := r.lock(r.shallowFile())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	before, err := os.ReadFile(r.shallowFile())
	if err != nil {
		return err
	}
	cut := u.shallow
	for line := range strings.Lines(string(before)) {
		id, err := git.ParseID(strings.TrimSpace(line))
		if err != nil {
			return fmt.Errorf("%w: its list of cut commits is malformed", ErrUnsupported)
		}
		cut = append(cut, id)
	}
	var text strings.Builder
	for _, id := range slices.Compact(slices.SortedFunc(slices.Values(cut), git.ID.Compare)) {
		_, _ = fmt.Fprintln(&text, id) // it never fails
	}
	return l.write(text.String())
}

// Track sets the ref in which the repository remembers the server's branch or tag.
func (u *Update) Track(old git.ID) error {
	if name := u.Tracking(); name != "" {
		return u.repository.setRef(name, u.Target, old)
	}
	return nil
}

// Converted returns, by path, the ids of the contents that git checkout writes of the old versions of
// changed files, where those are other ones than the objects.
func (u *Update) Converted(ctx context.Context) (map[string]git.ID, error) {
	converted := make(map[string]git.ID)
	return converted, u.repository.view(func(s *git.Snapshot) error {
		base, err := s.Commit(u.base)
		if err != nil {
			return err
		}
		c := &converter{ctx: ctx, snapshot: s, tree: base.Tree}
		for _, p := range u.Paths {
			if !p.Old.Mode.IsRegular() {
				continue
			}
			id, err := c.content(p.Path, p.Old.ID)
			if err != nil {
				return err
			}
			if id != p.Old.ID {
				converted[p.Path] = id
			}
		}
		return nil
	})
}

// Advance is an update of the working tree. It has the locks of all that it moves.
type Advance struct {
	*Update
	from              Head
	old               git.ID // the commit of the branch
	index             *Index
	lock, head, moved *lock // of the index, of HEAD and of the branch; nil if not taken
	config            *lock // of the configuration, for a new branch
}

// Begin locks the index, HEAD and the branch of the update, so that no git program changes them until the end. from is
// the HEAD of which the update was compared; if it has moved since, or an operation was begun, that is [ErrMoved].
// staged are the paths that a user has changed in the index, and that the update would change.
func (u *Update) Begin(from Head) (a *Advance, staged []string, err error) {
	a = &Advance{Update: u, from: from}
	if err = a.takeLocks(); err == nil {
		a.index, err = u.repository.Index()
	}
	if err != nil {
		return nil, nil, errors.Join(err, a.Cancel())
	}
	return a, a.staged(), nil
}

func (a *Advance) takeLocks() (err error) {
	r, branch := a.repository, a.Branch()
	if a.lock, err = r.lock(r.IndexFile()); err != nil {
		return err
	}
	if a.head, err = r.lock(r.headFile()); err != nil {
		return err
	}
	now, err := r.Head()
	if err == nil && (now != a.from || r.Unfinished() != "") {
		err = fmt.Errorf("%w: HEAD", ErrMoved)
	}
	if err != nil || branch == "" {
		return err
	}
	if a.moved, err = r.lock(r.refFile(branch)); err != nil {
		return err
	}
	if a.old, err = r.Ref(branch); err != nil {
		return err
	}
	switch {
	case branch == a.from.Name && a.old != a.from.Commit:
		return fmt.Errorf("%w: %s", ErrMoved, branch)
	case a.old.IsZero():
		if err = r.checkRefName(branch); err == nil {
			a.config, err = r.lock(r.configFile())
		}
	}
	return err
}

// Index reads the index of the repository.
func (r *Repository) Index() (*Index, error) {
	content, err := os.ReadFile(r.IndexFile())
	if errors.Is(err, fs.ErrNotExist) { // as git clone --no-checkout leaves it
		return &Index{}, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseIndex(content)
}

// IndexFile returns the path of the index.
func (r *Repository) IndexFile() string { return filepath.Join(r.folder, "index") }

// staged lists the changed paths at which the index has neither version, and those of a folder in
// place of which there will be a file, or the other way round.
func (a *Advance) staged() (paths []string) {
	changes := make(map[string]Changed, len(a.Paths))
	for _, p := range a.Paths {
		if _, ok := changes[p.Path]; !ok || p.New.Mode != 0 {
			changes[p.Path] = p
		}
	}
	inTheWay := func(entries []Entry) {
		for _, e := range entries {
			if _, changed := changes[e.Path]; !changed {
				paths = append(paths, e.Path)
			}
		}
	}
	for path, p := range changes {
		entries := a.index.between(path, path+"\x00")
		if len(entries) == 0 && p.Old.Mode != 0 && p.New.Mode != 0 {
			paths = append(paths, path) // removed from the index
		}
		if slices.ContainsFunc(entries, func(e Entry) bool { return !e.is(p.Old) && !e.is(p.New) }) {
			paths = append(paths, path)
		}
		if p.New.Mode == 0 {
			continue
		}
		inTheWay(a.index.between(path+"/", path+"0")) // the character after the slash
		for at := strings.LastIndexByte(path, '/'); at > 0; at = strings.LastIndexByte(path[:at], '/') {
			inTheWay(a.index.between(path[:at], path[:at]+"\x00"))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func (e Entry) is(t git.TreeEntry) bool {
	return e.Stage == 0 && !e.IntentToAdd && e.Mode == t.Mode && e.ID == t.ID
}

// Cancel releases the locks.
func (a *Advance) Cancel() (err error) {
	for _, l := range []*lock{a.config, a.moved, a.head, a.lock} {
		if l != nil {
			err = errors.Join(err, l.release())
		}
	}
	return err
}

// Finish writes the index, with the Stat of each file that was written, moves HEAD, and releases the locks.
func (a *Advance) Finish(stats map[string]Stat) (err error) {
	defer func() { err = errors.Join(err, a.Cancel()) }()
	a.index.apply(a.Change, stats)
	if err := a.lock.replace(a.index.WriteFile); err != nil {
		return err
	}
	return a.moveHead()
}

// moveHead moves the branch of HEAD, or HEAD itself to the branch or the commit of the update.
func (a *Advance) moveHead() error {
	r, branch := a.repository, a.Branch()
	if branch != "" && a.old != a.Commit {
		err := a.moved.setRef(branch, a.Commit, a.old)
		if err == nil && a.old.IsZero() {
			err = a.setUpstream(branch)
		}
		if err != nil {
			return err
		}
	}
	if a.from.Name != branch || branch == "" {
		content := a.Commit.String() + "\n"
		if branch != "" {
			content = "ref: " + branch + "\n"
		}
		if err := a.head.write(content); err != nil {
			return err
		}
	}
	return r.log(filepath.Join(r.folder, "logs", "HEAD"), a.Commit, a.from.Commit)
}

// setUpstream has git fetch a new branch from the origin, and push it there, as git switch does.
func (a *Advance) setUpstream(name string) error {
	r := a.repository
	settings, err := r.settings()
	if err != nil {
		return err
	}
	branch := strings.TrimPrefix(name, heads)
	fetch := "+" + name + ":" + remotes + branch
	hasOrigin, fetches := false, false
	for _, s := range settings {
		switch s.Name {
		case "branch." + branch + ".remote":
			return nil
		case "remote.origin.url":
			hasOrigin = true
		case "remote.origin.fetch":
			fetches = fetches || s.Value == fetch || s.Value == "+refs/heads/*:"+remotes+"*"
		}
	}
	if !hasOrigin {
		return nil
	}
	more := config.New().AddOption("branch", branch, "remote", "origin").AddOption("branch", branch, "merge", name)
	if !fetches {
		more.AddOption("remote", "origin", "fetch", fetch)
	}
	var text bytes.Buffer
	if err := config.NewEncoder(&text).Encode(more); err != nil {
		return err
	}
	before, err := os.ReadFile(r.configFile())
	if err != nil {
		return err
	}
	return a.config.write(strings.TrimSuffix(string(before), "\n") + "\n" + text.String())
}
