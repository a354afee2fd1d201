package cquote

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxShown is how many bytes of a string are shown: the longest path of Linux. A tree can
// hold names of megabytes, and a server can send messages of megabytes.
const MaxShown = 4096

// MaxLines is how many lines of a message are shown: fewer than a terminal has.
const MaxLines = 20

// Name makes a name safe to show in a line: that of a path, a ref or anything else that a
// committer or a server chose. Most names are left as they are. One with a quote, a
// backslash, a blank at an end, bytes that are no UTF-8, or characters that are
// not seen or change how others are seen is put in double quotes, with C's
// escapes and bytes in octal, as git quotes paths (core.quotePath of
// git-config(1)). So "\342\200\256" is U+202E, which would turn the rest of the line
// around.
//
// [Cut] returns the exact name again, unless it takes more than [MaxShown] bytes in
// this form: then the rest is left out, and its length is shown.
func Name(name string) string {
	shown, left := name[:min(len(name), MaxShown)], ""
	if !isPlain(shown) {
		shown, left = escape(shown, func(r rune) bool { return r == '"' || r == '\\' || Unseen(r) })
		shown = `"` + shown + `"`
	}
	return withLength(shown, name, left != "")
}

// Text makes a string of several words safe to show, such as the message of an error that a
// server sent. It escapes what Name does, but for quotes and backslashes, and puts no quotes
// around it. Lines stay lines; those after the first are indented, so that none can pass for
// one of the program that shows them.
func Text(text string) string {
	shown, left := escape(text[:min(len(text), MaxShown)], func(r rune) bool {
		return Unseen(r) && r != '\n' && r != '\t'
	})
	lines := strings.SplitN(shown, "\n", MaxLines+1)
	cut := len(lines) > MaxLines
	return withLength(strings.Join(lines[:min(len(lines), MaxLines)], "\n    "), text, cut || left != "")
}

// Clean returns a text of a page or a result with U+FFFD for bytes that are no UTF-8 and for
// each character that is unseen, but for tabs.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if Unseen(r) && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// withLength adds how long something is of which not all is shown.
func withLength(shown, whole string, cut bool) string {
	if cut || len(whole) > MaxShown {
		shown += fmt.Sprintf("… (%d bytes)", len(whole))
	}
	return shown
}

// JSON escapes what is not seen in a JSON text, which means the same after it. Only
// strings have such characters.
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

// escape writes what is hidden, and what is no UTF-8, as escapes. It returns what had no
// room.
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

// ignorable are characters that are not seen although they are no control or
// format characters: fillers, variation selectors and the like.
var ignorable = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

const brailleBlank = '\u2800'

// Unseen reports whether a character of a name must be escaped: control, format
// (bidirectional and zero-width ones among them), private and unassigned ones,
// blanks but the common one, and what is drawn as nothing.
func Unseen(r rune) bool {
	return !unicode.IsPrint(r) || unicode.IsOneOf(ignorable, r) || r == brailleBlank
}
