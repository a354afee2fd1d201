package tree

import (
	"context"

	"github.com/repomcp/repomcp/internal/git"
)

// Walk goes through a tree in git's order and hands out its entries in batches.
//
// As in the archives of git, a folder's own entry comes when the first entry
// below it does that is selected, even if export-ignore then leaves that one out:
// folders may be empty for this reason, and for no other.
//
// It is no [git.WalkTree]: it stops when a batch is full, goes over to other
// repositories, and has folders that wait for their first entry.
type Walk struct {
	scope
	ctx       context.Context
	selection *Selection
	strip     int     // bytes at the beginning of every path to leave out
	outer     []scope // of the repositories around that of scope

	levels  []level
	path    []byte // of the innermost folder, with its final slash
	pending int    // how many of the innermost folders have no entry yet
	entries int64
	entered int64 // folders that were read, also empty ones
	ignored int64 // entries that export-ignore left out; of folders nothing below is counted
}

// scope is the repository that the walk is in.
type scope struct {
	source Source
	module *Module // nil: it is the archive's own
	base   int     // bytes of its folder's path
	rules  *Rules
}

// level is a folder that the walk is in.
type level struct {
	rest   []git.TreeEntry
	id     git.ID
	mode   git.Mode
	length int // of walk.path when it is the innermost
}

// Walk stands before the first entry.
func (s *Selection) Walk(ctx context.Context) (*Walk, error) {
	w := &Walk{scope: scope{source: s.Root.Source, rules: s.Rules()}, ctx: ctx, selection: s}
	return w, w.begin()
}

// begin goes down to the folder whose name is stripped. Those above it have no
// entries, but attributes.
func (w *Walk) begin() error {
	entries, id := w.selection.Root.Entries, w.selection.Root.ID
	if err := w.push(entries); err != nil {
		return err
	}
	for _, e := range w.selection.Stripped {
		w.path = append(w.path, e.Name...)
		if w.leavesOut() {
			return nil
		}
		m := w.submodule(e.Mode)
		w.path = append(w.path, '/')
		var err error
		if entries, err = w.descend(e, m); err != nil {
			return err
		}
		id = e.ID
	}
	w.strip = len(w.path)
	w.levels = append(w.levels, level{rest: entries, id: id, mode: git.ModeDir, length: w.strip})
	return nil
}

// push makes the attributes of the folder at walk.path count.
func (w *Walk) push(entries []git.TreeEntry) error {
	return w.rules.Push(w.source, w.path[w.base:], entries)
}

// Fill adds entries to a batch until it is full, and reports whether there are
// more. On an error the batch still has what comes before it.
func (w *Walk) Fill(b *Batch) (more bool, err error) {
	for !b.Full() {
		if len(w.levels) == 0 {
			return false, nil
		}
		inner := &w.levels[len(w.levels)-1]
		if len(inner.rest) == 0 {
			w.leave()
			continue
		}
		if w.module != b.Module && !b.enter(&w.scope) {
			return true, nil
		}
		e := inner.rest[0]
		inner.rest = inner.rest[1:]
		if err := w.visit(b, e, inner.length); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (w *Walk) leave() {
	left := w.levels[len(w.levels)-1]
	w.levels = w.levels[:len(w.levels)-1]
	if n := len(w.levels); n > 0 {
		w.path = w.path[:w.levels[n-1].length]
	}
	w.pending = max(w.pending-1, 0) // the one that is left, if it waited
	w.rules.Pop()
	if left.mode.IsGitlink() {
		w.scope, w.outer = w.outer[len(w.outer)-1], w.outer[:len(w.outer)-1]
	}
}

func (w *Walk) visit(b *Batch, e git.TreeEntry, base int) error {
	w.path = append(w.path[:base], e.Name...)
	if len(w.path) > w.selection.Limits.PathBytes {
		return w.selection.Limits.PathExceeded()
	}
	m := w.submodule(e.Mode)
	if e.Mode.IsDir() || m != nil {
		return w.visitFolder(b, e, m)
	}
	if !w.selection.Match(w.path, e.Mode) {
		return nil
	}
	if err := w.addFolders(b); err != nil {
		return err
	}
	return w.addFile(b, e)
}

// addFile adds a file, a link or a gitlink, unless attributes leave it out.
func (w *Walk) addFile(b *Batch, e git.TreeEntry) error {
	treatment, ignored := w.rules.Treatment(w.path[w.base:], e.Mode)
	if ignored {
		w.ignored++
		return nil
	}
	if e.Mode.IsGitlink() {
		w.path = append(w.path, '/')
	}
	return w.add(b, Entry{Path: w.path, Mode: e.Mode, ID: e.ID, Treatment: treatment})
}

// leavesOut reports whether attributes leave out the folder at walk.path.
func (w *Walk) leavesOut() bool {
	if _, ignored := w.rules.Treatment(w.path[w.base:], git.ModeDir); !ignored {
		return false
	}
	w.ignored++
	return true
}

// visitFolder goes into a folder, or into a submodule if m is one. The folder of that
// is an entry of its own, also without any below it.
func (w *Walk) visitFolder(b *Batch, e git.TreeEntry, m *Module) error {
	if !w.selection.Match(w.path, git.ModeDir) {
		return nil
	}
	if w.leavesOut() {
		return nil
	}
	shown := m != nil && w.selection.Match(w.path, e.Mode)
	w.path = append(w.path, '/')
	if len(w.levels) >= w.selection.Limits.Depth {
		return w.selection.Limits.DepthExceeded()
	}
	// Trees of trees that hold nothing make no entry, but can be without end:
	// they count as well, and can be cancelled.
	if w.entered++; w.entered > w.selection.Limits.Entries {
		return w.selection.Limits.EntriesExceeded()
	}
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	entries, err := w.descend(e, m)
	if err != nil {
		return err
	}
	w.levels = append(w.levels, level{rest: entries, id: e.ID, mode: e.Mode, length: len(w.path)})
	w.pending++
	if shown {
		return w.addFolders(b)
	}
	return nil
}

// descend returns the entries of the folder at walk.path, and makes its
// attributes count.
func (w *Walk) descend(e git.TreeEntry, m *Module) ([]git.TreeEntry, error) {
	if m != nil {
		w.into(m)
		return m.root.Entries, w.push(m.root.Entries)
	}
	entries, err := w.source.Tree(e.ID)
	if err != nil {
		return nil, Damaged(err)
	}
	return entries, w.push(entries)
}

// addFolders adds the entries of the folders above that wait for one.
func (w *Walk) addFolders(b *Batch) error {
	for ; w.pending > 0; w.pending-- {
		l := w.levels[len(w.levels)-w.pending]
		if err := w.add(b, Entry{Path: w.path[:l.length], Mode: l.mode, ID: l.id}); err != nil {
			return err
		}
	}
	return nil
}

func (w *Walk) add(b *Batch, e Entry) error {
	if w.entries++; w.entries > w.selection.Limits.Entries {
		return w.selection.Limits.EntriesExceeded()
	}
	e.Path = e.Path[w.strip:]
	b.Add(w.selection.Prefix, e)
	return nil
}

// Counts is how many entries were handed out, and how many files and folders
// export-ignore left out meanwhile.
func (w *Walk) Counts() (entries, ignored int64) { return w.entries, w.ignored }
