package search

import (
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

// symbols are names whose definitions are searched for.
type symbols struct {
	names []string
	fold  bool
}

// newSymbols returns nil if there are no names. Case matters for them as it does for the terms.
func newSymbols(names []string, terms []pattern.Term, c pattern.Case) *symbols {
	if len(names) == 0 {
		return nil
	}
	return &symbols{names, c.Folds(terms)}
}

// lineFilter reports whether a line that matches the pattern is found. The nil filter takes all.
type lineFilter func(number int, line []byte) bool

// filter returns the filter for the lines of a file that define one of the names. It reports false if there are no
// patterns for definitions in the language.
func (s *symbols) filter(namer *definitions.Namer, content []byte) (lineFilter, bool) {
	if s == nil {
		return nil, true
	}
	if namer == nil {
		return nil, false
	}
	defined := namer.Names(content)
	return func(number int, line []byte) bool {
		return slices.ContainsFunc(defined(number, line), s.has)
	}, true
}

func (s *symbols) has(name string) bool {
	return slices.ContainsFunc(s.names, func(wanted string) bool {
		return name == wanted || s.fold && strings.EqualFold(name, wanted)
	})
}
