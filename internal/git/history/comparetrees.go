package history

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

// maxComparedFolders bounds the folders that a comparison reads: a hostile tree can nest
// practically unlimited numbers of them. Large projects have tens of thousands.
const maxComparedFolders = 250_000

// maxListedBytes bounds the paths of all listed files, because paths in deep folders are long.
const maxListedBytes = 64 << 20

// treeComparison walks two trees side by side.
type treeComparison struct {
	source      *source
	limits      []limit // none: everything
	mostFiles   int
	mostFolders int
	only        func(FileChange) bool  // selects files; nil: all
	visit       func(FileChange) error // takes the files instead of the list; nil: none
	folders     int
	listedBytes int
	files       []FileChange
}

// treeChanges lists changes without rename detection, in the order of git-diff-tree(1).
func (s *source) treeChanges(from, to git.ID, o CompareOptions) ([]FileChange, error) {
	limits, err := parseLimits(o.Paths)
	if err != nil {
		return nil, err
	}
	c := treeComparison{
		source: s, limits: limits, mostFiles: cmp.Or(o.MaxFiles, DefaultMaxFiles), mostFolders: maxComparedFolders,
	}
	if err := c.folder("", treeOf(from), treeOf(to), len(c.limits) == 0, 0); err != nil {
		return nil, err
	}
	return c.files, nil
}

func treeOf(id git.ID) entry {
	if id.IsZero() {
		return entry{}
	}
	return entry{git.ModeDir, id}
}

// folder compares two folders, one of which may be missing. within means that a limit selects
// everything in them.
func (c *treeComparison) folder(prefix string, a, b entry, within bool, depth int) error {
	if a == b {
		return nil
	}
	if depth > maxDepth {
		return fmt.Errorf("%w: %w", errDeep, git.ErrCorrupt)
	}
	if c.folders++; c.folders > c.mostFolders {
		return ErrTooMany
	}
	for pair, err := range c.source.differences(a, b) {
		if err != nil {
			return err
		}
		if err := c.entry(prefix+string(pair.Name()), entryOf(pair[0]), entryOf(pair[1]), within, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry compares the entries of a name in two folders, one of which may be missing.
func (c *treeComparison) entry(path string, a, b entry, within bool, depth int) error {
	if !within {
		var inA, inB, towardsA, towardsB bool
		inA, towardsA = c.selects(path, a.mode)
		inB, towardsB = c.selects(path, b.mode)
		switch {
		case towardsA || towardsB:
			return c.folder(path+"/", a, b, inA || inB, depth+1)
		case !inA && !inB:
			return nil
		case !inA: // a file does not match "path/", a submodule does
			a = entry{}
		case !inB:
			b = entry{}
		}
	}
	if a.mode.IsDir() || b.mode.IsDir() {
		return c.folder(path+"/", a, b, true, depth+1)
	}
	change := FileChange{
		Status: statusOf(a.mode, b.mode), OldPath: path, NewPath: path,
		OldMode: a.mode, NewMode: b.mode, OldID: a.id, NewID: b.id,
	}
	if c.visit != nil {
		return c.visit(change)
	}
	if c.only != nil && !c.only(change) {
		return nil
	}
	if c.listedBytes += len(path); len(c.files) == c.mostFiles || c.listedBytes > maxListedBytes {
		return ErrTooMany
	}
	c.files = append(c.files, change)
	return nil
}

// selects reports whether an entry is within the limits, and whether a limit may match something
// below it.
func (c *treeComparison) selects(path string, mode git.Mode) (within, towards bool) {
	if mode == 0 {
		return false, false
	}
	for _, l := range c.limits {
		switch {
		case l.path == "":
			return true, false
		case l.path == path:
			within = within || !l.folder || mode.IsDir() || mode.IsGitlink()
		case strings.HasPrefix(path, l.path+"/"):
			return true, false
		case strings.HasPrefix(l.path, path+"/"):
			towards = towards || mode.IsDir()
		}
	}
	return within, towards
}

func statusOf(from, to git.Mode) Status {
	const typeBits = 0o170000
	switch {
	case from == 0:
		return Added
	case to == 0:
		return Deleted
	case from&typeBits != to&typeBits:
		return TypeChanged
	default:
		return Modified
	}
}
