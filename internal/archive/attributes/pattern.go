package attributes

import (
	"strings"

	"github.com/repomcp/repomcp/internal/git/wildmatch"
)

// pattern is the pattern of a rule, in the syntax of gitignore(5).
type pattern struct {
	text    string // without the slashes at its ends
	literal int    // length of the part before the first special byte
	kind    kind
	folder  bool // matches only folders and gitlinks
}

// kind is the method of matching.
type kind byte

const (
	basename kind = iota // in any folder
	suffix               // "*.c": in any folder, without special bytes after the asterisk
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

// subject is a path to match.
type subject struct {
	path   []byte // without a slash at its end
	base   int    // offset of its last component
	folder bool
}

// match reports whether the pattern of a rule matches; origin is the length of the path of the
// rule's folder with its final slash.
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
