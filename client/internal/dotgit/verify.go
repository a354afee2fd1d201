package dotgit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/git"
)

// Change is the difference that a checkout makes.
type Change struct {
	// Paths are those of files, links and submodules that differ, in git's order.
	Paths []Changed
	// trees are the folders that differ, by their paths with a final slash.
	trees map[string]changedTree
}

// changedTree has the trees of a folder; old is zero if the base has no such folder.
type changedTree struct{ old, id git.ID }

// Changed is a path that differs. A missing version is the zero entry.
type Changed struct {
	Path     string
	Old, New git.TreeEntry
}

// verifier compares an archive with its commit.
type verifier struct {
	*Incoming
	ctx      context.Context
	snapshot *git.Snapshot
	change   Change
	whole    bool            // there is no base
	reached  map[git.ID]bool // objects that the commit leads to
	entries  int64
	convert  *converter
	cut      []git.ID        // commits whose parents are missing
	unwanted map[git.ID]bool // contents in the working tree that the commit does not have
}

// limits of a walk: those of package unpack.
const mostEntries, mostDepth = 4_000_000, 200

// verify compares everything that came with the commit: its trees lead to all of the files and
// objects that came, and to no others than those and the ones of a base, whose commit is zero if
// there is none.
func (in *Incoming) verify(ctx context.Context, s *git.Snapshot, base git.ID) (*verifier, error) {
	v := &verifier{
		Incoming: in, ctx: ctx, snapshot: s, change: Change{trees: make(map[string]changedTree)},
		reached: make(map[git.ID]bool), unwanted: make(map[git.ID]bool), whole: base.IsZero(),
	}
	head, err := s.Commit(in.Commit)
	if err != nil {
		return nil, incomplete(err)
	}
	var old git.Commit
	if !base.IsZero() {
		if old, err = s.Commit(base); err != nil {
			return nil, err
		}
	}
	v.convert = &converter{ctx: ctx, snapshot: s, tree: head.Tree}
	if err := v.pair("", head.Tree, old.Tree); err != nil {
		return nil, err
	}
	slices.SortStableFunc(v.change.Paths, func(a, b Changed) int { return strings.Compare(a.Path, b.Path) })
	for _, check := range []func() error{
		v.others, v.history, v.tag, v.strays,
	} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// compareTrees returns the paths at which two commits differ.
func compareTrees(ctx context.Context, s *git.Snapshot, from, to git.ID) ([]Changed, error) {
	old, err := s.Commit(from)
	if err != nil {
		return nil, err
	}
	head, err := s.Commit(to)
	if err != nil {
		return nil, err
	}
	v := &verifier{ctx: ctx, snapshot: s, change: Change{trees: make(map[string]changedTree)}}
	err = v.pair("", head.Tree, old.Tree)
	return v.change.Paths, err
}

// incomplete says that an object did not come.
func incomplete(err error) error {
	if errors.Is(err, git.ErrNotFound) || errors.Is(err, git.ErrCorrupt) {
		return fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	return err
}

// pair compares a folder with that of the base, which is zero if there is none.
func (v *verifier) pair(folder string, id, base git.ID) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	if strings.Count(folder, "/") > mostDepth {
		return untrusted("its folders are more than %d deep", mostDepth)
	}
	entries, err := v.snapshot.Tree(id)
	if err != nil {
		return incomplete(err)
	}
	old, err := v.list(base)
	if err != nil {
		return err
	}
	v.change.trees[folder] = changedTree{base, id}
	if v.whole { // otherwise the objects that came are gone through once more
		v.reached[id] = true
	}
	for _, e := range entries {
		if v.entries++; v.entries > mostEntries {
			return untrusted("it has more than %d files", mostEntries)
		}
		was := old[e.Name]
		delete(old, e.Name)
		if was == e {
			continue
		}
		if err := v.entry(folder+e.Name, e, was); err != nil {
			return err
		}
	}
	for name, was := range old {
		if err := v.gone(folder+name, was); err != nil {
			return err
		}
	}
	return nil
}

// list reads a folder of the base.
func (v *verifier) list(id git.ID) (map[string]git.TreeEntry, error) {
	if id.IsZero() {
		return nil, nil //nolint:nilnil // an empty one
	}
	entries, err := v.snapshot.Tree(id)
	list := make(map[string]git.TreeEntry, len(entries))
	for _, e := range entries {
		list[e.Name] = e
	}
	return list, err
}

func (v *verifier) entry(at string, e, was git.TreeEntry) error {
	switch {
	case e.Mode.IsDir() && was.Mode.IsDir():
		return v.pair(at+"/", e.ID, was.ID)
	case e.Mode.IsDir():
		if err := v.gone(at, was); err != nil {
			return err
		}
		return v.pair(at+"/", e.ID, git.ID{})
	case was.Mode.IsDir():
		if err := v.gone(at, was); err != nil {
			return err
		}
		was = git.TreeEntry{}
	}
	v.change.Paths = append(v.change.Paths, Changed{Path: at, Old: was, New: e})
	if v.Incoming == nil {
		return nil // only the trees are compared
	}
	f, ok := v.files[at]
	if !ok {
		return untrusted("the file %q of the commit is not in it", at)
	}
	return v.file(at, e, f)
}

// gone notes what the base has at a path.
func (v *verifier) gone(at string, was git.TreeEntry) error {
	if was.Mode == 0 {
		return nil
	}
	if !was.Mode.IsDir() {
		v.change.Paths = append(v.change.Paths, Changed{Path: at, Old: was})
		return nil
	}
	inside, err := v.list(was.ID)
	for name, e := range inside {
		err = errors.Join(err, v.gone(at+"/"+name, e))
	}
	return err
}

// kindOf returns the kind of the member for an entry of a tree.
func kindOf(mode git.Mode) unpack.Kind {
	switch {
	case mode.IsSymlink():
		return unpack.Symlink
	case mode.IsRegular():
		return unpack.File
	default:
		return unpack.Folder
	}
}

// file compares a plain member with the entry of its path.
func (v *verifier) file(at string, e git.TreeEntry, f *File) error {
	f.checked = true
	if f.Kind != kindOf(e.Mode) || f.Kind == unpack.File && f.Executable != e.Mode.IsExecutable() {
		return untrusted("%q is of another kind than in the commit", at)
	}
	if f.Kind == unpack.Folder {
		return nil
	}
	v.reached[e.ID] = true
	if f.ID == e.ID {
		return nil
	}
	v.unwanted[f.ID] = true
	if f.Kind == unpack.File {
		id, err := v.convert.content(at, e.ID)
		if err != nil {
			return fmt.Errorf("%q: %w", at, incomplete(err))
		}
		if id == f.ID {
			return nil
		}
	}
	return untrusted("the content of %q is not that of the commit", at)
}

// others compares the plain members at paths that do not differ: attributes may convert their
// content in another way than in the base.
func (v *verifier) others() error {
	for at, f := range v.files {
		_, isFolder := v.change.trees[at+"/"]
		if f.checked || isFolder && f.Kind == unpack.Folder {
			continue
		}
		e, err := v.snapshot.Lookup(v.convert.tree, at)
		if errors.Is(err, git.ErrNotFound) {
			return untrusted("the commit has no %q", at)
		}
		if err != nil {
			return incomplete(err)
		}
		if err := v.file(at, e, f); err != nil {
			return err
		}
	}
	return nil
}

// history follows the commits up to those that are cut, and those that were there before.
func (v *verifier) history() error {
	cut := make(map[git.ID]bool)
	for _, id := range v.shallow {
		cut[id] = true
	}
	for next := []git.ID{v.Commit}; len(next) > 0; {
		id := next[0]
		next = next[1:]
		if v.reached[id] {
			continue
		}
		v.reached[id] = true
		raw, err := v.snapshot.RawCommit(id)
		if err != nil {
			return incomplete(err)
		}
		links, err := git.ParseCommitLinks(id, raw)
		if err != nil {
			return incomplete(err)
		}
		parents, missing, err := v.parents(links.Parents)
		if err = errors.Join(err, v.closure(links.Tree)); err != nil {
			return err
		}
		switch {
		case len(missing) > 0 && !cut[id]:
			return v.exists(missing[0])
		case len(missing) > 0:
			v.cut = append(v.cut, id)
		default:
			next = append(next, parents...)
		}
	}
	return nil
}

// parents returns those that came, and those that exist nowhere.
func (v *verifier) parents(ids []git.ID) (came, missing []git.ID, err error) {
	for _, id := range ids {
		if _, ok := v.received[id]; ok {
			came = append(came, id)
			continue
		}
		has, err := v.snapshot.Has(id)
		if err != nil {
			return nil, nil, err
		}
		if !has {
			missing = append(missing, id)
		}
	}
	return came, missing, nil
}

// closure follows a tree that came, and was not reached yet.
func (v *verifier) closure(id git.ID) error {
	if err := v.ctx.Err(); err != nil || v.reached[id] {
		return err
	}
	if _, came := v.received[id]; !came {
		return v.exists(id)
	}
	v.reached[id] = true
	entries, err := v.snapshot.Tree(id)
	if err != nil {
		return incomplete(err)
	}
	for _, e := range entries {
		switch {
		case e.Mode.IsGitlink():
			continue
		case e.Mode.IsDir():
			err = v.closure(e.ID)
		case !v.reached[e.ID]:
			err = v.exists(e.ID)
			v.reached[e.ID] = true
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exists refuses an archive that leads to an object that exists nowhere.
func (v *verifier) exists(id git.ID) error {
	has, err := v.snapshot.Has(id)
	if err == nil && !has && !v.snapshot.MayLack() {
		return fmt.Errorf("%w, such as %s", ErrIncomplete, id)
	}
	return err
}

// tag follows an annotated tag to the commit.
func (v *verifier) tag() error {
	for id := v.Target; id != v.Commit; {
		raw, err := v.snapshot.RawTag(id)
		if err != nil {
			return incomplete(err)
		}
		v.reached[id] = true
		if id, err = git.ParseTagTarget(id, raw); err != nil {
			return incomplete(err)
		}
	}
	return nil
}

// strays refuses objects that nothing leads to. A base's trees that came again are reached from their
// commit.
func (v *verifier) strays() error {
	for id, kind := range v.received {
		if !v.reached[id] {
			return untrusted("its pack has the %s %s, to which the commit does not lead", kind, id)
		}
	}
	for id := range v.unwanted {
		if v.reached[id] || !v.pack.has(id) {
			delete(v.unwanted, id)
		}
	}
	return nil
}

// dropKnown leaves objects out of the pack that the repository has already. The empty tree stays: it counts as there
// without an object, but git fsck wants one.
func (v *verifier) dropKnown(s *git.Snapshot) error {
	for _, e := range v.pack.entries {
		has, err := s.Has(e.id)
		if err != nil {
			return err
		}
		if has && !e.id.IsEmptyTree() {
			v.unwanted[e.id] = true
		}
	}
	return nil
}
