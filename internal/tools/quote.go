package tools

import (
	"strings"

	"github.com/repomcp/repomcp/internal/git/quoting"
	"github.com/repomcp/repomcp/internal/tools/excerpt"
	"github.com/repomcp/repomcp/internal/tools/spelling"
)

const (
	// maxLineBytes bounds the shown part of a subject or of a person's name: more than people write
	// in one line.
	maxLineBytes = 1000
)

// quote makes a name safe to show in a line; see [quoting.Name].
func quote(name string) string { return quoting.Name(name) }

// unquote undoes [quote]. A name without a leading double quote is returned unchanged; a quoted
// name that quote did not make is refused.
func unquote(s string) (name string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return s, true
	}
	content, rest, ok := quoting.Cut([]byte(s))
	return string(content), ok && len(rest) == 0 && len(content) > 0
}

// line makes a string that is not a name, such as a subject, safe to show in a line. Tabs become
// spaces.
func line(text string) string { return untabbed(clean(text)) }

func untabbed(text string) string { return strings.ReplaceAll(text, "\t", " ") }

// clean makes such a string safe to show as data, and keeps its tabs. It is irreversible:
// everything else that quote escapes becomes U+FFFD.
func clean(text string) string {
	if len(text) > maxLineBytes {
		text = text[:excerpt.WholeRunes([]byte(text[:maxLineBytes]))] + "…"
	}
	return quoting.Clean(text)
}

func clip(argument string) string { return spelling.Clip(argument) }
