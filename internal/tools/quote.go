package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/cquote"
	"github.com/repomcp/repomcp/internal/printable"
	"github.com/repomcp/repomcp/internal/tools/excerpt"
)

const (
	// maxNameBytes is how much of a name is shown: the longest path of Linux. A
	// tree can hold names of megabytes.
	maxNameBytes = 4096
	// maxLineBytes is how much of a subject or of a person's name is shown: more
	// than anybody means to write in one line.
	maxLineBytes = 1000
	// maxEchoBytes is how much of an argument an error repeats.
	maxEchoBytes = 200
)

// quote makes a name safe to show in a line: of a path, a ref or whatever else a
// repository calls something. Most names are left as they are. One with a quote, a
// backslash, a blank at an end, bytes that are no UTF-8, or characters that are
// not seen or change how others are seen is put in double quotes, with C's
// escapes and bytes in octal, as git quotes paths (core.quotePath of
// git-config(1)). So "\342\200\256" is U+202E, which would turn the rest of the line
// around.
//
// [unquote] returns the exact name again, unless it takes more than 4096 bytes in
// this form: then the rest is left out, and its length is shown.
func quote(name string) string {
	shown, left := name[:min(len(name), maxNameBytes)], ""
	if !isPlain(shown) {
		shown, left = escape(shown)
	}
	if left != "" || len(name) > maxNameBytes {
		shown += fmt.Sprintf("… (%d bytes)", len(name))
	}
	return shown
}

// escape puts a name in quotes, and returns what of it had no room.
func escape(name string) (quoted, left string) {
	var b strings.Builder
	b.WriteByte('"')
	for len(name) > 0 && b.Len() < maxNameBytes {
		r, size := utf8.DecodeRuneInString(name)
		if r == '"' || r == '\\' || r == utf8.RuneError && size == 1 || printable.IsUnseen(r) {
			for i := range size {
				b.Write(cquote.AppendByte(nil, name[i]))
			}
		} else {
			b.WriteRune(r)
		}
		name = name[size:]
	}
	b.WriteByte('"')
	return b.String(), name
}

func isPlain(name string) bool {
	if name == "" || name[0] == ' ' || name[len(name)-1] == ' ' || !utf8.ValidString(name) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r == '"' || r == '\\' || printable.IsUnseen(r) })
}

// unquote undoes [quote]. What does not begin with a double quote is a name as
// it is; what begins with one and was not made by quote is refused.
func unquote(s string) (name string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return s, true
	}
	content, rest, ok := cquote.Cut([]byte(s))
	return string(content), ok && len(rest) == 0 && len(content) > 0
}

// line makes a text that is not a name, such as a commit's subject, safe to show
// in a line, with a space for each tab.
func line(text string) string { return untabbed(clean(text)) }

func untabbed(text string) string { return strings.ReplaceAll(text, "\t", " ") }

// clean makes such a text safe to show as data, with its tabs. It cannot be undone:
// what else quote escapes is shown as U+FFFD.
func clean(text string) string {
	if len(text) > maxLineBytes {
		text = text[:excerpt.WholeRunes([]byte(text[:maxLineBytes]))] + "…"
	}
	return printable.Text(text)
}

// clip shortens an argument that is repeated in an error.
func clip(argument string) string {
	if len(argument) <= maxEchoBytes {
		return argument
	}
	return strings.ToValidUTF8(argument[:maxEchoBytes], "") + "…"
}
