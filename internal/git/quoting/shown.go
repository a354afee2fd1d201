package quoting

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxShown bounds the shown part of a string: Linux's longest path. A tree can contain names of
// megabytes, and a server can send messages of megabytes.
const MaxShown = 4096

// MaxLines bounds the shown lines of a message: fewer than a terminal has.
const MaxLines = 20

// Name makes a name safe to show in a line: that of a path, a ref or anything else that a committer
// or a server chose. Most names stay unchanged. A name is put in double quotes, with C escapes and
// octal bytes, if it has a quote, a backslash, a blank at an end, invalid UTF-8, or characters that
// are invisible or affect the display of others. git quotes paths the same way (core.quotePath of
// git-config(1)). For example "\342\200\256" is U+202E, which would reverse the rest of the line.
//
// [Cut] returns the exact name again, unless it takes more than [MaxShown] bytes in this form: then
// the rest is replaced by the length.
func Name(name string) string {
	shown, left := name[:min(len(name), MaxShown)], ""
	if !isPlain(shown) {
		shown, left = escape(shown, func(r rune) bool { return r == '"' || r == '\\' || Unseen(r) })
		shown = `"` + shown + `"`
	}
	return withLength(shown, name, left != "")
}

// Text makes a string of several words safe to show, such as a server's error message. It escapes
// as Name does, except quotes and backslashes, and adds no quotes. Line breaks stay; later lines
// are indented, so that none can pass for a line of the calling program.
func Text(text string) string {
	shown, left := escape(text[:min(len(text), MaxShown)], func(r rune) bool {
		return Unseen(r) && r != '\n' && r != '\t'
	})
	lines := strings.SplitN(shown, "\n", MaxLines+1)
	cut := len(lines) > MaxLines
	return withLength(strings.Join(lines[:min(len(lines), MaxLines)], "\n    "), text, cut || left != "")
}

// Clean returns a text of a page or a result with U+FFFD for invalid UTF-8 and for each unseen
// character except tabs.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if Unseen(r) && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// withLength appends the length of a string that was cut.
func withLength(shown, whole string, cut bool) string {
	if cut || len(whole) > MaxShown {
		shown += fmt.Sprintf("… (%d bytes)", len(whole))
	}
	return shown
}

// JSON escapes unseen characters in a JSON document, without changing its meaning. Only strings
// contain such characters.
func JSON(text []byte) []byte {
	var b bytes.Buffer
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r < ' ' || !Unseen(r):
			b.Write(text[:size])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b.Bytes()
}

// escape escapes hidden characters and invalid UTF-8. It returns the part that did not fit.
func escape(text string, hidden func(rune) bool) (escaped, left string) {
	var b strings.Builder
	for len(text) > 0 && b.Len() < MaxShown {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 || hidden(r) {
			for i := range size {
				b.Write(AppendByte(nil, text[i]))
			}
		} else {
			b.WriteRune(r)
		}
		text = text[size:]
	}
	return b.String(), text
}

func isPlain(name string) bool {
	if name == "" || name[0] == ' ' || name[len(name)-1] == ' ' || !utf8.ValidString(name) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r == '"' || r == '\\' || Unseen(r) })
}

// ignorable are invisible characters that are neither control nor format characters: fillers,
// variation selectors and the like.
var ignorable = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

const brailleBlank = '\u2800'

// Unseen reports whether a character of a name must be escaped: control, format (including
// bidirectional and zero-width ones), private and unassigned characters, blanks except the space,
// and characters without a glyph.
func Unseen(r rune) bool {
	return !unicode.IsPrint(r) || unicode.IsOneOf(ignorable, r) || r == brailleBlank
}
