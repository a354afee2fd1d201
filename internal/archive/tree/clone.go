package tree

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/base/filenames"
	"github.com/repomcp/repomcp/internal/git"
)

// ErrClone means that there is no checkout of a tree.
var ErrClone = errors.New("there is no checkout of this commit; take another profile")

// CheckFolder refuses the entries of a folder that cannot be in a clone, if the selection is one: [ErrClone].
func (s *Selection) CheckFolder(entries []git.TreeEntry) error {
	if !s.Clone {
		return nil
	}
	return checkClone(entries)
}

// checkClone refuses entries of a folder that cannot be in a clone: names that some system takes for
// the clone's own .git (hasDotgit of git fsck; also git~2 and so on, since a folder may have had a git~1
// before), a .gitmodules that is a link, and an order that an index does not have (treeNotSorted).
func checkClone(entries []git.TreeEntry) error {
	for i, e := range entries {
		if i > 0 && orderName(entries[i-1]) >= orderName(e) {
			return fmt.Errorf("%w: the entries of a folder are not in git's order at %s", ErrClone,
				strconv.QuoteToGraphic(e.Name))
		}
		for part := range strings.SplitSeq(e.Name, `\`) { // separates folders on Windows
			if filenames.StandsForGit(part) {
				return fmt.Errorf("%w: some systems take %s for .git", ErrClone, strconv.QuoteToGraphic(e.Name))
			}
			if e.Mode.IsSymlink() && filenames.StandsFor(part, submodulesFile, "gitmod~") {
				return fmt.Errorf("%w: %s is a symbolic link, which git does not take for .gitmodules", ErrClone,
					strconv.QuoteToGraphic(e.Name))
			}
		}
	}
	return nil
}

// orderName is the name by which a tree is ordered.
func orderName(e git.TreeEntry) string {
	if e.Mode.IsDir() {
		return e.Name + "/"
	}
	return e.Name
}
