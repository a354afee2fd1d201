package checkout

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/client"
)

// check reads the files of the state: with Verify all of them, otherwise those that
// were kept. What is to be mended comes anew.
func (f *folder) check(ctx context.Context, c *client.Client, result Result) (Result, error) {
	found := checked{folder: f, disk: newDisk(f.options.Dir), told: result.Kept}
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
	result.keepAll(mended, found.result)
	if !found.solved || f.lock == nil {
		return result, nil
	}
	return result, f.settle()
}

const literal = ":(literal)"

// mostQuery bounds the bytes of a URI that are for paths: servers, and proxies on the
// way to them, take some 4 KiB.
const mostQuery = 3 << 10

type selection struct {
	paths []string // nil where they are too many to be named
	bytes int
}

func (s *selection) add(path string) {
	s.bytes += len(url.QueryEscape("&path=" + literal + path))
	if s.paths = append(s.paths, path); s.bytes > mostQuery {
		s.paths = nil
	}
}

// mend takes what was selected, or everything where a server does not want that.
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

// checked is what the files of a state turn out to be.
type checked struct {
	*folder
	disk   *disk
	told   []string // what the run has kept already
	mend   selection
	below  string // the folder that was selected last, with a slash
	solved bool   // something that was kept is right now
	result Result // has what is kept
}

func (f *checked) look(w record) error {
	if !f.options.Verify && !w.kept || f.isTold(w.path) {
		return nil
	}
	there, err := f.disk.look(w.name())
	if err != nil {
		return err
	}
	if there.info == nil && !there.obstructed {
		f.choose(w)
		return nil
	}
	byContent := w
	byContent.mtime = 0
	right, err := f.disk.has(byContent, there, 0)
	if err != nil {
		return err
	}
	// A file that has another content and not another time was not changed by
	// anybody who would want it back.
	touched := there.info == nil || w.kept || w.kind == link || kindOfFile(there.info) != w.kind ||
		there.info.Size() != w.size || there.info.ModTime().UnixNano() != w.mtime
	switch {
	case right:
		f.solved = f.solved || w.kept
	case touched && !f.options.Force:
		f.result.keep(w.path)
	default:
		f.choose(w)
	}
	return nil
}

// isTold is for a path, or what is below one that is in the way.
func (f *checked) isTold(path string) bool {
	return slices.ContainsFunc(f.told, func(t string) bool { return path == t || below(path, t) })
}

// choose selects what a record is of. What is below a folder comes with it.
func (f *checked) choose(w record) {
	if f.below != "" && strings.HasPrefix(w.path, f.below) {
		return
	}
	f.mend.add(w.name())
	if w.kind == directory {
		f.below = w.path
	}
}

// settle makes what was kept and is right now a part of the state.
func (f *folder) settle() error {
	d := newDisk(f.options.Dir)
	return f.replaceState(f.header.Commit, none{}, func(old, _ *record) (*record, error) {
		if !old.kept {
			return old, nil
		}
		there, err := d.look(old.name())
		if err != nil || there.info == nil {
			return old, err
		}
		right, err := d.has(*old, there, 0)
		if right {
			old.kept, old.mtime = false, there.info.ModTime().UnixNano()
		}
		return old, err
	})
}
