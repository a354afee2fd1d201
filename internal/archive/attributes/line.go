package attributes

import (
	"bytes"
	"strings"

	"github.com/repomcp/repomcp/internal/git/quoting"
)

const (
	// MaxFile is the size from which git ignores a file of attributes.
	MaxFile = 100 << 20
	// maxLine is the length from which git ignores a line.
	maxLine = 2048
)

const (
	macroPrefix = "[attr]"
	byteOrder   = "\xef\xbb\xbf"
)

// source is a file of attributes. git reads those of a tree and info/attributes differently: a NUL
// has different effects, and only the latter may begin with a byte order mark.
type source struct {
	content []byte
	info    bool
	macros  bool // may define macros
}

// treeSource returns the .gitattributes of a folder.
func treeSource(content []byte, root bool) source {
	if len(content) >= MaxFile {
		content = nil
	}
	return source{content: untilNUL(content), macros: root}
}

// infoSource returns $GIT_DIR/info/attributes.
func infoSource(content []byte) source {
	if len(content) >= MaxFile {
		content = nil
	}
	return source{content: bytes.TrimPrefix(content, []byte(byteOrder)), info: true, macros: true}
}

// lines calls each for the well-formed lines.
func (s source) lines(each func(line)) {
	for rest := s.content; len(rest) > 0; {
		var text []byte
		var ended bool
		text, rest, ended = bytes.Cut(rest, []byte("\n"))
		if s.info {
			if ended {
				text = bytes.TrimSuffix(text, []byte("\r")) // otherwise it counts for the length
			}
			text = untilNUL(text)
		}
		if l, ok := parseLine(text, s.macros); ok {
			each(l)
		}
	}
}

// line is a rule or the definition of a macro.
type line struct {
	macro  bool
	name   []byte // of the macro, or the pattern
	states []byte // the rest of the line
}

// parseLine parses a line of gitattributes(5). An invalid name invalidates the whole line.
func parseLine(text []byte, macros bool) (line, bool) {
	start := skipBlank(text)
	if len(start) == 0 || start[0] == '#' || len(text) >= maxLine {
		return line{}, false
	}
	l := line{}
	l.name, l.states = firstWord(start)
	if bytes.HasPrefix(l.name, []byte(macroPrefix)) && len(l.name) > len(macroPrefix) {
		l.macro = true
		l.name, _ = cutBlank(skipBlank(untilNUL(l.name[len(macroPrefix):])))
		if !macros || !validName(l.name) {
			return line{}, false
		}
	} else if bytes.HasPrefix(l.name, []byte("!")) {
		return line{}, false
	}
	l.name = untilNUL(l.name) // a quoted one may contain NUL
	valid := true
	eachState(l.states, func(name []byte, _ State, _ []byte) {
		valid = valid && validName(name)
	})
	return l, valid
}

// firstWord returns the pattern, which may be quoted, and the rest.
func firstWord(text []byte) (word, rest []byte) {
	if text[0] == '"' {
		if word, rest, ok := quoting.Cut(text); ok {
			return word, rest
		}
	}
	return cutBlank(text)
}

// eachState calls each for the words after a pattern: "name", "-name", "!name" and "name=value" of
// gitattributes(5).
func eachState(text []byte, each func(name []byte, state State, value []byte)) {
	for text = skipBlank(text); len(text) > 0; text = skipBlank(text) {
		var word []byte
		word, text = cutBlank(text)
		name, value, valued := bytes.Cut(word, []byte("="))
		switch {
		case word[0] == '-':
			each(cutFirst(name), Unset, nil)
		case word[0] == '!':
			each(cutFirst(name), Unspecified, nil)
		case valued:
			each(name, Valued, value)
		default:
			each(name, Set, nil)
		}
	}
}

func cutFirst(name []byte) []byte {
	if len(name) == 0 {
		return name
	}
	return name[1:]
}

const blank = " \t\r\n"

func skipBlank(text []byte) []byte { return bytes.TrimLeft(text, blank) }

func cutBlank(text []byte) (word, rest []byte) {
	end := bytes.IndexAny(text, blank)
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}

func validName(name []byte) bool {
	if len(name) == 0 || name[0] == '-' {
		return false
	}
	for _, c := range name {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte("-._", c) < 0 {
			return false
		}
	}
	return true
}

// untilNUL returns the part of a string that C sees.
func untilNUL(text []byte) []byte {
	before, _, _ := bytes.Cut(text, []byte{0})
	return before
}
