package spelling

import (
	"strings"

	"github.com/repomcp/repomcp/internal/git/quoting"
)

// maxEchoBytes bounds the part of an argument that an error repeats.
const maxEchoBytes = 200

// Clip returns the beginning of an argument, for an error that repeats it.
func Clip(argument string) string { return quoting.Clip(argument, maxEchoBytes) }

// DidYouMean returns a sentence with suggestions and a leading space, "" without suggestions.
func DidYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quoting.Name(Clip(name))
	}
	last := len(quoted) - 1
	if last > 0 {
		quoted = []string{strings.Join(quoted[:last], ", "), quoted[last]}
	}
	return " Did you mean " + strings.Join(quoted, " or ") + "?"
}
