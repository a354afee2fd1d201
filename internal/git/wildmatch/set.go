package wildmatch

import "strings"

// set reports whether c is in the set at the start of the pattern, and returns the set's length. A
// malformed set is empty. c is lower case if fold is set.
func set(pattern string, c byte, fold bool) (length int, in bool) {
	s := scan{rest: pattern[1:], c: c, fold: fold}
	negated := s.rest != "" && (s.rest[0] == '!' || s.rest[0] == '^')
	if negated {
		s.rest = s.rest[1:]
	}
	for first := true; first || s.rest == "" || s.rest[0] != ']'; first = false {
		if !s.member() {
			return 0, false
		}
	}
	return len(pattern) - len(s.rest) + 1, s.in != negated
}

// scan is the state of parsing a set.
type scan struct {
	rest string // of the pattern
	c    byte
	fold bool
	in   bool // c is one of the members so far

	from byte // the last member, a possible start of a range
	open bool
}

// member parses one member of the set. It returns false at the end of the pattern or at an unknown
// class.
func (s *scan) member() bool {
	if s.rest == "" {
		return false
	}
	switch c := s.rest[0]; {
	case c == '\\':
		return s.escaped()
	case c == '-' && s.open && len(s.rest) > 1 && s.rest[1] != ']':
		return s.upTo()
	case c == '[' && len(s.rest) > 1 && s.rest[1] == ':':
		return s.class()
	default:
		s.single(c)
		s.rest = s.rest[1:]
		return true
	}
}

func (s *scan) single(c byte) {
	s.in = s.in || c == s.c
	s.from, s.open = c, true
}

func (s *scan) escaped() bool {
	if len(s.rest) < 2 {
		return false
	}
	s.single(s.rest[1])
	s.rest = s.rest[2:]
	return true
}

// upTo parses the end of a range; its start was parsed as a member.
func (s *scan) upTo() bool {
	s.rest = s.rest[1:]
	if s.rest[0] == '\\' {
		s.rest = s.rest[1:]
	}
	if s.rest == "" {
		return false
	}
	to := s.rest[0]
	s.rest = s.rest[1:]
	s.in = s.in || s.from <= s.c && s.c <= to
	if s.fold && isLower(s.c) {
		upper := s.c - 'a' + 'A'
		s.in = s.in || s.from <= upper && upper <= to
	}
	s.open = false
	return true
}

// class parses "[:name:]". An incomplete one is the member "[".
func (s *scan) class() bool {
	name := s.rest[2:]
	end := strings.IndexByte(name, ']')
	if end < 0 {
		return false
	}
	if end == 0 || name[end-1] != ':' {
		s.single('[')
		s.rest = s.rest[1:]
		return true
	}
	s.rest = name[end+1:]
	s.open = false
	class, known := classes[name[:end-1]]
	if !known {
		return false
	}
	s.in = s.in || class(s.c) || s.fold && name[:end-1] == "upper" && isLower(s.c)
	return true
}

// classes are the POSIX classes in ASCII, except that in git neither a vertical tab nor a form feed
// is a space.
var classes = map[string]func(byte) bool{
	"alnum":  func(c byte) bool { return isLower(c) || isUpper(c) || isDigit(c) },
	"alpha":  func(c byte) bool { return isLower(c) || isUpper(c) },
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c byte) bool { return c < ' ' || c == 0x7f },
	"digit":  isDigit,
	"graph":  isGraph,
	"lower":  isLower,
	"print":  func(c byte) bool { return isGraph(c) || c == ' ' },
	"punct":  func(c byte) bool { return isGraph(c) && !isLower(c) && !isUpper(c) && !isDigit(c) },
	"space":  func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' },
	"upper":  isUpper,
	"xdigit": func(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' },
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isGraph(c byte) bool { return ' ' < c && c < 0x7f }
