package tools

import (
	"context"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
)

const (
	// maxHandedTrees is how many ids of trees are remembered: the folders of some
	// hundred listings.
	maxHandedTrees = 10_000
	// maxHandedPath bounds the path of each, so that all take 4 MiB at most.
	maxHandedPath = 256
)

// handedTrees remember where the trees are whose ids results had. An id alone
// says nothing of which commit leads to it: a tree is served only by way of a
// commit that is, which is looked at anew each time.
type handedTrees = *lru.Cache[treeKey, treePlace]

type treeKey struct {
	repository string
	tree       git.ID
}

type treePlace struct {
	commit git.ID
	path   string // "" is the root
}

// rememberTree notes that a result has the id of a tree, or that it may have.
func (v *visit) rememberTree(commit git.ID, path string, tree git.ID) {
	if len(path) <= maxHandedPath {
		v.trees.Put(treeKey{v.name(), tree}, treePlace{commit, path}, 1)
	}
}

// treeByID finds the folder that a tree's id was handed out for. A tree that no
// result had is that of the default branch, or none.
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

// gone takes what is not there, or no longer, for no error.
func gone(err error) error {
	if isAbsent(err) {
		return nil
	}
	return err
}
