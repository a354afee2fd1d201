// Package glob matches paths against patterns as agents write them: git's wildmatch with braces.
package glob

import (
	"errors"
	"path"
	"strings"

	"github.com/repomcp/repomcp/internal/git/wildmatch"
)

const (
	// Signs are the characters that make a string a pattern.
	Signs = "*?[{"
	// MaxAlternatives bounds the expansion of a pattern's braces.
	MaxAlternatives = 64
)

var (
	// ErrMalformed means that a pattern matches nothing: it has an unclosed set, or ends with a
	// backslash.
	ErrMalformed = errors.New("the pattern is malformed")
	// ErrTooMany means that braces expand to more than [MaxAlternatives] patterns.
	ErrTooMany = errors.New("the braces of the pattern stand for too many patterns")
)

// Glob is a pattern of names or paths.
type Glob struct {
	alternatives []string
	flags        wildmatch.Flags
	nameOnly     bool
}

// Path parses a pattern of paths. As in .gitignore and most tools' globs, a pattern without a slash
// is compared with the file name only. The error is [ErrMalformed] or [ErrTooMany].
func Path(pattern string, fold bool) (Glob, error) {
	nameOnly := !strings.Contains(pattern, "/")
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	if wildmatch.Malformed(pattern) {
		return Glob{}, ErrMalformed
	}
	g, err := Name(pattern)
	g.nameOnly, g.flags = nameOnly, wildmatch.PathName
	if fold {
		g.flags |= wildmatch.CaseFold
	}
	return g, err
}

// Name parses a pattern in which * matches slashes as well. The error is [ErrTooMany].
func Name(pattern string) (Glob, error) {
	alternatives, ok := expandBraces([]string{pattern})
	if !ok {
		return Glob{}, ErrTooMany
	}
	return Glob{alternatives: alternatives}, nil
}

// Match compares the pattern with the whole path, or with its last part.
func (g Glob) Match(file string) bool {
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

// expandBraces expands {a,b}, starting with the first pair of braces in each pattern. Braces
// without a comma or a partner are literal, as in shells.
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
		if len(expanded)+len(patterns) > MaxAlternatives {
			return nil, false
		}
	}
	return expanded, true
}

// splitBraces finds the first braces with a comma. Inner braces are left for later; a backslash
// makes the next character literal.
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

// choicesFrom reads up to the closing brace, and returns the choices and the position after it;
// nothing without a closing brace.
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
