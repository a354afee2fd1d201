package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/wildmatch"
)

// Principals are the ids that rules name, sorted.
func (r *Rules) Principals() []string {
	ids := make(set)
	for _, rule := range r.Value().rules {
		maps.Copy(ids, rule.principals)
	}
	return slices.Sorted(maps.Keys(ids))
}

// Asks reports whether a rule is for some and not for anybody.
func (r *Rules) Asks() bool {
	return slices.ContainsFunc(r.Value().rules, func(rule rule) bool { return !rule.anybody })
}

// Idle are the patterns that fit none of the names, which are sorted. Each is there once,
// in the order of the rules.
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

// fitsOne tries a pattern on the names that begin as it does.
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
