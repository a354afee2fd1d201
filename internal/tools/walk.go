package tools

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// maxWalkedEntries bounds the entries that one call looks at, and
	// maxWalkedFolders those that it goes into: about twice those of the largest
	// public repositories, and seconds of work. Folders that are there many
	// times are counted each time.
	maxWalkedEntries = 1_000_000
	maxWalkedFolders = 100_000
	// maxWalkedBytes bounds the paths that one call makes: there can be names of
	// megabytes, and deep folders.
	maxWalkedBytes = 512 << 20
)

// errStopped says that a tree is larger than a call may look at.
var errStopped = errors.New("the tree is too large to be walked")

// entry is a file or folder with its path from the root.
type entry struct {
	path string
	repos.TreeEntry
}

// walker goes through a tree in git's order, each folder before what it has.
type walker struct {
	ctx      context.Context
	snapshot *repos.Snapshot
	// yield gets each entry, and says whether to go into it if it is a folder.
	yield func(e entry) (enter bool)
	// recursive enters folders.
	recursive bool
	entries   int
	folders   int
	bytes     int
}

// walk looks at the entries below a folder.
func (w *walker) walk(folder entry) error {
	list, err := w.list(folder.ID)
	if err != nil {
		return err
	}
	enter := false
	for e, err := range repos.WalkTree(folder.path, list, func(e repos.WalkedEntry) ([]repos.TreeEntry, error) {
		if !enter || !e.Mode.IsDir() || !w.recursive {
			return nil, nil
		}
		if e.Depth >= archive.DefaultDepth || len(e.Path) > archive.DefaultPathBytes {
			return nil, errStopped
		}
		return w.list(e.ID)
	}) {
		if err != nil {
			return err
		}
		w.entries++
		w.bytes += len(e.Path)
		if w.entries > maxWalkedEntries || w.bytes > maxWalkedBytes {
			return errStopped
		}
		enter = w.yield(entry{string(e.Path), e.TreeEntry})
	}
	return nil
}

// list reads a folder.
func (w *walker) list(id repos.ID) ([]repos.TreeEntry, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	if w.folders++; w.folders > maxWalkedFolders {
		return nil, errStopped
	}
	list, err := w.snapshot.Tree(id)
	return list, damageIfMissing(err)
}

// noteStopped turns errStopped into a note: what was found until then is shown.
func noteStopped(r *result, err error) error {
	if !errors.Is(err, errStopped) {
		return err
	}
	r.stopped = true
	r.note("Stopped: the tree has more than %d entries or %d folders, or folders that are nested too deeply. Ask for "+
		"a folder of it with path.", maxWalkedEntries, maxWalkedFolders)
	return nil
}

// entryOf finds the commit of a revision, and in it the entry of a path as it was
// written.
func (v *visit) entryOf(ctx context.Context, of revision, path string) (at found, e entry, err error) {
	if at, err = v.commit(ctx, of); err != nil {
		return at, e, err
	}
	name, err := treePath(path)
	if err != nil {
		return at, e, err
	}
	e, err = lookup(ctx, v.snapshot, at, name)
	return at, e, err
}

// lookup finds the entry of a path at a commit. When there is none the error
// names paths that end alike.
func lookup(ctx context.Context, snapshot *repos.Snapshot, at found, path string) (entry, error) {
	e, err := snapshot.Lookup(at.Tree, path)
	if isAbsent(err) {
		return entry{}, say("There is no %s in %s.%s", quote(clip(path)), at, alike(ctx, snapshot, at, path))
	}
	return entry{path: path, TreeEntry: e}, err
}
