package git

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/objects"
)

// maxTreeBytes bounds one tree object: some two million entries in a single
// folder.
const maxTreeBytes = 64 << 20

// Mode is the type and permission of a tree entry. In a [TreeEntry] it is one of those that git
// writes, whatever is stored: see [Mode.Canonical].
type Mode uint32

// The modes that git writes.
const (
	ModeDir        Mode = 0o040000
	ModeRegular    Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeGitlink    Mode = 0o160000

	modeTypeMask Mode = 0o170000
	modeRegular  Mode = 0o100000
)

// IsDir reports whether the entry is a folder.
func (m Mode) IsDir() bool { return m&modeTypeMask == ModeDir }

// IsRegular reports whether the entry is a file, executable or not.
func (m Mode) IsRegular() bool { return m&modeTypeMask == modeRegular }

// IsExecutable reports whether the entry is a file that its owner may run: the only permission that
// git tracks.
func (m Mode) IsExecutable() bool { return m.IsRegular() && m&0o100 != 0 }

// IsSymlink reports whether the entry's content is a link target.
func (m Mode) IsSymlink() bool { return m&modeTypeMask == ModeSymlink }

// IsGitlink reports whether the entry is a commit of another repository.
func (m Mode) IsGitlink() bool { return m&modeTypeMask == ModeGitlink }

// Canonical is the mode that git reads a stored one as: old trees have others, such as 100664. Only
// the owner's executable bit of a file's permissions counts, and an unknown type is a submodule.
func (m Mode) Canonical() Mode {
	switch {
	case m.IsExecutable():
		return ModeExecutable
	case m.IsRegular():
		return ModeRegular
	case m.IsSymlink():
		return ModeSymlink
	case m.IsDir():
		return ModeDir
	default:
		return ModeGitlink
	}
}

// String is the mode in octal as git prints it: six digits.
func (m Mode) String() string { return fmt.Sprintf("%06o", uint32(m)) }

// TreeEntry is one name in a folder. A name is any sequence of bytes without NUL and slash, not
// always UTF-8.
type TreeEntry struct {
	Name string
	Mode Mode
	ID   ID
}

// Tree reads one folder, in git's order: by name, as if folders ended in "/".
func (s *Snapshot) Tree(id ID) (entries []TreeEntry, err error) {
	defer s.repository.contain(&err)
	content, err := s.read(id, objects.Tree, maxTreeBytes)
	if err != nil {
		return nil, err
	}
	return parseTree(id, content)
}

// TreePage reads a part of one folder, in the order of [Snapshot.Tree]: up to limit entries after
// the one with the given name, or the first ones if that is "". more reports that others follow. A
// missing name is [ErrNotFound].
func (s *Snapshot) TreePage(id ID, after string, limit int) (entries []TreeEntry, more bool, err error) {
	if entries, err = s.Tree(id); err != nil {
		return nil, false, err
	}
	if after != "" {
		at := slices.IndexFunc(entries, func(e TreeEntry) bool { return e.Name == after })
		if at < 0 {
			return nil, false, fmt.Errorf("page: %w", ErrNotFound)
		}
		entries = entries[at+1:]
	}
	return entries[:min(limit, len(entries))], len(entries) > limit, nil
}

// Lookup walks from a tree along a path of names divided by slashes. The empty path is the tree
// itself. A missing name is [ErrNotFound].
func (s *Snapshot) Lookup(tree ID, path string) (TreeEntry, error) {
	entry := TreeEntry{Mode: ModeDir, ID: tree}
	if path == "" {
		return entry, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if !entry.Mode.IsDir() {
			return TreeEntry{}, fmt.Errorf("path: %w", ErrNotFound)
		}
		entries, err := s.Tree(entry.ID)
		if err != nil {
			return TreeEntry{}, MustExist(entry.ID, err)
		}
		if entry, err = find(entries, name); err != nil {
			return TreeEntry{}, err
		}
	}
	return entry, nil
}

func find(entries []TreeEntry, name string) (TreeEntry, error) {
	for _, entry := range entries {
		if entry.Name == name {
			return entry, nil
		}
	}
	return TreeEntry{}, fmt.Errorf("path: %w", ErrNotFound)
}

// averageEntryBytes is a guess that keeps the list from growing.
const averageEntryBytes = 36

