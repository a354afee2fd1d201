package checkout

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/client"
)

// check reads the files of the state: with Verify all of them, otherwise the pending ones. It
// downloads those that need repair.
func (f *folder) check(ctx context.Context, c *client.Client, result Result) (Result, error) {
	f.tellProgress(PhaseCheck, result, 0)
	removed, err := f.removeLeaving(ctx, result)
	result.Deleted += removed.Deleted
	if err != nil {
		return result, err
	}
	result.addStaying(removed, Result{})
	found := checked{folder: f, disk: newDisk(f.options.Dir), told: result}
	if err := f.each(found.look); err != nil {
		return result, err
	}
	mended, err := f.mend(ctx, c, result.Commit, found.mend)
	result.Full = result.Full || mended.Full
	result.Bytes += mended.Bytes
	result.Written, result.Deleted = result.Written+mended.Written, result.Deleted+mended.Deleted
	if err != nil {
		return result, err
	}
	if mended.Full { // it has found again what was found here
		found.result, found.solved = Result{}, false
	}
	for _, path := range found.result.Kept {
		f.tell(Event{Event: EventKeep, Path: path, Reason: ReasonEdited})
	}
	for _, path := range found.result.Skipped {
		f.tell(Event{Event: EventSkipped, Path: path, Reason: ReasonOutside})
	}
	result.addStaying(mended, found.result)
	if !found.solved {
		return result, nil
	}
	return result, f.solve()
}

const literal = ":(literal)"

// mostQuery bounds the bytes of a URI for paths: servers and proxies accept some 4 KiB.
const mostQuery = 3 << 10

type selection struct {
	paths []string // nil if they are too many to be named
	bytes int
}

func (s *selection) add(path string) {
	s.bytes += len(url.QueryEscape("&path=" + literal + path))
	if s.paths = append(s.paths, path); s.bytes > mostQuery {
		s.paths = nil
	}
}

// mend downloads the selected paths, or everything if a server refuses the selection.
func (f *folder) mend(ctx context.Context, c *client.Client, commit string, s selection) (Result, error) {
	if s.bytes == 0 {
		return Result{}, nil
	}
	result, err := f.take(ctx, c, commit, "", s.paths)
	denied, ok := errors.AsType[*client.Error](err)
	if s.paths != nil && (errors.Is(err, ErrGone) || ok && !denied.Busy()) {
		return f.take(ctx, c, commit, "", nil)
	}
	return result, err
}

// checked is the result of checking the files of a state.
type checked struct {
	*folder
	disk   *disk
	told   Result // what the run has already kept and skipped
	mend   selection
	below  string // the folder that was selected last, with a slash
	solved bool   // a kept file matches the commit now
	result Result // what is kept and skipped
}

func (f *checked) look(w record) error {
	theirs := isAmong(w.name(), f.options.Theirs)
	switch {
	case w.flag == previewed, w.flag == leaving, f.isTold(w.path):
		return nil
	case w.flag == postponed:
		f.choose(w)
		return nil
	case w.flag == skipped:
		if f.options.AllowExternalSymlinks {
			f.choose(w)
		} else {
			f.result.skip(w.path)
		}
		return nil
	case w.flag != kept && !f.options.Verify && !theirs:
		return nil
	}
	return f.compare(w)
}

// compare checks whether a path matches its record.
func (f *checked) compare(w record) error {
	there, err := f.disk.look(w.name())
	if err != nil {
		return err
	}
	missing := there.info == nil && !there.obstructed
	if there.info != nil && there.info.IsDir() && w.kind != directory {
		in, err := f.disk.contents(w.path)
		if err != nil {
			return err
		}
		missing = in.isEmpty(w.path) // an empty folder is no edit
	}
	if missing {
		f.choose(w)
		return nil
	}
	byContent := w
	byContent.mtime, byContent.ctime = 0, 0
	right, err := f.disk.has(byContent, there, 0)
	if err != nil {
		return err
	}
	// A file with other content and the same time is damaged: no user's program has edited it.
	touched := there.info == nil || w.flag != brought || w.kind == link || !f.disk.isKind(there.info, w.kind) ||
		there.info.Size() != w.size || !w.hasTimes(there.info)
	switch {
	case right:
		f.solved = f.solved || w.flag != brought
	case !touched, f.options.forces(w.name()):
		f.choose(w)
	case w.flag != accepted:
		f.result.keep(w.path)
	}
	return nil
}

// isTold reports whether a path, or an obstacle above it, was already reported.
func (f *checked) isTold(path string) bool {
	return isAmong(path, f.told.Kept) || slices.Contains(f.told.Skipped, path)
}

// choose selects the path of a record. Paths below a selected folder come with it.
func (f *checked) choose(w record) {
	if f.below != "" && strings.HasPrefix(w.path, f.below) {
		return
	}
	f.mend.add(w.name())
	if w.kind == directory {
		f.below = w.path
	}
}

// solve turns kept records that match the commit now into brought ones.
func (f *folder) solve() error {
	d := newDisk(f.options.Dir)
	return f.replaceState(f.header, none{}, func(old, _ *record) (*record, error) {
		if old.flag != kept && old.flag != accepted {
			return old, nil
		}
		there, err := d.look(old.name())
		if err != nil || there.info == nil {
			return old, err
		}
		right, err := d.has(*old, there, 0)
		if right {
			old.flag = brought
			old.setTimes(there)
		}
		return old, err
	})
}

// accept keeps the paths of Options.Mine as they are.
func (f *folder) accept() error {
	mine := f.options.Mine
	found := make(map[string]bool)
	if len(mine) == 0 {
		return nil
	}
	if err := f.each(func(w record) error {
		for _, path := range mine {
			found[path] = found[path] || w.isAcceptable() && isAmong(w.name(), []string{path})
		}
		return nil
	}); err != nil {
		return err
	}
	for _, path := range mine {
		if !found[path] {
			return fmt.Errorf("%w: %q was not kept", errArguments, path)
		}
	}
	return f.replaceState(f.header, none{}, func(old, _ *record) (*record, error) {
		if !old.isAcceptable() || !isAmong(old.name(), mine) {
			return old, nil
		}
		if old.flag == postponed || old.flag == leaving { // the version of an earlier run is the user's from now on
			old.kind = nothing
		}
		old.flag = accepted
		return old, nil
	})
}

// isAcceptable reports whether a path has a version that the user may want to keep.
func (r record) isAcceptable() bool {
	return r.flag == kept || r.flag == postponed || r.flag == leaving || r.flag == accepted
}
