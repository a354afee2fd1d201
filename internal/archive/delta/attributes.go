package delta

import (
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/repos"
)

// attributesChange reports whether any .gitattributes is other in two trees.
// Folders that are the same are not read.
func (c *comparison) attributesChange(base, head []repos.TreeEntry, seen map[[2]repos.ID]bool) (bool, error) {
	before, _ := tree.AttributesFile(base)
	after, _ := tree.AttributesFile(head)
	if before.ID != after.ID {
		return true, nil
	}
	if c.depth++; c.depth > c.head.Limits.Depth {
		return false, c.head.Limits.DepthExceeded()
	}
	defer func() { c.depth-- }()
	for _, p := range folderPairs(base, head) {
		pair := [2]repos.ID{p[0].ID, p[1].ID}
		if pair[0] == pair[1] || seen[pair] {
			continue
		}
		seen[pair] = true
		b, err := c.enter(&p[0])
		if err != nil {
			return false, err
		}
		h, err := c.enter(&p[1])
		if err != nil {
			return false, err
		}
		if changed, err := c.attributesChange(b, h, seen); changed || err != nil {
			return changed, err
		}
	}
	return false, nil
}

// folderPairs are the folders of the same name in two listings; the entry of a
// listing that has none is empty.
func folderPairs(base, head []repos.TreeEntry) [][2]repos.TreeEntry {
	var pairs [][2]repos.TreeEntry
	at := make(map[string]int)
	for side, entries := range [2][]repos.TreeEntry{base, head} {
		for _, e := range entries {
			if !e.Mode.IsDir() {
				continue
			}
			i, ok := at[e.Name]
			if !ok {
				i = len(pairs)
				at[e.Name] = i
				pairs = append(pairs, [2]repos.TreeEntry{})
			}
			pairs[i][side] = e
		}
	}
	return pairs
}
