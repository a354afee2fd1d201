package archive

import (
	"context"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/archive/pathspec"
	"github.com/repomcp/repomcp/internal/repos"
)

// walk goes through a tree in git's order and hands out its entries in runs.
//
// As in the archives of git, a folder's own entry comes when the first entry
// below it does that is selected, even if export-ignore then leaves that one out: folders may be empty for this reason,
// and for no other.
type walk struct {
	scope
	ctx      context.Context
	limits   Limits
	selected *pathspec.Spec // nil: everything
	prefix   string         // put before every path
	strip    int            // bytes at the beginning of every path to leave out
	lfs      bool           // pointers stand for their objects
	modules  map[string]*module
	outer    []scope // of the repositories around that of scope

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
	module *module           // nil: it is the archive's own
	base   int               // bytes of its folder's path
	attrs  *attributes.Stack // nil: they are not applied
}

// level is a folder that the walk is in.
type level struct {
	rest   []repos.TreeEntry
	id     repos.ID
	mode   repos.Mode
	length int // of walk.path when it is the innermost
}

// newWalk stands before the first entry.
func (p *Plan) newWalk(ctx context.Context) (*walk, error) {
	w := &walk{
		scope: scope{source: p.source}, ctx: ctx, limits: p.options.Limits, selected: p.selected,
		prefix: p.options.Prefix,
		lfs:    p.options.LFS == LFSContent, modules: p.modules,
	}
	if p.options.Profile == ProfileArchive {
		w.attrs = attributes.NewStack(p.info)
	}
	return w, w.begin(p)
}

// begin goes down to the folder whose name is stripped. Those above it have no
// entries, but attributes.
func (w *walk) begin(p *Plan) error {
	entries, id := p.root, p.head.Tree
	if err := w.push(entries); err != nil {
		return err
	}
	for _, e := range p.stripped {
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
	w.levels = append(w.levels, level{rest: entries, id: id, mode: repos.ModeDir, length: w.strip})
	return nil
}

// push makes the attributes of the folder at walk.path count.
func (w *walk) push(entries []repos.TreeEntry) error {
	return pushAttributes(w.attrs, w.source, w.path[w.base:], entries)
}

// fill adds entries to a run until it is full, and reports whether there are
// more. On an error the run still has what comes before it.
func (w *walk) fill(r *run) (more bool, err error) {
	for !r.full() {
		if len(w.levels) == 0 {
			return false, nil
		}
		inner := &w.levels[len(w.levels)-1]
		if len(inner.rest) == 0 {
			w.leave()
			continue
		}
		if w.module != r.module && !r.into(&w.scope) {
			return true, nil
		}
		e := inner.rest[0]
		inner.rest = inner.rest[1:]
		if err := w.visit(r, e, inner.length); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (w *walk) leave() {
	left := w.levels[len(w.levels)-1]
	w.levels = w.levels[:len(w.levels)-1]
	if n := len(w.levels); n > 0 {
		w.path = w.path[:w.levels[n-1].length]
	}
	w.pending = max(w.pending-1, 0) // the one that is left, if it waited
	if w.attrs != nil {
		w.attrs.Pop()
	}
	if left.mode.IsGitlink() {
		w.scope, w.outer = w.outer[len(w.outer)-1], w.outer[:len(w.outer)-1]
	}
}

func (w *walk) visit(r *run, e repos.TreeEntry, base int) error {
	w.path = append(w.path[:base], e.Name...)
	if len(w.path) > w.limits.PathBytes {
		return limitPath(w.limits)
	}
	m := w.submodule(e.Mode)
	if e.Mode.IsDir() || m != nil {
		return w.enter(r, e, m)
	}
	if w.selected != nil && !w.selected.Match(w.path, kindOfPath(e.Mode)) {
		return nil
	}
	if err := w.folders(r); err != nil {
		return err
	}
	return w.file(r, e)
}

// file adds a file, a link or a gitlink, unless attributes leave it out.
func (w *walk) file(r *run, e repos.TreeEntry) error {
	made := runEntry{mode: e.Mode, id: e.ID}
	var ignored bool
	if made.treatment, ignored = lookUpTreatment(w.attrs, w.path[w.base:], e.Mode, w.lfs); ignored {
		w.ignored++
		return nil
	}
	if e.Mode.IsGitlink() {
		w.path = append(w.path, '/')
	}
	return w.add(r, w.path, made)
}

// leavesOut reports whether attributes leave out the folder at walk.path.
func (w *walk) leavesOut() bool {
	if _, ignored := lookUpTreatment(w.attrs, w.path[w.base:], repos.ModeDir, false); !ignored {
		return false
	}
	w.ignored++
	return true
}

// enter goes into a folder, or into a submodule if m is one. The folder of that
// is an entry of its own, also without any below it.
func (w *walk) enter(r *run, e repos.TreeEntry, m *module) error {
	if w.selected != nil && !w.selected.Match(w.path, pathspec.Folder) {
		return nil
	}
	if w.leavesOut() {
		return nil
	}
	shown := m != nil && (w.selected == nil || w.selected.Match(w.path, pathspec.Gitlink))
	w.path = append(w.path, '/')
	if len(w.levels) >= w.limits.Depth {
		return limitDepth(w.limits)
	}
	// Trees of trees that hold nothing make no entry, but can be without end:
	// they count as well, and can be cancelled.
	w.entered++
	if w.entered > w.limits.Entries {
		return limitEntries(w.limits)
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
		return w.folders(r)
	}
	return nil
}

// descend gives the entries of the folder at walk.path, and makes its
// attributes count.
func (w *walk) descend(e repos.TreeEntry, m *module) ([]repos.TreeEntry, error) {
	if m != nil {
		w.into(m)
		return m.root, w.push(m.root)
	}
	entries, err := w.source.Tree(e.ID)
	if err != nil {
		return nil, damaged(err)
	}
	return entries, w.push(entries)
}

// folders adds the entries of the folders above that wait for one.
func (w *walk) folders(r *run) error {
	for ; w.pending > 0; w.pending-- {
		l := w.levels[len(w.levels)-w.pending]
		if err := w.add(r, w.path[:l.length], runEntry{mode: l.mode, id: l.id}); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) add(r *run, path []byte, e runEntry) error {
	w.entries++
	if w.entries > w.limits.Entries {
		return limitEntries(w.limits)
	}
	r.add(w.prefix, path[w.strip:], e)
	return nil
}
