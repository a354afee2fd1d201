package history

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/repos"
)

// maxComparedFolders bounds the folders of a comparison that are read: trees
// that an attacker made can have more of them, one inside the other, than
// anybody can count. Large projects have tens of thousands.
const maxComparedFolders = 250_000

// maxOpenBytes bounds the folders, one inside the other, that are held at a
// time.
const maxOpenBytes = 256 << 20

// maxListedBytes bounds the paths of all files that are listed: those of the
// deepest folders are long.
const maxListedBytes = 64 << 20

// treeComparison goes through two trees side by side.
type treeComparison struct {
	source      *source
	limits      []limit // none: everything
	mostFiles   int
	mostFolders int
	only        func(FileChange) bool // what is listed; nil: all
	folders     int
	openBytes   int
	listedBytes int
	files       []FileChange
}

// treeChanges lists what differs without looking for renames, in the order of
// git-diff-tree(1).
func (s *source) treeChanges(from, to repos.ID, o CompareOptions) ([]FileChange, error) {
	c := treeComparison{source: s, mostFiles: o.MaxFiles, mostFolders: maxComparedFolders}
	if c.mostFiles <= 0 {
		c.mostFiles = DefaultMaxFiles
	}
	for _, path := range o.Paths {
		limit, err := parseLimit(path)
		if err != nil {
			return nil, err
		}
		c.limits = append(c.limits, limit)
	}
	if err := c.folder("", treeOf(from), treeOf(to), len(c.limits) == 0, 0); err != nil {
		return nil, err
	}
	return c.files, nil
}

func treeOf(id repos.ID) entry {
	if id.IsZero() {
		return entry{}
	}
	return entry{repos.ModeDir, id}
}

// folder compares two folders, of which one may be nothing. Within a limit
// everything is listed.
func (c *treeComparison) folder(prefix string, a, b entry, within bool, depth int) error {
	if a == b {
		return nil
	}
	if depth > maxDepth {
		return fmt.Errorf("%w: %w", errDeep, repos.ErrCorrupt)
	}
	if c.folders++; c.folders > c.mostFolders {
		return ErrTooMany
	}
	left, err := c.source.subtree(a)
	if err != nil {
		return err
	}
	left = bytes.Clone(left) // the next folder takes its place
	right, err := c.source.subtree(b)
	if err != nil {
		return err
	}
	right = bytes.Clone(right)
	c.openBytes += len(left) + len(right)
	defer func() { c.openBytes -= len(left) + len(right) }()
	if c.openBytes > maxOpenBytes {
		return fmt.Errorf("folders within folders: %w", repos.ErrTooLarge)
	}
	pairs := sideBySide{a: a.id, b: b.id, left: left, right: right}
	for pairs.more() {
		x, y, err := pairs.next()
		if err != nil {
			return err
		}
		if x.entry == y.entry {
			continue
		}
		if err := c.entry(prefix, x, y, within, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry compares what a name is in two folders; in one of them it may be
// nothing.
func (c *treeComparison) entry(prefix string, x, y treeEntry, within bool, depth int) error {
	path := prefix + string(x.name)
	if x.mode == 0 {
		path = prefix + string(y.name)
	}
	a, b := x.entry, y.entry
	if !within {
		var inA, inB, towardsA, towardsB bool
		inA, towardsA = c.selects(path, a.mode)
		inB, towardsB = c.selects(path, b.mode)
		switch {
		case towardsA || towardsB:
			return c.folder(path+"/", a, b, inA || inB, depth+1)
		case !inA && !inB:
			return nil
		case !inA: // a file is none of "path/", a submodule is
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
	if c.only != nil && !c.only(change) {
		return nil
	}
	if c.listedBytes += len(path); len(c.files) == c.mostFiles || c.listedBytes > maxListedBytes {
		return ErrTooMany
	}
	c.files = append(c.files, change)
	return nil
}

// selects reports whether what a path leads to is within the limits, and whether
// a limit may be found below it.
func (c *treeComparison) selects(path string, mode repos.Mode) (within, towards bool) {
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

func statusOf(from, to repos.Mode) Status {
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

// sideBySide pairs the entries of two folders by name. A file and a folder of
// one name are no pair.
type sideBySide struct {
	a, b        repos.ID
	left, right []byte
}

func (s *sideBySide) more() bool { return len(s.left) > 0 || len(s.right) > 0 }

// next returns the pair that comes first; the entry of one side may be zero.
func (s *sideBySide) next() (x, y treeEntry, err error) {
	afterX, afterY := s.left, s.right
	var ok bool
	if len(s.left) > 0 {
		if x, afterX, ok = cutEntry(s.left); !ok {
			return x, y, cutShort(s.a)
		}
	}
	if len(s.right) > 0 {
		if y, afterY, ok = cutEntry(s.right); !ok {
			return x, y, cutShort(s.b)
		}
	}
	order := compareNames(x, y)
	if order <= 0 {
		s.left = afterX
	} else {
		x = treeEntry{}
	}
	if order >= 0 {
		s.right = afterY
	} else {
		y = treeEntry{}
	}
	return x, y, nil
}
