package definitions

import "testing"

// TestPatterns holds that each language has one row, and that each expression has a group for the name.
func TestPatterns(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, row := range patterns {
		for _, name := range row.languages {
			if seen[name] {
				t.Errorf("%s has two rows", name)
			}
			seen[name] = true
			for _, e := range namers()[name].expressions() {
				if e.NumSubexp() == 0 || e.MatchString("") {
					t.Errorf("%s: %s has no group for the name, or matches nothing", name, e)
				}
			}
		}
	}
}
