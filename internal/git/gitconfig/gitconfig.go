// Package gitconfig parses files in the syntax of git-config(1), such as a repository's
// configuration and .gitmodules.
package gitconfig

import (
	"fmt"
	"strings"
)

// Setting is a variable of a git configuration file, named as in `git config --list`: section and
// key in lower case, with an unchanged subsection between them, such as core.bare or
// submodule.libs/A.path.
type Setting struct {
	Name  string
	Value string // "true" for a key without "="
}

// Parse returns the settings of a file in order. It fails where git fails and uses nothing of the
// file. Included files are not read. (The decoder of go-git 5.19 supports neither a variable on the
// line of its header nor a continued line, and refuses bytes that are not UTF-8.)
func Parse(text string) ([]Setting, error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	p := parser{rest: text}
	for p.blanks(blankBytes + "\n"); p.rest != ""; p.blanks(blankBytes + "\n") {
		if !p.line() {
			line := 1 + strings.Count(text[:len(text)-len(p.rest)], "\n")
			return nil, fmt.Errorf("line %d is malformed", line)
		}
	}
	return p.settings, nil
}

const (
	blankBytes = " \t\r"
	letters    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	keyBytes   = letters + "0123456789-"
)

// escapes are the characters that may follow a backslash in a value.
var escapes = map[byte]byte{'"': '"', '\\': '\\', 'n': '\n', 't': '\t', 'b': '\b'}

type parser struct {
	rest     string // unread part
	section  string // with its subsection and a final dot
	settings []Setting
}

// line parses a comment, the header of a section, or a variable.
func (p *parser) line() bool {
	switch p.rest[0] {
	case '#', ';':
		_, p.rest, _ = strings.Cut(p.rest, "\n")
		return true
	case '[':
		return p.header()
	default:
		return p.variable()
	}
}

// blanks skips characters and reports whether there were any.
func (p *parser) blanks(set string) bool {
	before := len(p.rest)
	p.rest = strings.TrimLeft(p.rest, set)
	return len(p.rest) < before
}

// word consumes characters of a set.
func (p *parser) word(set string) string {
	rest := strings.TrimLeft(p.rest, set)
	word := p.rest[:len(p.rest)-len(rest)]
	p.rest = rest
	return strings.ToLower(word)
}

// token consumes a required character.
func (p *parser) token(c string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, c)
	return ok
}

// header parses [section] or [section "subsection"].
func (p *parser) header() bool {
	p.rest = p.rest[1:]
	p.section = p.word(keyBytes+".") + "."
	if p.blanks(blankBytes) {
		if !p.token(`"`) {
			return false
		}
		subsection, ok := p.subsection()
		if !ok {
			return false
		}
		p.section += subsection + "."
	}
	return p.section != "." && p.token("]")
}

// subsection parses up to the closing quote. It drops a backslash before any character.
func (p *parser) subsection() (string, bool) {
	var name strings.Builder
	for i := 0; i < len(p.rest) && p.rest[i] != '\n'; i++ {
		if p.rest[i] == '"' {
			p.rest = p.rest[i+1:]
			return name.String(), true
		}
		if p.rest[i] == '\\' {
			if i++; i == len(p.rest) || p.rest[i] == '\n' {
				break
			}
		}
		name.WriteByte(p.rest[i])
	}
	return "", false
}

// variable parses "key" or "key = value" with the rest of the line.
func (p *parser) variable() bool {
	if strings.IndexByte(letters, p.rest[0]) < 0 {
		return false
	}
	name, value := p.section+p.word(keyBytes), "true"
	p.blanks(" \t")
	if p.rest != "" && p.rest[0] != '\n' {
		var ok bool
		if !p.token("=") {
			return false
		}
		if value, ok = p.value(); !ok {
			return false
		}
	}
	// In git both are C strings, which end at a NUL.
	name, _, _ = strings.Cut(name, "\x00")
	value, _, _ = strings.Cut(value, "\x00")
	p.settings = append(p.settings, Setting{name, value})
	return true
}

// value parses to the end of the line and its continuations. It removes comments, quotes, and
// unquoted blanks at the ends.
func (p *parser) value() (string, bool) {
	var value strings.Builder
	p.blanks(blankBytes)
	end, quoted := 0, false // end of the last non-blank
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '\n':
			p.rest = p.rest[i:]
			return value.String()[:end], !quoted
		case !quoted && (c == '#' || c == ';'):
			_, p.rest, _ = strings.Cut(p.rest[i:], "\n")
			return value.String()[:end], true
		case !quoted && strings.IndexByte(blankBytes, c) >= 0:
			if end > 0 {
				value.WriteByte(c)
			}
			continue
		case c == '"':
			quoted = !quoted
			end = value.Len()
			continue
		case c == '\\':
			if i++; i == len(p.rest) || p.rest[i] == '\n' {
				break // blanks before a continued line are kept
			}
			if c = escapes[p.rest[i]]; c == 0 {
				return "", false
			}
			value.WriteByte(c)
		default:
			value.WriteByte(c)
		}
		end = value.Len()
	}
	p.rest = ""
	return value.String()[:end], !quoted
}
