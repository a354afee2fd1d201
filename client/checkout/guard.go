package checkout

import (
	"io/fs"
	"path"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/base/swap"
)

// yields examines a file that is about to be replaced or removed, when it lies aside and cannot
// change any more. It may go if it is the version that the run has decided about, or that an
// earlier run wrote.
func (r *run) yields(path string, old *record, seen found) unpack.Yields {
	forced := r.options.forces(path)
	if seen.info != nil {
		swap.Identify(seen.info)
	}
	return func(aside string, info fs.FileInfo) (bool, error) {
		if seen.info != nil && swap.IsSame(seen.info, info) && (forced || seen.mtime() != 0) {
			return true, nil
		}
		return r.isAt(old, aside, info, r.header.Written)
	}
}

// isAt reports whether a file, which lies aside, is the version in a record. written is when the
// record was written.
func (f *folder) isAt(r *record, aside string, info fs.FileInfo, written int64) (bool, error) {
	if r == nil || !r.isOurs() {
		return false, nil
	}
	there := *r
	there.path = aside
	return newDisk(f.options.Dir).has(there, found{info: info}, written)
}

// ready records in the journal what is about to be done.
func (r *run) ready(w unpack.Written) error { return r.note(recordOf(w)) }

// done reports a file that now has its name.
func (r *run) done(w unpack.Written) error {
	if w.Kind != unpack.Folder {
		r.tellWritten(w.Path, w.Size)
	}
	return nil
}

// stays notes that a path keeps a file that was saved there during the run.
func (r *run) stays(s unpack.Stay) error {
	want := recordOf(s.Written)
	want.flag, want.aside = kept, ""
	old, err := r.find(want.path)
	if err != nil {
		return err
	}
	there, err := newDisk(r.options.Dir).look(want.path)
	if err != nil {
		return err
	}
	reason := ReasonEdited
	switch {
	case s.InUse:
		reason = ReasonInUse
		want = want.postpone(old)
	case there.info != nil && there.info.IsDir():
		reason = ReasonInTheWay
	case old == nil:
		reason = ReasonUntracked
	}
	r.keep(Event{Path: want.path, Reason: reason, Copy: s.Copy})
	return r.note(want)
}

// postpone turns a record into one that keeps the version of an earlier run, if there is one. The
// next run asks for the new version again.
func (r record) postpone(old *record) record {
	if old == nil || !old.isOurs() {
		r.flag = kept
		return r
	}
	r = *old
	r.flag = postponed
	return r
}

// settle cleans up the files that a killed run has left aside.
func (f *folder) settle(u *unpack.Unpacker, old *record, change record, written int64) error {
	copied, err := u.Settle(change.path, path.Join(path.Dir(change.path), change.aside),
		func(at string, info fs.FileInfo) (unpack.Origin, error) {
			if is, err := f.isAt(&change, at, info, written); is || err != nil {
				return unpack.FromRun, err
			}
			if is, err := f.isAt(old, at, info, f.header.Written); is || err != nil {
				return unpack.FromBefore, err
			}
			return unpack.FromUser, nil
		})
	if copied != "" {
		f.tell(Event{Event: EventKeep, Path: change.path, Reason: ReasonEdited, Copy: copied})
	}
	return err
}
