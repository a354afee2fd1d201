package checkout

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/client/unpack"
)

// removedAtOnce bounds the memory of paths that are to be removed.
const removedAtOnce = 8192

// paths are a set of paths in the folder, at most removedAtOnce.
type paths map[string]bool

func (p paths) add(path string) {
	if len(p) < removedAtOnce {
		p[path] = true
	}
}

// cover reports whether a path, or a folder above it, is in the set.
func (p paths) cover(path string) bool {
	for len(p) > 0 && path != "" {
		if p[path] {
			return true
		}
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	return false
}

// findSkipped finds the links that earlier runs have skipped.
func (f *folder) findSkipped() (paths, error) {
	links := paths{}
	if f.header.Kept == 0 {
		return links, nil
	}
	return links, f.each(func(w record) error {
		if w.flag == skipped {
			links.add(w.path)
		}
		return nil
	})
}

// removeFolder removes what runs wrote in a folder, and the folder. It reports whether nothing is
// left.
func (r *run) removeFolder(path string) (empty bool, err error) {
	removed, err := r.removeCounted(func(w record) bool { return below(w.path, path) }, isInside(path))
	if err != nil {
		return false, err
	}
	left, err := r.disk.contents(path)
	if err != nil || !r.options.DryRun {
		return left.isEmpty(path), err
	}
	// A dry run removes nothing, so it counts.
	if left.files != max(removed, left.removed) {
		return false, nil
	}
	for _, folder := range left.hollow {
		known, err := r.find(folder + "/")
		if err != nil || known == nil && folder != path {
			return false, err
		}
	}
	return true, nil
}

// removeBelow removes what runs wrote in a folder, and the folder, unless a user has put something
// there.
func (r *run) removeBelow(folder string) error {
	return r.removeThose(func(w record) bool { return below(w.path, folder) }, isInside(folder))
}

// isInside distinguishes a folder and those below it from those above, which are about to be
// written to.
func isInside(folder string) func(string) bool {
	return func(path string) bool { return below(path+"/", folder) }
}

func (r *run) removeThose(chosen func(record) bool, owns func(folder string) bool) error {
	_, err := r.removeCounted(chosen, owns)
	return err
}

func (r *run) removeCounted(chosen func(record) bool, owns func(folder string) bool) (removed int, err error) {
	remover := newRemover(r, owns)
	err = r.each(func(w record) error {
		if !chosen(w) {
			return nil
		}
		return remover.add(w)
	})
	err = errors.Join(err, remover.flush())
	return remover.removed, err
}

// removeStale removes the files of the state that a whole archive does not contain.
func (r *run) removeStale() error {
	s, err := r.readState()
	if err != nil {
		return err
	}
	if s.file == nil {
		return nil // it was the first run
	}
	defer s.close()
	r.seeFolder(unpack.Member{})
	remover := newRemover(r, func(folder string) bool { return !r.hollow[folder] })
	// Records that are added to the journal meanwhile are for earlier paths.
	err = merge(s, newSorted(r.journal.file), func(old, change *record) error {
		if change != nil || r.spared.cover(old.path) {
			return nil
		}
		return remover.add(*old)
	})
	return errors.Join(err, remover.flush())
}

// tarEnd is the size of the two empty blocks at the end of an archive.
const tarEnd = 2 * 512

// removeLeaving removes files that an earlier run could not remove yet, unless this one has just tried to.
func (f *folder) removeLeaving(ctx context.Context, told Result) (Result, error) {
	m := deltaManifest{Head: told.Commit, Base: told.Commit}
	err := f.each(func(w record) error {
		if w.flag == leaving && !isAmong(w.path, told.Kept) {
			m.Deleted = append(m.Deleted, url.PathEscape(w.path))
		}
		return nil
	})
	if err != nil || len(m.Deleted) == 0 {
		return Result{}, err
	}
	r, err := f.newRun(told.Commit, nil)
	if err != nil {
		return Result{}, err
	}
	defer r.before.close()
	r.base = told.Commit // also with submodules, for which servers send no differences
	front, err := m.archive()
	if err == nil {
		err = r.bring(ctx, io.MultiReader(front, bytes.NewReader(make([]byte, tarEnd))))
	}
	return r.result, err
}

// remover removes paths in order, several at once.
type remover struct {
	run     *run
	disk    *disk
	chosen  []unpack.Removal
	records map[string]record        // of the chosen files
	owns    func(folder string) bool // may go when it is empty
	removed int                      // including links
}

// anyFolder that becomes empty is removed: commits have no empty folders.
func anyFolder(string) bool { return true }

func newRemover(r *run, owns func(folder string) bool) *remover {
	return &remover{run: r, disk: newDisk(r.options.Dir), records: make(map[string]record), owns: owns}
}

// add removes the file of a record. A file that the user has changed stays, and is no longer
// followed.
func (m *remover) add(w record) error {
	there, err := m.disk.look(w.name())
	if err != nil {
		return err
	}
	r, unfollowed := m.run, w
	unfollowed.flag = gone
	if w.flag == kept { // the commit had two names that are one here
		if respelled, err := m.disk.isRespelled(w.path); respelled || err != nil {
			return errors.Join(err, r.note(unfollowed))
		}
	}
	isFolder := there.info != nil && there.info.IsDir()
	if w.kind == directory || isFolder || there.info == nil || w.kind == nothing {
		if w.kind == directory && isFolder {
			m.chosen = append(m.chosen, unpack.Removal{Path: w.path})
		}
		return r.note(unfollowed)
	}
	switch reason, err := r.refusal(w.path, &w, there); {
	case err != nil:
		return err
	case reason == ReasonHeld:
		r.keep(Event{Path: w.path, Reason: reason})
		return r.note(w.leave())
	case reason != "":
		r.keep(Event{Path: w.path, Reason: ReasonDeleted})
		return r.note(unfollowed)
	case r.options.DryRun:
		m.tellRemoved(w.path)
		return errors.Join(r.disk.previewRemoval(w.path), r.note(unfollowed))
	}
	// The journal has the record before the removal.
	m.records[w.path] = w
	m.chosen = append(m.chosen, unpack.Removal{Path: w.path, Yields: r.yields(w.path, &w, there)})
	if len(m.chosen) < removedAtOnce {
		return nil
	}
	return m.flush()
}

func (m *remover) tellRemoved(path string) {
	m.removed++
	m.run.tellDeleted(path)
}

// flush removes the paths that were added, and the folders above them that became empty.
func (m *remover) flush() error {
	chosen := m.chosen
	m.chosen = nil
	m.run.disk.forget()
	if len(chosen) == 0 || m.run.options.DryRun {
		return nil
	}
	m.disk.forget()
	stays, err := m.run.unpacker.Remove(chosen, m.owns)
	for _, s := range stays {
		reason := ReasonDeleted
		if s.InUse {
			reason = ReasonInUse
			err = errors.Join(err, m.run.note(m.records[s.Written.Path].leave()))
		}
		m.run.keep(Event{Path: s.Written.Path, Reason: reason, Copy: s.Copy})
	}
	clear(m.records)
	if err != nil {
		return err
	}
	for _, c := range chosen {
		stayed := slices.ContainsFunc(stays, func(s unpack.Stay) bool { return s.Written.Path == c.Path })
		if !stayed && !strings.HasSuffix(c.Path, "/") {
			m.tellRemoved(c.Path)
		}
	}
	return nil
}
