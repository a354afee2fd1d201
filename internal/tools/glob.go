package tools

import (
	"path"
	"strings"

	"github.com/repomcp/repomcp/internal/wildmatch"
)

const (
	globDescription = `*.go (a name in any folder), src/**/*.{ts,tsx}, [!.]*`
	globSigns       = "*?[{"

	// maxAlternatives bounds what the braces of a pattern stand for.
	maxAlternatives = 64
)

// glob is a pattern of paths: git's wildmatch with braces. Like .gitignore and
// most tools' globs, one without a slash is held against the name alone.
type glob struct {
	alternatives []string
	flags        wildmatch.Flags
	nameOnly     bool
}

func newGlob(pattern string, fold bool) (glob, error) {
	g := glob{flags: wildmatch.PathName, nameOnly: !strings.Contains(pattern, "/")}
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	if fold {
		g.flags |= wildmatch.CaseFold
	}
	if malformed(pattern) {
		return glob{}, say("The pattern %s is malformed: a set such as [abc] has no end, or a backslash nothing "+
			"after it. For the character itself write \\[ or \\\\.", quote(clip(pattern)))
	}
	var err error
	g.alternatives, err = alternativesOf(pattern)
	return g, err
}

// alternativesOf are the patterns that one with braces stands for.
func alternativesOf(pattern string) ([]string, error) {
	alternatives, ok := expandBraces([]string{pattern})
	if !ok {
		return nil, say("The braces of the pattern stand for more than %d patterns. Ask in several calls.",
			maxAlternatives)
	}
	return alternatives, nil
}

// malformed reports a pattern that matches nothing: one with a set that is not
// closed, or with a backslash at its end. A bracket that comes first in a set is
// a member of it, and one within a class such as [:alpha:] does not end it.
func malformed(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
			if i == len(pattern) {
				return true
			}
		case '[':
			size := setSize(pattern[i:])
			if size == 0 {
				return true
			}
			i += size - 1
		}
	}
	return false
}

// setSize is the length of the set that a pattern begins with; 0 if it has no end.
func setSize(pattern string) int {
	i := len("[")
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		i++
	}
	for first := i; i < len(pattern); i++ {
		switch {
		case pattern[i] == ']' && i > first:
			return i + 1
		case pattern[i] == '\\':
			i++
		case strings.HasPrefix(pattern[i:], "[:"):
			if end := strings.Index(pattern[i+len("[:"):], ":]"); end >= 0 {
				i += len("[:") + end + len(":]") - 1
			}
		}
	}
	return 0
}

func (g glob) match(file string) bool {
	if g.nameOnly {
		file = path.Base(file)
	}
	for _, pattern := range g.alternatives {
		if wildmatch.Match(pattern, []byte(file), g.flags) {
			return true
		}
	}
	return false
}

// expandBraces writes {a,b} out, the first pair of braces in each pattern first.
// Braces without a comma or a partner are letters, as in shells.
func expandBraces(patterns []string) (expanded []string, ok bool) {
	for len(patterns) > 0 {
		pattern := patterns[0]
		patterns = patterns[1:]
		before, choices, after := splitBraces(pattern)
		if choices == nil {
			expanded = append(expanded, pattern)
			continue
		}
		for _, choice := range choices {
			patterns = append(patterns, before+choice+after)
		}
		if len(expanded)+len(patterns) > maxAlternatives {
			return nil, false
		}
	}
	return expanded, true
}

// splitBraces finds the first braces with a comma. Those within are left for
// later; a backslash makes what follows it a letter.
func splitBraces(pattern string) (before string, choices []string, after string) {
	for start := 0; start < len(pattern); start++ {
		switch pattern[start] {
		case '\\':
			start++
		case '{':
			if parts, end := choicesFrom(pattern, start+1); len(parts) > 1 {
				return pattern[:start], parts, pattern[end:]
			}
		}
	}
	return pattern, nil, ""
}

// choicesFrom reads up to the brace that closes, and gives where it goes on
// after it; nothing if there is none.
func choicesFrom(pattern string, start int) (choices []string, end int) {
	depth, from := 0, start
	for i := start; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			depth++
		case ',':
			if depth == 0 {
				choices, from = append(choices, pattern[from:i]), i+1
			}
		case '}':
			if depth == 0 {
				return append(choices, pattern[from:i]), i + 1
			}
			depth--
		}
	}
	return nil, 0
}

// pathFilter is path_filter of get_repository_tree.
func pathFilter(filter string) (keep func(path string) bool, err error) {
	if !strings.ContainsAny(filter, globSigns) {
		prefix := strings.TrimPrefix(strings.TrimPrefix(filter, "./"), "/")
		return func(path string) bool { return strings.HasPrefix(path, prefix) }, nil
	}
	g, err := newGlob(filter, false)
	return g.match, err
}