// parseTree reads the format of tree objects: "MODE NAME\0" followed by the 20 bytes of the id.
//
// Names that would leave a folder when unpacked are damage: git refuses to write them, so they are
// attacks. So are duplicate names: with a link and a folder of one name, the content of the folder
// would be written to the target of the link. Entries out of order are accepted as git accepts
// them.
func parseTree(id ID, content []byte) ([]TreeEntry, error) {
	entries := make([]TreeEntry, 0, len(content)/averageEntryBytes)
	names := treeNames{files: make([][]byte, 0, usualPrefixes)}
	text := string(content) // the names are substrings of it
	for rest := content; len(rest) > 0; {
		digits, name, entryID, after, ok := cutEntry(rest)
		if !ok {
			return nil, damage(id, errors.New("tree is cut short"))
		}
		mode, err := parseMode(digits)
		if err != nil {
			return nil, damage(id, err)
		}
		at := len(content) - len(rest) + len(digits) + len(" ")
		entry := TreeEntry{Name: text[at : at+len(name)], Mode: mode, ID: entryID}
		if !validEntryName(entry.Name) {
			return nil, damage(id, fmt.Errorf("tree has an entry named %q", entry.Name))
		}
		if !names.add(StoredEntry{name, mode, entryID}, content) {
			return nil, damage(id, fmt.Errorf("tree has the name %q twice", entry.Name))
		}
		entries = append(entries, entry)
		rest = after
	}
	return entries, nil
}

// usualPrefixes is room for names that begin other names of a folder.
const usualPrefixes = 8

// treeNames checks that a tree has each name once. It needs no memory while the entries are in
// git's order, which is by name as if folders ended in "/".
type treeNames struct {
	last StoredEntry
	// files are the names of files that are prefixes of the last name: between a file and a folder
	// of the same name there may be others, such as "a", "a.b", "a/".
	files [][]byte
	// others counts each name of a tree that is out of order.
	others map[string]int
}

// add returns false for an entry whose name occurs twice in the whole tree.
func (n *treeNames) add(entry StoredEntry, whole []byte) bool {
	if n.others == nil && n.last.Mode != 0 && n.last.compare(entry) >= 0 {
		n.others = countNames(whole)
	}
	if n.others != nil {
		return n.others[string(entry.Name)] == 1
	}
	n.last = entry
	for len(n.files) > 0 && !bytes.HasPrefix(entry.Name, n.files[len(n.files)-1]) {
		n.files = n.files[:len(n.files)-1]
	}
	if !entry.Mode.IsDir() {
		n.files = append(n.files, entry.Name)
		return true
	}
	return len(n.files) == 0 || len(n.files[len(n.files)-1]) != len(entry.Name)
}

// countNames returns how often each name occurs in the well-formed part of a tree. The entries
// before the first one out of order are counted again: they have no name twice, but a later entry
// may have one of their names.
func countNames(tree []byte) map[string]int {
	counts := make(map[string]int, len(tree)/averageEntryBytes)
	for len(tree) > 0 {
		_, name, _, rest, ok := cutEntry(tree)
		if !ok {
			break
		}
		counts[string(name)]++
		tree = rest
	}
	return counts
}

func parseMode(digits []byte) (Mode, error) {
	if len(digits) == 0 || len(digits) > 6 {
		return 0, fmt.Errorf("tree has a mode of %d digits", len(digits))
	}
	var mode Mode
	for _, d := range digits {
		if d < '0' || d > '7' {
			return 0, fmt.Errorf("tree has the mode %q", digits)
		}
		mode = mode<<3 | Mode(d-'0')
	}
	if !mode.IsDir() && !mode.IsRegular() && !mode.IsSymlink() && !mode.IsGitlink() {
		return 0, fmt.Errorf("tree has the mode %q", digits)
	}
	return mode.Canonical(), nil
}

// validEntryName refuses the names that git refuses to check out on every system: they would write
// outside the folder, or into the repository's own .git, where hooks live.
func validEntryName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/") && !strings.EqualFold(name, ".git")
}

// WalkedEntry is an entry with its place in the walked tree.
type WalkedEntry struct {
	TreeEntry
	// Path begins with that of the folder in which the walk began. It changes with the next entry.
	Path []byte
	// Depth is the number of folders above the entry, counted from that folder: 1 or more.
	Depth int
}

// WalkTree yields the entries of a folder in git's order, and after each its contents. The folder's
// path is "" for the root. enter returns the contents of an entry, or nothing for an entry that is
// not to be walked. Its error is yielded in place of an entry, and ends the walk.
//
// WalkTree itself reads nothing and has no bounds.
func WalkTree(
	folder string, entries []TreeEntry, enter func(WalkedEntry) ([]TreeEntry, error),
) iter.Seq2[WalkedEntry, error] {
	type level struct {
		rest   []TreeEntry
		length int // of the folder's path, with its final slash
	}
	return func(yield func(WalkedEntry, error) bool) {
		path := []byte(folder)
		if folder != "" {
			path = append(path, '/')
		}
		for levels := []level{{entries, len(path)}}; len(levels) > 0; {
			inner := &levels[len(levels)-1]
			if len(inner.rest) == 0 {
				levels = levels[:len(levels)-1]
				continue
			}
			path = append(path[:inner.length], inner.rest[0].Name...)
			e := WalkedEntry{inner.rest[0], path, len(levels)}
			inner.rest = inner.rest[1:]
			if !yield(e, nil) {
				return
			}
			below, err := enter(e)
			if err != nil {
				yield(WalkedEntry{}, err)
				return
			}
			if len(below) > 0 {
				path = append(path, '/')
				levels = append(levels, level{below, len(path)})
			}
		}
	}
}
