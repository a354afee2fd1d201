package archive

import (
	"context"
	"fmt"

	"github.com/repomcp/repomcp/internal/repos"
)

// walk goes through a tree in git's order and hands out its entries in runs.
// As read_tree in git's archive.c does, it lets a folder's own entry come when
// the first entry below it does, so that empty folders leave no trace.
type walk struct {
	ctx     context.Context
	source  Source
	limits  Limits
	levels  []level
	path    []byte // of the innermost folder, with its final slash
	pending int    // how many of the innermost folders have no entry yet
	entries int64
	entered int64 // folders that were read, also empty ones
}

// level is a folder that the walk is in.
type level struct {
	rest   []repos.TreeEntry
	id     repos.ID
	mode   repos.Mode
	length int // of walk.path when it is the innermost
}

func newWalk(ctx context.Context, p *Plan) *walk {
	w := &walk{ctx: ctx, source: p.source, limits: p.options.Limits, path: []byte(p.options.Prefix)}
	w.levels = append(w.levels, level{rest: p.root, id: p.commit.Tree, mode: repos.ModeDir, length: len(w.path)})
	return w
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
		e := inner.rest[0]
		inner.rest = inner.rest[1:]
		if err := w.visit(r, e, inner.length); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (w *walk) leave() {
	w.levels = w.levels[:len(w.levels)-1]
	if n := len(w.levels); n > 0 {
		w.path = w.path[:w.levels[n-1].length]
	}
	w.pending = min(w.pending, len(w.levels)-1)
}

func (w *walk) visit(r *run, e repos.TreeEntry, base int) error {
	w.path = append(w.path[:base], e.Name...)
	if len(w.path) > w.limits.PathBytes {
		return fmt.Errorf("%w: a path has more than %d bytes", ErrLimit, w.limits.PathBytes)
	}
	if e.Mode.IsDir() {
		return w.enter(e)
	}
	if err := w.folders(r); err != nil {
		return err
	}
	if e.Mode.IsGitlink() {
		w.path = append(w.path, '/')
	}
	return w.add(r, w.path, e.Mode, e.ID)
}

func (w *walk) enter(e repos.TreeEntry) error {
	if len(w.levels) >= w.limits.Depth {
		return fmt.Errorf("%w: folders are nested more than %d deep", ErrLimit, w.limits.Depth)
	}
	// Trees of trees that hold nothing make no entry, but can be without end:
	// they count as well, and can be cancelled.
	w.entered++
	if w.entered > w.limits.Entries {
		return fmt.Errorf("%w: more than %d folders", ErrLimit, w.limits.Entries)
	}
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	entries, err := w.source.Tree(e.ID)
	if err != nil {
		return damaged(err)
	}
	w.path = append(w.path, '/')
	w.levels = append(w.levels, level{rest: entries, id: e.ID, mode: e.Mode, length: len(w.path)})
	w.pending++
	return nil
}

// folders adds the entries of the folders above that wait for one.
func (w *walk) folders(r *run) error {
	for ; w.pending > 0; w.pending-- {
		l := w.levels[len(w.levels)-w.pending]
		if err := w.add(r, w.path[:l.length], l.mode, l.id); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) add(r *run, path []byte, mode repos.Mode, id repos.ID) error {
	w.entries++
	if w.entries > w.limits.Entries {
		return fmt.Errorf("%w: more than %d entries", ErrLimit, w.limits.Entries)
	}
	r.add(path, mode, id)
	return nil
}
