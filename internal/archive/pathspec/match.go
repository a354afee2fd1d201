package pathspec

import (
	"bytes"

	"github.com/repomcp/repomcp/internal/archive/wildmatch"
)

// Kind is what an entry of a tree is.
type Kind byte

// The kinds. Symbolic links are files here.
const (
	File Kind = iota
	Folder
	Gitlink
)

// entry is one of a tree. git looks at the folder that it is in and at its
// name by themselves.
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

// interest is enum interesting of tree-walk.h, of which the value for "nothing
// that follows" is left out: it is a hint only.
type interest byte

const (
	not   interest = iota
	one            // the entry
	whole          // all that is in the same folder
)

// interesting is what one item says of an entry: the body of the loop in
// do_match of tree-walk.c. A folder is interesting when something in it may be.
func (i *item) interesting(e *entry) interest {
	if e.base >= len(i.match) {
		if i.holds(e.folder()) {
			return whole
		}
		return i.wild(e)
	}
	if !i.equal(e.folder(), i.match[:e.base]) {
		return i.wild(e)
	}
	rest := i.match[e.base:]
	switch {
	case i.reaches(e, rest):
		return one
	case i.literal == len(i.match):
		return not
	case e.kind == Folder, i.fnmatch(rest, e.name(), i.literal-e.base):
		return one
	}
	return not
}

// wild compares the whole path with a glob: what follows match_wildcards in
// do_match.
func (i *item) wild(e *entry) interest {
	if i.literal == len(i.match) || !i.begins(e.folder()) {
		return not
	}
	if e.kind == Folder || i.fnmatch(i.match, e.path, i.literal) {
		return one
	}
	return not
}

// holds reports whether the folder is below the item's path: match_dir_prefix.
func (i *item) holds(folder []byte) bool {
	n := len(i.match)
	if !i.equal(folder[:n], i.match) {
		return false
	}
	return n == 0 || i.match[n-1] == '/' || n < len(folder) && folder[n] == '/'
}

// begins reports whether the folder can have what the glob matches, by what
// comes before its first sign: match_wildcard_base.
func (i *item) begins(folder []byte) bool {
	n := min(len(folder), i.literal)
	return i.equal(folder[:n], i.match[:n])
}

// reaches reports whether rest, the item without the folder of the entry, is
// the entry's name or leads through it: match_entry.
func (i *item) reaches(e *entry, rest string) bool {
	name := e.name()
	n := len(name)
	if n > len(rest) || !i.equal(name, rest[:n]) {
		return false
	}
	if n == len(rest) {
		return true
	}
	return rest[n] == '/' && (e.kind == Folder || e.kind == Gitlink && n+1 == len(rest))
}

// fnmatch compares text with a glob of which prefix bytes have no sign:
// git_fnmatch of dir.c. As there, the only asterisk of a glob is taken to be at
// prefix, also where the caller has cut it off.
func (i *item) fnmatch(pattern string, text []byte, prefix int) bool {
	if prefix > 0 {
		if len(text) < prefix || !i.equal(text[:prefix], pattern[:prefix]) {
			return false
		}
		pattern, text = pattern[prefix:], text[prefix:]
	}
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

// equal compares, in any case if the item says so.
func (i *item) equal(text []byte, pattern string) bool {
	if i.magic&icase == 0 {
		return string(text) == pattern
	}
	if len(text) != len(pattern) {
		return false
	}
	for j, c := range text {
		if lower(c) != lower(pattern[j]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// matchesFolder is what match_pathspec of dir.c says of a folder: that the item
// is its path or a folder above it, or a glob that it matches as a whole.
func (i *item) matchesFolder(path []byte) bool {
	n := len(i.match)
	switch {
	case n == 0:
		return true
	case n <= len(path) && i.equal(path[:n], i.match):
		if n == len(path) || i.match[n-1] == '/' || path[n] == '/' {
			return true
		}
	case i.match[n-1] == '/' && n-1 == len(path) && i.equal(path, i.match[:n-1]):
		return true
	}
	return i.literal < n && i.fnmatch(i.match, path, i.literal)
}
