package attributes

import (
	"strings"

	"github.com/repomcp/repomcp/internal/git/wildmatch"
)

// A pattern says which paths a rule is for, in the syntax of gitignore(5).
type pattern struct {
	text    string // without the slashes at its ends
	literal int    // how much of it comes before the first special byte
	kind    kind
	folder  bool // only for folders and gitlinks
}

// A kind is a way to match a pattern.
type kind byte

const (
	basename kind = iota // in any folder
	suffix               // "*.c": in any folder, and nothing special after the asterisk
	pathname             // below the folder of the file
)

func newPattern(text string) pattern {
	p := pattern{}
	text, p.folder = strings.CutSuffix(text, "/")
	switch {
	case strings.Contains(text, "/"):
		p.kind = pathname
		text = strings.TrimPrefix(text, "/")
	case strings.HasPrefix(text, "*") && wildmatch.Literal(text[1:]) == len(text)-1:
		p.kind = suffix
		text = text[1:]
	}
	p.text = text
	p.literal = wildmatch.Literal(text)
	return p
}

// subject is a path that patterns are matched with.
type subject struct {
	path   []byte // without a slash at its end
	base   int    // where its last component begins
	folder bool
}

// match reports whether the pattern of a rule in a folder matches: origin is
// the length of the folder's path with its final slash.
func (p *pattern) match(s *subject, origin int) bool {
	if p.folder && !s.folder {
		return false
	}
	name := s.path[s.base:]
	var flags wildmatch.Flags
	switch p.kind {
	case suffix:
		return len(name) >= len(p.text) && string(name[len(name)-len(p.text):]) == p.text
	case pathname:
		name = s.path[origin:]
		flags = wildmatch.PathName
	}
	if len(name) < p.literal || string(name[:p.literal]) != p.text[:p.literal] {
		return false
	}
	if p.literal == len(p.text) {
		return len(name) == p.literal
	}
	return wildmatch.Match(p.text, name, flags)
}
