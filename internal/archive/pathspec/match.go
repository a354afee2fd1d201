package pathspec

import (
	"bytes"

	"github.com/repomcp/repomcp/internal/git/wildmatch"
)

// Kind is what an entry of a tree is.
type Kind byte

// The kinds. Symbolic links are files here.
const (
	File Kind = iota
	Folder
	Gitlink
)

// entry is an entry of a tree. git matches its folder and its name separately.
type entry struct {
	path []byte // without a slash at the end
	base int    // length of the folder's path with its final slash
	kind Kind
}

func newEntry(path []byte, kind Kind) entry {
	return entry{path: path, base: bytes.LastIndexByte(path, '/') + 1, kind: kind}
}

func (e *entry) folder() []byte { return e.path[:e.base] }
func (e *entry) name() []byte   { return e.path[e.base:] }

// interest is how much of a folder an item selects, as shown by one of its entries.
type interest byte

const (
	not   interest = iota
	one            // the entry
	whole          // everything in the same folder
)

// selects returns what the item selects of an entry. A folder is selected if something in it may
// be.
//
// A path selects everything below it, the entry that it names, and the folders on the way there. A
// glob also selects what it matches: if the glob spells out the entry's folder, its rest is matched
// against the name, else all of it against the whole path.
func (i *item) selects(e *entry) interest {
	skip := 0
	if e.base < len(i.match) && i.equal(e.folder(), i.match[:e.base]) {
		skip = e.base
	}
	writtenOut := skip == e.base
	switch {
	case i.covers(e.folder()):
		return whole
	case writtenOut && i.names(e):
		return one
	case !i.isGlob() || !i.canReach(e.folder()):
		return not
	case e.kind == Folder || i.globMatches(e.path, skip):
		return one
	}
	return not
}

func (i *item) isGlob() bool { return i.literal < len(i.match) }

// covers reports whether the item is the folder, or one of its parents. folder is a path with its
// final slash; "" is the root.
func (i *item) covers(folder []byte) bool {
	n := len(i.match)
	if n > len(folder) || !i.equal(folder[:n], i.match) {
		return false
	}
	return n == 0 || i.match[n-1] == '/' || n < len(folder) && folder[n] == '/'
}

// names reports whether the item, which begins with the folder of the entry, continues with the
// entry's name, and ends in nothing that the entry cannot have.
func (i *item) names(e *entry) bool {
	rest := i.match[e.base:]
	if len(e.name()) > len(rest) || !i.equal(e.name(), rest[:len(e.name())]) {
		return false
	}
	switch below := rest[len(e.name()):]; below {
	case "":
		return true
	case "/":
		return e.kind != File
	default:
		return below[0] == '/' && e.kind == Folder
	}
}

// canReach reports whether a glob can match something in the folder, by its literal prefix.
func (i *item) canReach(folder []byte) bool {
	n := min(len(folder), i.literal)
	return i.equal(folder[:n], i.match[:n])
}

// globMatches matches a path against the glob, both without their first skip bytes, which are
// equal. Like git, it searches for a glob's only asterisk at the first remaining byte, even if that
// asterisk was skipped.
func (i *item) globMatches(path []byte, skip int) bool {
	literal := max(i.literal, skip)
	if len(path) < literal || !i.equal(path[skip:literal], i.match[skip:literal]) {
		return false
	}
	pattern, text := i.match[literal:], path[literal:]
	if i.oneStar {
		end := pattern[1:]
		return len(text) >= len(end) && i.equal(text[len(text)-len(end):], end)
	}
	return wildmatch.Match(pattern, text, i.flags())
}

func (i *item) flags() (flags wildmatch.Flags) {
	if i.magic&glob != 0 {
		flags |= wildmatch.PathName
	}
	if i.magic&icase != 0 {
		flags |= wildmatch.CaseFold
	}
	return flags
}

// equal compares strings, ignoring case if the item requests that.
func (i *item) equal(text []byte, pattern string) bool {
	if i.magic&icase == 0 {
		return string(text) == pattern
	}
	if len(text) != len(pattern) {
		return false
	}
	for j, c := range text {
		if wildmatch.Lower(c) != wildmatch.Lower(pattern[j]) {
			return false
		}
	}
	return true
}

// selectsFolder reports whether the item is the folder or one of its parents, or a glob that
// matches the folder's path.
func (i *item) selectsFolder(path []byte) bool {
	folder := append(bytes.Clone(path), '/')
	return i.covers(folder) || i.isGlob() && i.globMatches(path, 0)
}
