package checkout

import (
	"context"
	"errors"
	"os"

	"github.com/repomcp/repomcp/client"
)

// check reads the files of the state: with Verify all of them, otherwise those that
// were kept. If any is to be mended it takes the whole archive.
func (f *folder) check(ctx context.Context, c *client.Client, result Result) (Result, error) {
	found := checked{folder: f, disk: newDisk(f.options.Dir)}
	found.result.KeptCount = 0
	if err := f.each(found.look); err != nil {
		return result, err
	}
	if found.mend || f.options.Force && found.result.KeptCount > 0 {
		mended, err := f.take(ctx, c, result.Commit, "")
		mended.Base, mended.Bytes = result.Base, mended.Bytes+result.Bytes
		mended.Written, mended.Deleted = mended.Written+result.Written, mended.Deleted+result.Deleted
		return mended, err
	}
	for _, path := range found.result.Kept {
		f.tell(Event{Event: EventKeep, Path: path, Reason: ReasonEdited})
	}
	result.Kept, result.KeptCount = found.result.Kept, found.result.KeptCount
	if !found.solved || f.lock == nil {
		return result, nil
	}
	return result, f.settle()
}

// checked is what the files of a state turn out to be.
type checked struct {
	*folder
	disk   *disk
	mend   bool // something is missing, or damaged
	solved bool // something that was kept is right now
	result Result
}

func (f *checked) look(w record) error {
	if !f.options.Verify && !w.kept {
		return nil
	}
	there, err := f.disk.look(w.name())
	if err != nil {
		return err
	}
	if there.info == nil && !there.obstructed {
		f.mend = true
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
	case touched:
		f.result.keep(w.path)
	default:
		f.mend = true
	}
	return nil
}

// settle makes what was kept and is right now a part of the state.
func (f *folder) settle() (err error) {
	j, err := createJournal(f.path(journalName))
	if err != nil {
		return err
	}
	d := newDisk(f.options.Dir)
	err = f.replaceState(f.header.Commit, j, func(old, _ *record) (record, error) {
		if !old.kept {
			return *old, nil
		}
		there, err := d.look(old.name())
		if err != nil || there.info == nil {
			return *old, err
		}
		right, err := d.has(*old, there, 0)
		if right {
			old.kept, old.mtime = false, there.info.ModTime().UnixNano()
		}
		return *old, err
	})
	return errors.Join(err, j.close(), os.Remove(j.file.Name()))
}
