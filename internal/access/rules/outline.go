package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/wildmatch"
)

// Principals returns the ids in the rules, sorted.
func (r *Rules) Principals() []string {
	ids := make(set)
	for _, rule := range r.Value().rules {
		maps.Copy(ids, rule.principals)
	}
	return slices.Sorted(maps.Keys(ids))
}

// Asks reports whether a rule requires an identity.
func (r *Rules) Asks() bool {
	return slices.ContainsFunc(r.Value().rules, func(rule rule) bool { return !rule.anybody })
}

// Idle returns the patterns that match none of the names, which are sorted. It lists each pattern
// once, in the order of the rules.
func (r *Rules) Idle(names []string) (idle []string) {
	seen := make(set)
	for _, rule := range r.Value().rules {
		for _, pattern := range rule.repositories {
			if !seen[pattern] && !fitsOne(pattern, names) {
				idle = append(idle, pattern)
			}
			seen[pattern] = true
		}
	}
	return idle
}

// fitsOne matches a pattern against the names with its literal prefix.
func fitsOne(pattern string, names []string) bool {
	begin := pattern[:wildmatch.Literal(pattern)]
	first, _ := slices.BinarySearch(names, begin)
	for _, name := range names[first:] {
		if !strings.HasPrefix(name, begin) {
			return false
		}
		if wildmatch.Match(pattern, []byte(name), wildmatch.PathName) {
			return true
		}
	}
	return false
}
