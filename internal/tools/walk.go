package tools

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
)

const (
	// maxWalkedEntries and maxWalkedFolders bound the entries and folders that one call visits:
	// about twice those of the largest public repositories, and seconds of work. Repeated folders
	// count each time.
	maxWalkedEntries = 1_000_000
	maxWalkedFolders = 100_000
	// maxWalkedBytes bounds the paths that one call builds: names can have megabytes, and folders
	// can be deep.
	maxWalkedBytes = 512 << 20
)

// errStopped means that a tree is larger than a call may walk.
var errStopped = errors.New("the tree is too large to be walked")

type entry struct {
	path string
	git.TreeEntry
}

// walk shows the entries below a folder in git's order until show returns false. A recursive walk
// shows each folder before its contents.
func (v *visit) walk(ctx context.Context, folder entry, recursive bool, show func(e entry) (goOn bool)) error {
	entries, folders, bytes := 0, 0, 0
	list := func(id git.ID) ([]git.TreeEntry, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if folders++; folders > maxWalkedFolders {
			return nil, errStopped
		}
		list, err := v.snapshot.Tree(id)
		return list, damageIfMissing(err)
	}
	top, err := list(folder.ID)
	if err != nil {
		return err
	}
	for e, err := range git.WalkTree(folder.path, top, func(e git.WalkedEntry) ([]git.TreeEntry, error) {
		if !e.Mode.IsDir() || !recursive {
			return nil, nil
		}
		if e.Depth >= archive.DefaultDepth || len(e.Path) > archive.DefaultPathBytes {
			return nil, errStopped
		}
		return list(e.ID)
	}) {
		if err != nil {
			return err
		}
		entries, bytes = entries+1, bytes+len(e.Path)
		if entries > maxWalkedEntries || bytes > maxWalkedBytes {
			return errStopped
		}
		if !show(entry{string(e.Path), e.TreeEntry}) {
			return nil
		}
	}
	return nil
}

// noteStopped turns errStopped into a note, so that partial results are shown.
func noteStopped(r *result, err error) error {
	if !errors.Is(err, errStopped) {
		return err
	}
	r.stopped = true
	r.note("Stopped: the tree has more than %d entries or %d folders, or folders that are nested too deeply. Ask for "+
		"a folder of it with path.", maxWalkedEntries, maxWalkedFolders)
	return nil
}

// entryOf finds the commit of a revision, and in it the entry of a path as the caller wrote it.
func (v *visit) entryOf(ctx context.Context, of revision, path string) (at found, e entry, err error) {
	if at, err = v.commit(ctx, of); err != nil {
		return at, e, err
	}
	name, err := treePath(path)
	if err != nil {
		return at, e, err
	}
	e, err = v.lookup(ctx, at, name)
	return at, e, err
}

// lookup finds the entry of a path at a commit. The error for a missing one suggests paths with the
// same ending.
func (v *visit) lookup(ctx context.Context, at found, path string) (entry, error) {
	e, err := v.snapshot.Lookup(at.Tree, path)
	if isAbsent(err) {
		return entry{}, say("There is no %s in %s.%s", quote(clip(path)), at, v.alike(ctx, at, path))
	}
	return entry{path: path, TreeEntry: e}, err
}
