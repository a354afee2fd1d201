package tools

import (
	"context"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
)

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
	if isAbsent(err) {
		return nil
	}
	return err
}
