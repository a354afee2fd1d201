package definition

import (
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/search/language"
)

// The languages of the table have the names of github-linguist, each once, and expressions that compile.
func TestPatterns(t *testing.T) {
	var seen []string
	for _, row := range patterns {
		for _, name := range row.languages {
			set, err := language.Parse(name)
			if err != nil || !slices.Equal(set.Names(), []string{name}) || slices.Contains(seen, name) {
				t.Errorf("%s: %v, %v", name, set.Names(), err)
			}
			seen = append(seen, name)
			for _, e := range finders()[name].expressions() {
				if e.NumSubexp() == 0 || e.MatchString("") {
					t.Errorf("%s: %s has no group for the name, or matches nothing", name, e)
				}
			}
		}
	}
	if len(seen) < 70 {
		t.Errorf("only %d languages", len(seen))
	}
}
