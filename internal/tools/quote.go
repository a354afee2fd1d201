package tools

import (
	"strings"

	"github.com/repomcp/repomcp/internal/cquote"
	"github.com/repomcp/repomcp/internal/tools/excerpt"
)

const (
	// maxLineBytes is how much of a subject or of a person's name is shown: more
	// than anybody means to write in one line.
	maxLineBytes = 1000
	// maxEchoBytes is how much of an argument an error repeats.
	maxEchoBytes = 200
)

// quote makes a name safe to show in a line, see [cquote.Name].
func quote(name string) string { return cquote.Name(name) }

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
	return cquote.Clean(text)
}

// clip shortens an argument that is repeated in an error.
func clip(argument string) string {
	if len(argument) <= maxEchoBytes {
		return argument
	}
	return strings.ToValidUTF8(argument[:maxEchoBytes], "") + "…"
}
