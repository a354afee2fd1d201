package rules

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatRulesNameIsOutlined(t *testing.T) {
	r := load(t, `rules:
- principals: ["token:b", "oauth:x"]
  repositories: ["a/**", "a/*", "b", "none", "none"]
- principals: ["token:b", "token:a"]
  repositories: ["*/x", "**", "c/[xy]z", "b.git", "a/none*", "\\b"]
`)
	if got, want := strings.Join(r.Principals(), " "), "oauth:x token:a token:b"; got != want {
		t.Errorf("principals %s, want %s", got, want)
	}
	names := []string{"a/b/c", "b", "c/xz", "d/e/x"}
	if got, want := r.Idle(names), []string{"a/*", "none", "*/x", "a/none*"}; !slices.Equal(got, want) {
		t.Errorf("idle %q, want %q", got, want)
	}
	// What is idle is what allows no name, by the rules themselves.
	for _, pattern := range []string{"a/**", "a/*", "b", "none", "*/x", "**", "c/[xy]z", "a/none*", "\\b", "*",
		"d/**/x"} {
		one := &answer{names: make(set), folders: make(set), globs: make(map[string][]string)}
		one.add([]string{pattern})
		if allowed := slices.ContainsFunc(names, one.allows); allowed != fitsOne(pattern, names) {
			t.Errorf("%s allows one: %v, and is said to fit one: %v", pattern, allowed, !allowed)
		}
	}
	if !r.Asks() || load(t, "rules:\n- anybody: true\n  repositories: [a]\n").Asks() {
		t.Error("rules for some are not told from those for anybody")
	}
}
