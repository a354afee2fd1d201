package checkout

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/base/swap"
)

// stage is the folder into which an archive is unpacked before any of its files is visible.
const stage = stateFolder + "/" + stageName

// errAppeared ends a run whose folder got a file that the archive contains as well while the
// archive was unpacked.
var errAppeared = errors.New("files appeared in the folder meanwhile")

// unpackInto unpacks an archive: beside an empty folder, since names that no program watches are
// made in half the time, and otherwise into the folder.
func (r *run) unpackInto(
	ctx context.Context, in io.Reader, root *os.Root, o unpack.Options,
) (unpack.Report, error) {
	if r.base == "" && r.isWhole() && !r.options.DryRun {
		empty, err := hasOnlyState(root)
		if err != nil {
			return unpack.Report{}, err
		}
		if empty {
			return r.unpackAside(ctx, in, root, o)
		}
	}
	if r.clone != nil {
		return r.unpackOver(ctx, in)
	}
	return r.unpacker.Tar(ctx, in)
}

func hasOnlyState(root *os.Root) (bool, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	return len(entries) == 0 || len(entries) == 1 && entries[0].Name() == stateFolder, err
}

// unpackAside gives the files their names when all of them are there. The journal has them by then,
// so a run that is killed meanwhile is recovered as usual.
func (r *run) unpackAside(
	ctx context.Context, in io.Reader, root *os.Root, o unpack.Options,
) (report unpack.Report, err error) {
	if err := root.Mkdir(stage, 0o777); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, root.RemoveAll(stage)) }()
	aside, err := root.OpenRoot(stage)
	if err != nil {
		return report, err
	}
	o.Unseen, r.journal.delayed = true, true
	if r.clone != nil {
		r.clone.attach(&o)
	}
	report, err = unpack.New(aside, o).Tar(ctx, in)
	if err == nil && r.clone != nil {
		err = r.clone.complete(ctx, report.Comment)
	}
	if err = errors.Join(err, aside.Close()); err != nil {
		return report, err
	}
	r.journal.delayed = false
	if err := r.journal.flush(); err != nil {
		return report, err
	}
	return report, reveal(root)
}

// reveal moves the top entries of the stage into the folder. Files that a user has put there
// meanwhile stay.
func reveal(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), stage)
	if err != nil {
		return err
	}
	folder, err := swap.Open(root, false)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // it was only read
	for _, entry := range entries {
		err := folder.Move(path.Join(stage, entry.Name()), entry.Name())
		if errors.Is(err, fs.ErrExist) {
			err = errAppeared
		}
		if err != nil {
			return err
		}
	}
	return nil
}
