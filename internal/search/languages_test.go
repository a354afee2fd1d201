package search_test

import (
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/search/language"
)

// TestNamersHaveTheNamesOfLanguages holds that a search finds the namers of languages by github-linguist's names.
func TestNamersHaveTheNamesOfLanguages(t *testing.T) {
	t.Parallel()
	names := definitions.NamedLanguages()
	for _, name := range names {
		if set, err := language.Parse(name); err != nil || !slices.Equal(set.Names(), []string{name}) {
			t.Errorf("%s: %v, %v", name, set.Names(), err)
		}
	}
	if len(names) < 70 {
		t.Errorf("only %d languages", len(names))
	}
}
