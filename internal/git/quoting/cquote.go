// Package quoting writes and parses names in double quotes with C escapes: the form in which git
// shows unusual paths (core.quotePath of git-config(1)), and accepts them in gitattributes(5).
package quoting

import (
	"bytes"
	"strings"
)

// named are the bytes with a letter as their C escape, and letters are these letters in the same
// order.
const (
	named   = "\a\b\t\n\v\f\r\"\\"
	letters = `abtnvfr"\`
)

// plain reports whether a byte stands for itself: printable ASCII except quotes and backslashes.
func plain(c byte) bool { return ' ' <= c && c < 0x7f && c != '"' && c != '\\' }

// AppendPath appends a path as git does: unchanged if all bytes are plain, else in quotes. The
// prefix, such as "a/", is inside the quotes.
func AppendPath(b []byte, prefix, path string) []byte {
	if strings.IndexFunc(path, func(r rune) bool { return r >= 0x7f || !plain(byte(r)) }) < 0 {
		return append(append(b, prefix...), path...)
	}
	b = append(append(b, '"'), prefix...)
	for i := range len(path) {
		if c := path[i]; plain(c) {
			b = append(b, c)
		} else {
			b = AppendByte(b, c)
		}
	}
	return append(b, '"')
}

// AppendByte appends a byte as an escape: a letter, or three octal digits.
func AppendByte(b []byte, c byte) []byte {
	if i := strings.IndexByte(named, c); i >= 0 {
		return append(b, '\\', letters[i])
	}
	return append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
}

// Cut parses the quoted name at the start of a text, and returns the rest. ok is false for unclosed
// quotes or an unknown escape.
func Cut(text []byte) (name, rest []byte, ok bool) {
	text, ok = bytes.CutPrefix(text, []byte{'"'})
	for ok {
		special := bytes.IndexAny(text, `"\`)
		if special < 0 {
			return nil, nil, false
		}
		name = append(name, text[:special]...)
		closing := text[special] == '"'
		if text = text[special+1:]; closing {
			return name, text, true
		}
		var c byte
		if c, text, ok = cutEscape(text); ok {
			name = append(name, c)
		}
	}
	return nil, nil, false
}

// cutEscape parses an escape after its backslash.
func cutEscape(text []byte) (c byte, rest []byte, ok bool) {
	const digits = 3
	if len(text) == 0 {
		return 0, nil, false
	}
	if i := strings.IndexByte(letters, text[0]); i >= 0 {
		return named[i], text[1:], true
	}
	if len(text) < digits || text[0] > '3' {
		return 0, nil, false
	}
	for _, d := range text[:digits] {
		if d < '0' || d > '7' {
			return 0, nil, false
		}
		c = c<<3 | (d - '0')
	}
	return c, text[digits:], true
}
