package tools

import (
	"context"
	"errors"
	"path"
	"regexp"
	"strings"

	"github.com/repomcp/repomcp/internal/base/lru"

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

// allLevels is more than the folders of a tree may be nested.
const allLevels = archive.DefaultDepth + 1

// errStopped means that a tree is larger than a call may walk.
var errStopped = errors.New("the tree is too large to be walked")

type entry struct {
	path string
	git.TreeEntry
}

// walk shows the entries below a folder in git's order until show returns false: so many levels of
// them, each folder before its contents.
func (v *visit) walk(ctx context.Context, folder entry, levels int, show func(e entry) (goOn bool)) error {
	entries, folders, bytes := 0, 0, 0
	list := func(id git.ID) ([]git.TreeEntry, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if folders++; folders > maxWalkedFolders {
			return nil, errStopped
		}
		list, err := v.snapshot.Tree(id)
		return list, git.MustExist(id, err)
	}
	top, err := list(folder.ID)
	if err != nil {
		return err
	}
	for e, err := range git.WalkTree(folder.path, top, func(e git.WalkedEntry) ([]git.TreeEntry, error) {
		if !e.Mode.IsDir() || e.Depth >= levels {
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
	e, err = v.locate(ctx, at, name)
	return at, e, err
}

// locate finds the entry of a path at a commit. If nothing has the path, it takes the only entry
// that says the same, and notes that; its error suggests paths with the same last name.
func (v *visit) locate(ctx context.Context, at found, path string) (entry, error) {
	e, err := v.snapshot.Lookup(at.Tree, path)
	if !git.IsAbsent(err) {
		return entry{path: path, TreeEntry: e}, err
	}
	same, alike := v.alike(ctx, at, path)
	if len(same) == 1 {
		v.note("There is no %s; this is %s.", quote(clip(path)), quote(same[0].path))
		return same[0], nil
	}
	return entry{}, noPath(at, path, alike)
}

// noPath returns the error for a path that does not exist, with similar ones.
func noPath(at found, path string, alike []string) error {
	hint := " Look for it with find_files."
	switch {
	case len(alike) > 0: // whole, so that they lead to the files
		hint = " Did you mean " + strings.Join(alike, " or ") + "?"
	case strings.ContainsAny(path, "*?["):
		hint = " Files are found by pattern with find_files and glob."
	}
	return say("There is no %s in %s.%s", quote(clip(path)), at, hint)
}

// lineSuffix matches the lines after a path, as programs write them: src/a.go:12, src/a.go:12:5,
// src/a.go#L12-L20.
var lineSuffix = regexp.MustCompile(`(?::|#L)([0-9]{1,9})(?:-L?([0-9]{1,9}))?(?::[0-9]*)*$`)

// maxAlike bounds the paths that an error suggests.
const maxAlike = 3

// alike returns the entries that say the same as a missing path, and the paths with the same last
// name. A path says the same if it lacks folders at its beginning, or has further ones there, such as
// the name of a clone's folder. Lines after it do not count; a path that is right without them is
// the only one.
func (v *visit) alike(ctx context.Context, at found, missing string) (same []entry, alike []string) {
	if missing = lineSuffix.ReplaceAllString(missing, ""); missing == "" {
		return nil, nil
	}
	if e, err := v.snapshot.Lookup(at.Tree, missing); err == nil {
		return []entry{{missing, e}}, nil
	}
	name := strings.ToLower(path.Base(missing))
	root := entry{TreeEntry: git.TreeEntry{Mode: git.ModeDir, ID: at.Tree}}
	err := v.walk(ctx, root, allLevels, func(e entry) bool {
		if strings.ToLower(path.Base(e.path)) != name {
			return true
		}
		if isTail(missing, e.path) || isTail(e.path, missing) && strings.Contains(e.path, "/") {
			same = append(same, e)
		}
		if len(alike) < maxAlike {
			alike = append(alike, quote(e.path))
		}
		return len(same) <= 1 || len(alike) < maxAlike
	})
	if err != nil { // the answer stays that the path does not exist
		return nil, nil
	}
	return same, alike
}

// isTail reports whether a path ends with another, or is the same.
func isTail(tail, whole string) bool { return tail == whole || strings.HasSuffix(whole, "/"+tail) }

const (
	// maxHandedTrees bounds the remembered ids of trees: the folders of some hundred listings.
	maxHandedTrees = 10_000
	// maxHandedPath bounds each path, so that all take at most 4 MiB.
	maxHandedPath = 256
)

// handedTrees maps the ids of trees in results to their places. An id alone does not tell which
// commit contains it, and a tree is served only through a served commit. That commit is checked at
// each use.
type handedTrees = *lru.Cache[treeKey, treePlace]

type treeKey struct {
	repository string
	tree       git.ID
}

type treePlace struct {
	commit git.ID
	path   string // "" is the root
}

// rememberTree records that a result has, or may have, the id of a tree.
func (v *visit) rememberTree(commit git.ID, path string, tree git.ID) {
	if len(path) <= maxHandedPath {
		v.trees.Put(treeKey{v.name(), tree}, treePlace{commit, path}, 1)
	}
}

// treeByID finds the folder with a tree's id. A tree that no result had must be that of the default
// branch.
func (v *visit) treeByID(ctx context.Context, id string) (at found, path string, ok bool, err error) {
	tree, err := git.ParseID(id)
	if err != nil {
		return at, "", false, nil
	}
	revision := "HEAD"
	place, known := v.trees.Get(treeKey{v.name(), tree})
	if known {
		revision = place.commit.String()
	}
	at = found{repository: v.name()}
	if at.Commit, err = v.snapshot.Resolve(ctx, revision); err != nil {
		return at, "", false, gone(err)
	}
	e, err := v.snapshot.Lookup(at.Tree, place.path)
	if err != nil || e.ID != tree || !e.Mode.IsDir() {
		return at, "", false, gone(err)
	}
	v.note("Tree %s is the folder %s of this commit.", tree, quote("/"+place.path))
	return at, place.path, true, nil
}

// gone returns nil for errors about absent objects.
func gone(err error) error {
	if git.IsAbsent(err) {
		return nil
	}
	return err
}
