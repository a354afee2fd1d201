package history

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/repos"
)

// entry is what a path leads to in a tree; the zero entry is nothing.
type entry struct {
	mode repos.Mode
	id   repos.ID
}

// limit is a path that history is limited to, with the meaning of a literal
// pathspec (gitglossary(7)): the file of that name, or all files of the
// folder.
type limit struct {
	path   string // without leading, double and final slashes; "" is everything
	folder bool   // it ended in a slash: a file is not meant
}

// parseLimit reads a path as a user writes it. The copy may be remembered long
// after the request that it came with.
func parseLimit(path string) (limit, error) {
	if len(path) > MaxPathBytes {
		return limit{}, fmt.Errorf("path of %d bytes: %w", len(path), repos.ErrInvalid)
	}
	var names []string
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == ".." || strings.IndexByte(name, 0) >= 0:
			return limit{}, fmt.Errorf("path %q: %w", path, repos.ErrInvalid)
		case name != "" && name != ".":
			names = append(names, name)
		}
	}
	return limit{path: strings.Clone(strings.Join(names, "/")), folder: strings.HasSuffix(path, "/")}, nil
}

// String returns the path as parseLimit reads it.
func (l limit) String() string {
	if l.folder {
		return l.path + "/"
	}
	return l.path
}

// sameTree reports whether two trees have the same files below all paths:
// git-log(1), "History Simplification", calls a commit TREESAME then. Folders do not
// count, so an empty one is nothing.
func (s *source) sameTree(a, b repos.ID, limits []limit) (bool, error) {
	if a == b {
		return true, nil
	}
	for _, limit := range limits {
		same, err := s.samePath(a, b, limit)
		if err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func (s *source) samePath(a, b repos.ID, limit limit) (bool, error) {
	x, err := s.limited(a, limit)
	if err != nil {
		return false, err
	}
	y, err := s.limited(b, limit)
	if err != nil || x == y {
		return err == nil, err
	}
	return s.sameFiles(x, y, 0)
}

// emptyTree reports whether a tree has no files below the paths.
func (s *source) emptyTree(tree repos.ID, limits []limit) (bool, error) {
	for _, limit := range limits {
		e, err := s.limited(tree, limit)
		if err != nil {
			return false, err
		}
		if same, err := s.sameFiles(e, entry{}, 0); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func (s *source) limited(tree repos.ID, limit limit) (entry, error) {
	e, err := s.lookup(tree, limit.path)
	if err == nil && limit.folder && !e.mode.IsDir() && !e.mode.IsGitlink() {
		return entry{}, nil
	}
	return e, err
}

// lookup finds the entry at a path below a tree; the zero entry when there is
// none.
func (s *source) lookup(tree repos.ID, path string) (entry, error) {
	if path == "" {
		return entry{repos.ModeDir, tree}, nil
	}
	key := s.facts.entryKey(s.repository, tree, path)
	e, known := s.facts.entry(key)
	if known {
		return e, nil
	}
	name, rest, deeper := strings.Cut(path, "/")
	raw, err := s.tree(tree)
	if err != nil {
		return entry{}, err
	}
	if e, err = findEntry(tree, raw, name); err != nil {
		return entry{}, err
	}
	if deeper && e.mode.IsDir() {
		if e, err = s.lookup(e.id, rest); err != nil {
			return entry{}, err
		}
	} else if deeper {
		e = entry{}
	}
	s.facts.putEntry(key, e)
	return e, nil
}

// tree reads a folder; the bytes are good until the next call.
func (s *source) tree(id repos.ID) ([]byte, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	raw, err := s.ScanTree(id, s.trees[:0])
	if err != nil {
		return nil, fmt.Errorf("reading history: %w", err)
	}
	s.trees = raw
	return raw, nil
}

// findEntry looks a name up in a tree object. Most bytes are skipped by looking
// for the name as it would be written; what precedes a hit is then read in
// order, since an id may hold the same bytes.
func findEntry(tree repos.ID, raw []byte, name string) (entry, error) {
	if !bytes.Contains(raw, append(append([]byte{' '}, name...), 0)) {
		return entry{}, nil
	}
	for rest := raw; len(rest) > 0; {
		var e treeEntry
		var ok bool
		if e, rest, ok = cutEntry(rest); !ok {
			return entry{}, cutShort(tree)
		}
		if string(e.name) == name {
			return e.entry, nil
		}
	}
	return entry{}, nil
}

func cutShort(tree repos.ID) error {
	return fmt.Errorf("tree %s is cut short: %w", tree, repos.ErrCorrupt)
}

type treeEntry struct {
	entry
	name []byte
}

// maxModeDigits is more than any mode has.
const maxModeDigits = 8

// cutEntry takes the first entry off a tree object: "MODE NAME\0" and an id.
func cutEntry(raw []byte) (e treeEntry, rest []byte, ok bool) {
	space := bytes.IndexByte(raw[:min(len(raw), maxModeDigits)], ' ')
	if space < 1 {
		return treeEntry{}, nil, false
	}
	nul := bytes.IndexByte(raw[space:], 0) + space
	end := nul + 1 + len(repos.ID{})
	if nul < space || len(raw) < end {
		return treeEntry{}, nil, false
	}
	e.name, e.mode, e.id = raw[space+1:nul], canonical(raw[:space]), repos.ID(raw[nul+1:end])
	return e, raw[end:], true
}

// canonical reads a stored mode, and is what git takes it for.
func canonical(digits []byte) repos.Mode {
	var mode repos.Mode
	for _, d := range digits {
		mode = mode<<3 | repos.Mode(d-'0')&7
	}
	return mode.Canonical()
}

// maxDepth bounds folders within folders that are compared, which a tree that
// an attacker made could have without end.
const maxDepth = 1000

var errDeep = errors.New("folders are nested too deeply")

// sameFiles reports whether two different entries are the same to git: neither
// has files that the other has not.
func (s *source) sameFiles(a, b entry, depth int) (bool, error) {
	switch {
	case a == b:
		return true, nil
	case isFile(a) || isFile(b):
		return false, nil
	case depth > maxDepth:
		return false, fmt.Errorf("%w: %w", errDeep, repos.ErrCorrupt)
	}
	pair := [2]repos.ID{a.id, b.id}
	if s.compared[pair] {
		return true, nil // a pair that differs ends everything
	}
	left, err := s.subtree(a)
	if err != nil {
		return false, err
	}
	left = bytes.Clone(left)
	right, err := s.subtree(b)
	if err != nil {
		return false, err
	}
	right = bytes.Clone(right)
	s.openBytes += len(left) + len(right)
	defer func() { s.openBytes -= len(left) + len(right) }()
	if s.openBytes > maxOpenBytes {
		return false, fmt.Errorf("folders within folders: %w", repos.ErrTooLarge)
	}
	for pairs := (sideBySide{a: a.id, b: b.id, left: left, right: right}); pairs.more(); {
		x, y, err := pairs.next()
		if err != nil {
			return false, err
		}
		if same, err := s.sameFiles(x.entry, y.entry, depth+1); err != nil || !same {
			return false, err
		}
	}
	s.compared[pair] = true
	return true, nil
}

func isFile(e entry) bool { return e.mode != 0 && !e.mode.IsDir() }

// subtree reads a folder; nothing has no entries.
func (s *source) subtree(e entry) ([]byte, error) {
	if e.mode == 0 {
		return nil, nil
	}
	return s.tree(e.id)
}

// compareNames orders entries as trees do, folders as if they ended in a slash;
// nothing comes last.
func compareNames(x, y treeEntry) int {
	switch {
	case x.mode == 0:
		return 1
	case y.mode == 0:
		return -1
	}
	n := min(len(x.name), len(y.name))
	if order := bytes.Compare(x.name[:n], y.name[:n]); order != 0 {
		return order
	}
	return int(ending(x, n)) - int(ending(y, n))
}

func ending(e treeEntry, at int) byte {
	switch {
	case at < len(e.name):
		return e.name[at]
	case e.mode.IsDir():
		return '/'
	default:
		return 0
	}
}
