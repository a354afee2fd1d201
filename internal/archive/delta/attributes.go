package delta

import (
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
)

// attributesChange reports whether any .gitattributes differs between two trees. It does not read
// equal folders.
func (c *comparison) attributesChange(base, head []git.TreeEntry, seen map[[2]git.ID]bool) (bool, error) {
	before, _ := tree.AttributesFile(base)
	after, _ := tree.AttributesFile(head)
	if before.ID != after.ID {
		return true, nil
	}
	if c.depth++; c.depth > c.head.Limits.Depth {
		return false, c.head.Limits.DepthExceeded()
	}
	defer func() { c.depth-- }()
	for b, h := range pairs(base, head) {
		ids := [2]git.ID{folderID(b), folderID(h)}
		if ids[0] == ids[1] || seen[ids] {
			continue
		}
		seen[ids] = true
		before, err := c.enter(b)
		if err != nil {
			return false, err
		}
		after, err := c.enter(h)
		if err != nil {
			return false, err
		}
		if changed, err := c.attributesChange(before, after, seen); changed || err != nil {
			return changed, err
		}
	}
	return false, nil
}

// folderID returns the id of a folder; the zero id for other entries.
func folderID(e *git.TreeEntry) git.ID {
	if !isFolder(e) {
		return git.ID{}
	}
	return e.ID
}
