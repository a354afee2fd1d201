package git

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"github.com/repomcp/repomcp/internal/git/objects"
)

// RawCommit returns a commit object as it is stored, with the parts that [Commit] leaves out. It is
// compared with its id.
func (s *Snapshot) RawCommit(id ID) ([]byte, error) {
	return s.read(id, objects.Commit, maxCommitBytes)
}

// RawTag returns an annotated tag object as it is stored. It is compared with its
// id.
func (s *Snapshot) RawTag(id ID) ([]byte, error) {
	return s.read(id, objects.Tag, maxCommitBytes)
}

// ScanCommit is [Snapshot.RawCommit] for walks over whole histories: it appends the object to buf.
// The object is compared with its id, which git does not do in its walks: a wrong commit would
// silently lead the walk into another history.
func (s *Snapshot) ScanCommit(id ID, buf []byte) ([]byte, error) {
	return s.scan(id, objects.Commit, maxCommitBytes, buf)
}

// StoredTree reads a tree object, whose content it appends to buf: see ScanCommit.
func (s *Snapshot) StoredTree(id ID, buf []byte) (StoredTree, error) {
	content, err := s.scan(id, objects.Tree, maxTreeBytes, buf)
	return StoredTree{id, content}, err
}

func (s *Snapshot) scan(id ID, want objects.Type, limit int64, buf []byte) ([]byte, error) {
	kind, content, err := s.readAny(id, limit, buf)
	if err == nil && kind != want {
		err = damage(id, fmt.Errorf("is a %s, not a %s", kind, want))
	}
	if err != nil {
		return buf, MustExist(id, err)
	}
	return content, nil
}

// MustExist turns "not found" into damage for an object that another one names: the path exists,
// but its object does not.
func MustExist(id ID, err error) error {
	return missingIs(id, "is missing", err)
}

// missingIs is MustExist with a description of the missing object. It mentions a pack without an
// index, which may contain the object.
func missingIs(id ID, what string, err error) error {
	if lacks := (*objects.NoIndexError)(nil); errors.As(err, &lacks) {
		what += ", and " + lacks.Error()
	}
	if errors.Is(err, ErrNotFound) {
		return damage(id, errors.New(what))
	}
	return err
}

// read returns the whole content of an object of a known type.
func (s *Snapshot) read(id ID, want objects.Type, limit int64) ([]byte, error) {
	kind, content, err := s.readAny(id, limit, nil)
	if err == nil && kind != want {
		return nil, fmt.Errorf("object %s: is a %s: %w", id, kind, ErrNotFound)
	}
	return content, err
}

// readAny appends an object to buf. An object of more than limit bytes is damage.
func (s *Snapshot) readAny(id ID, limit int64, buf []byte) (kind objects.Type, content []byte, err error) {
	defer s.repository.contain(&err)
	kind, content, err = s.objects.ReadVerified(id, limit, buf)
	if errors.Is(err, objects.ErrTooLarge) {
		return 0, buf, damage(id, err)
	}
	return kind, content, domainError(err)
}

// StoredTree is a tree object as it is stored. Unlike [Snapshot.Tree] it accepts what git accepts
// when it compares trees: names that no file may have, duplicate names, and entries in any order.
type StoredTree struct {
	ID      ID
	Content []byte
}

// StoredEntry is an entry of a [StoredTree]. The zero entry stands for a missing one.
type StoredEntry struct {
	Name []byte // a part of the tree's content
	Mode Mode
	ID   ID
}

// TreePair has the entries of one name in two trees. A file and a folder are no pair.
type TreePair [2]StoredEntry

// Same reports whether both entries are equal.
func (p TreePair) Same() bool { return p[0].Mode == p[1].Mode && p[0].ID == p[1].ID }

// Name returns the name of the pair.
func (p TreePair) Name() []byte {
	if p[0].Mode == 0 {
		return p[1].Name
	}
	return p[0].Name
}

// Find looks a name up; it returns the zero entry if the name is missing. It skips most of the
// content by searching for the encoded name; the bytes before a hit are then read in order, since
// an id may contain the same bytes.
func (t StoredTree) Find(name string) (StoredEntry, error) {
	if !bytes.Contains(t.Content, append(append([]byte{' '}, name...), 0)) {
		return StoredEntry{}, nil
	}
	for rest := t.Content; len(rest) > 0; {
		e, after, err := t.cut(rest)
		if err != nil || string(e.Name) == name {
			return e, err
		}
		rest = after
	}
	return StoredEntry{}, nil
}

// PairTrees walks two trees side by side, in git's order. Damage is yielded in place of a pair, and
// ends the iteration.
func PairTrees(a, b StoredTree) iter.Seq2[TreePair, error] {
	return func(yield func(TreePair, error) bool) {
		for left, right := a.Content, b.Content; len(left) > 0 || len(right) > 0; {
			x, afterX, err := a.cut(left)
			if err != nil {
				yield(TreePair{}, err)
				return
			}
			y, afterY, err := b.cut(right)
			if err != nil {
				yield(TreePair{}, err)
				return
			}
			order := x.compare(y)
			if order <= 0 {
				left = afterX
			} else {
				x = StoredEntry{}
			}
			if order >= 0 {
				right = afterY
			} else {
				y = StoredEntry{}
			}
			if !yield(TreePair{x, y}, nil) {
				return
			}
		}
	}
}

// compare orders entries as trees do, folders as if they ended in a slash; the zero entry comes
// last.
func (e StoredEntry) compare(o StoredEntry) int {
	switch {
	case e.Mode == 0:
		return 1
	case o.Mode == 0:
		return -1
	}
	n := min(len(e.Name), len(o.Name))
	if order := bytes.Compare(e.Name[:n], o.Name[:n]); order != 0 {
		return order
	}
	return int(e.ending(n)) - int(o.ending(n))
}

// ending is the byte at a position of the name by which a tree is ordered, at or behind its end.
func (e StoredEntry) ending(at int) byte {
	switch {
	case at < len(e.Name):
		return e.Name[at]
	case e.Mode.IsDir():
		return '/'
	default:
		return 0
	}
}

// longestMode is more digits than any mode has.
const longestMode = 7

// cut splits the first entry off the content; it returns the zero entry for empty content.
func (t StoredTree) cut(content []byte) (e StoredEntry, rest []byte, err error) {
	if len(content) == 0 {
		return StoredEntry{}, nil, nil
	}
	digits, name, id, rest, ok := cutEntry(content)
	if !ok || len(digits) == 0 || len(digits) > longestMode {
		return StoredEntry{}, nil, fmt.Errorf("tree %s is cut short: %w", t.ID, ErrCorrupt)
	}
	var mode Mode
	for _, d := range digits {
		mode = mode<<3 | Mode(d-'0')&7
	}
	return StoredEntry{name, mode.Canonical(), id}, rest, nil
}

// cutEntry splits the first entry of a tree object, "MODE NAME\0" and the bytes of the id, from the
// rest.
func cutEntry(content []byte) (mode, name []byte, id ID, rest []byte, ok bool) {
	space, nul := bytes.IndexByte(content, ' '), bytes.IndexByte(content, 0)
	end := nul + 1 + len(ID{})
	if space < 0 || nul < space || len(content) < end {
		return nil, nil, ID{}, nil, false
	}
	return content[:space], content[space+1 : nul], ID(content[nul+1 : end]), content[end:], true
}
