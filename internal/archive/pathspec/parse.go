package pathspec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/git/wildmatch"
)

// ErrSyntax refuses a pathspec. The error quotes it, and names the alternatives.
var ErrSyntax = errors.New("not a pathspec")

// magic are the flags before the path.
type magic uint8

const (
	top magic = 1 << iota
	literal
	glob
	icase
	exclude
)

var longMagic = map[string]magic{"top": top, "literal": literal, "glob": glob, "icase": icase, "exclude": exclude}

var shortMagic = map[byte]magic{'/': top, '!': exclude, '^': exclude}

// reserved are the signs that git reserves for future short magic: all of ASCII except letters,
// digits, signs of a glob or an expression, and brackets ("pathspec" in gitglossary(7)).
const reserved = "!\"#%&',-/:;<=>@_`~"

const allowedMagic = "allowed are top, literal, glob, icase and exclude"

// item is a parsed pathspec.
type item struct {
	match   string
	magic   magic
	literal int  // length of match before the first glob sign
	oneStar bool // that sign is an asterisk, and the only sign
}

// everything is the item of a list that otherwise only excludes.
var everything = item{}

// parse parses a pathspec: its magic, and the path or glob after it.
func parse(text string) (item, error) {
	fail := func(reason string) (item, error) {
		return item{}, fmt.Errorf("%q is %w: %s", text, ErrSyntax, reason)
	}
	switch {
	case text == "":
		return fail("it is empty; \".\" stands for everything")
	case strings.IndexByte(text, 0) >= 0:
		return fail("it has a NUL byte")
	}
	m, path, reason := parseMagic(text)
	switch {
	case reason != "":
		return fail(reason)
	case m&literal != 0 && m&glob != 0:
		return fail("literal and glob exclude each other")
	}
	if m&top == 0 {
		var inside bool
		if path, inside = normalise(path); !inside {
			return fail("it leaves the tree; allowed are paths relative to its root")
		}
	}
	return newItem(path, m), nil
}

func newItem(match string, m magic) item {
	i := item{match: match, magic: m, literal: len(match)}
	if m&literal == 0 {
		i.literal = wildmatch.Literal(match)
	}
	if rest := match[i.literal:]; m&glob == 0 && rest != "" {
		i.oneStar = rest[0] == '*' && wildmatch.Literal(rest[1:]) == len(rest)-1
	}
	return i
}

// parseMagic splits off the magic. A non-empty reason is an error.
func parseMagic(text string) (m magic, path, reason string) {
	switch {
	case text[0] != ':':
		return 0, text, ""
	case strings.HasPrefix(text, ":("):
		return parseLong(text[2:])
	default:
		return parseShort(text[1:])
	}
}

func parseLong(rest string) (m magic, path, reason string) {
	for rest != "" && rest[0] != ')' {
		end := wordEnd(rest)
		word := rest[:end]
		rest = strings.TrimPrefix(rest[end:], ",")
		if word == "" {
			continue
		}
		bit, known := longMagic[word]
		switch {
		case known:
			m |= bit
		case strings.HasPrefix(word, "attr:"):
			return 0, "", "selection by attributes is not offered; " + allowedMagic
		default:
			return 0, "", fmt.Sprintf("%q is not known; %s", word, allowedMagic)
		}
	}
	if rest == "" {
		return 0, "", `the ")" is missing`
	}
	return m, rest[1:], ""
}

// wordEnd returns the position of the next "," or ")" without a backslash.
func wordEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case ',', ')':
			return i
		}
	}
	return len(s)
}

// parseShort parses "!/path", where a colon can end the signs.
func parseShort(rest string) (m magic, path, reason string) {
	for rest != "" && rest[0] != ':' {
		bit, known := shortMagic[rest[0]]
		if !known {
			if strings.IndexByte(reserved, rest[0]) >= 0 {
				return 0, "", fmt.Sprintf("%q is not known after the colon; allowed are /, ! and ^", rest[:1])
			}
			break
		}
		m |= bit
		rest = rest[1:]
	}
	return m, strings.TrimPrefix(rest, ":"), ""
}

// normalise resolves ".", ".." and empty components, and reports whether the path stays in the
// tree. It keeps a final slash.
func normalise(path string) (normal string, inside bool) {
	if strings.HasPrefix(path, "/") {
		return "", false
	}
	var kept []string
	components := strings.Split(path, "/")
	last := len(components) - 1
	final := components[last]
	for _, c := range components {
		switch c {
		case "", ".":
		case "..":
			if len(kept) == 0 {
				return "", false
			}
			kept = kept[:len(kept)-1]
		default:
			kept = append(kept, c)
		}
	}
	normal = strings.Join(kept, "/")
	if normal != "" && (final == "" || final == "." || final == "..") {
		normal += "/"
	}
	return normal, true
}
