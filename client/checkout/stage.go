package checkout

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/swap"
)

// stage is the folder that an archive is unpacked into before any of it is seen.
const stage = stateFolder + "/" + stageName

// errAppeared ends a run whose folder got something that the archive has as well
// while the archive was unpacked.
var errAppeared = errors.New("files appeared in the folder meanwhile")

// unpackInto unpacks an archive: beside the folder where that has nothing yet, since
// names that nobody looks at are made in half the time, and otherwise into it.
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
	return r.unpacker.Tar(ctx, in)
}

func hasOnlyState(root *os.Root) (bool, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	return len(entries) == 0 || len(entries) == 1 && entries[0].Name() == stateFolder, err
}

// unpackAside gives the files their names when all of them are there. The journal has
// them by then, so that a run that is killed meanwhile is brought in order as any.
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
	report, err = unpack.New(aside, o).Tar(ctx, in)
	if err = errors.Join(err, aside.Close()); err != nil {
		return report, err
	}
	r.journal.delayed = false
	if err := r.journal.flush(); err != nil {
		return report, err
	}
	return report, reveal(root)
}

// reveal moves what is at the top of the stage into the folder. What a user has put
// there meanwhile stays.
func reveal(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), stage)
	if err != nil {
		return err
	}
	folder, err := swap.Open(root, false)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // only read from
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
