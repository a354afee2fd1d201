package history

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

// entry is a tree's entry for a path; the zero entry means none.
type entry struct {
	mode git.Mode
	id   git.ID
}

func entryOf(e git.StoredEntry) entry { return entry{e.Mode, e.ID} }

// limit is a path that limits history, with the meaning of a literal pathspec (gitglossary(7)): the
// file of that name, or all files of the folder.
type limit struct {
	path   string // without leading, double and final slashes; "" is everything
	folder bool   // it ended in a slash: matches no file
}

// parseLimit parses a path as a user writes it. It copies the string, because caches may keep the
// path longer than its request.
func parseLimit(path string) (limit, error) {
	if len(path) > MaxPathBytes {
		return limit{}, fmt.Errorf("path of %d bytes: %w", len(path), git.ErrInvalid)
	}
	var names []string
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == ".." || strings.IndexByte(name, 0) >= 0:
			return limit{}, fmt.Errorf("path %q: %w", path, git.ErrInvalid)
		case name != "" && name != ".":
			names = append(names, name)
		}
	}
	return limit{path: strings.Clone(strings.Join(names, "/")), folder: strings.HasSuffix(path, "/")}, nil
}

func parseLimits(paths []string) ([]limit, error) {
	limits := make([]limit, len(paths))
	for i, path := range paths {
		var err error
		if limits[i], err = parseLimit(path); err != nil {
			return nil, err
		}
	}
	return limits, nil
}

// String returns the path in the form of parseLimit.
func (l limit) String() string {
	if l.folder {
		return l.path + "/"
	}
	return l.path
}

// sameTree reports whether two commits have the same files below all paths: git-log(1), "History
// Simplification", calls the commit TREESAME. Empty folders count as missing. A nil commit has no
// files.
func (s *source) sameTree(before *links, after links, limits []limit) (bool, error) {
	if before != nil && before.tree == after.tree {
		return true, nil
	}
	for _, limit := range limits {
		same, err := s.sameAt(before, after, limit)
		if err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func (s *source) sameAt(before *links, after links, limit limit) (same bool, err error) {
	var x entry
	if before != nil {
		if x, err = s.limited(*before, limit); err != nil {
			return false, err
		}
	}
	y, err := s.limited(after, limit)
	if err != nil || x == y {
		return err == nil, err
	}
	return s.sameFiles(x, y, 0)
}

func (s *source) limited(l links, limit limit) (entry, error) {
	e, err := s.lookup(l, limit.path)
	if err == nil && limit.folder && !e.mode.IsDir() && !e.mode.IsGitlink() {
		return entry{}, nil
	}
	return e, err
}

// tree reads a folder.
func (s *source) tree(id git.ID, buf []byte) (git.StoredTree, error) {
	if err := s.ctx.Err(); err != nil {
		return git.StoredTree{}, err
	}
	tree, err := s.StoredTree(id, buf)
	if err != nil {
		return git.StoredTree{}, fmt.Errorf("reading history: %w", err)
	}
	return tree, nil
}

// maxDepth bounds nested folders in a comparison, because a hostile tree can nest without end.
const maxDepth = 1000

// maxOpenBytes bounds the nested folders that are in memory at a time.
const maxOpenBytes = 256 << 20

var errDeep = errors.New("folders are nested too deeply")

// sameFiles reports whether two different entries contain the same files, as git sees it.
func (s *source) sameFiles(a, b entry, depth int) (bool, error) {
	switch {
	case a == b:
		return true, nil
	case isFile(a) || isFile(b):
		return false, nil
	case depth > maxDepth:
		return false, fmt.Errorf("%w: %w", errDeep, git.ErrCorrupt)
	}
	ids := [2]git.ID{a.id, b.id}
	if s.compared[ids] {
		return true, nil // a differing pair ends the comparison
	}
	for pair, err := range s.differences(a, b) {
		if err != nil {
			return false, err
		}
		if same, err := s.sameFiles(entryOf(pair[0]), entryOf(pair[1]), depth+1); err != nil || !same {
			return false, err
		}
	}
	s.compared[ids] = true
	return true, nil
}

func isFile(e entry) bool { return e.mode != 0 && !e.mode.IsDir() }

// differences yields the entries that differ in two folders, one of which may be missing. Both
// folders stay in memory until the end.
func (s *source) differences(a, b entry) iter.Seq2[git.TreePair, error] {
	return func(yield func(git.TreePair, error) bool) {
		left, err := s.folder(a)
		if err != nil {
			yield(git.TreePair{}, err)
			return
		}
		right, err := s.folder(b)
		if err != nil {
			yield(git.TreePair{}, err)
			return
		}
		size := len(left.Content) + len(right.Content)
		s.openBytes += size
		defer func() { s.openBytes -= size }()
		if s.openBytes > maxOpenBytes {
			yield(git.TreePair{}, fmt.Errorf("folders within folders: %w", git.ErrTooLarge))
			return
		}
		for pair, err := range git.PairTrees(left, right) {
			if err == nil && pair.Same() {
				continue
			}
			if !yield(pair, err) {
				return
			}
		}
	}
}

// folder reads a folder; the zero entry has no entries.
func (s *source) folder(e entry) (git.StoredTree, error) {
	if e.mode == 0 {
		return git.StoredTree{}, nil
	}
	return s.tree(e.id, nil)
}
