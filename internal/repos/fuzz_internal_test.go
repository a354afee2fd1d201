package repos

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzHidingRules: rules hide as they are described, looked at the other way around.
func FuzzHidingRules(f *testing.F) {
	f.Add("refs/pull\n!refs/pull/7\n^refs/secret/", "refs/pull/7/head")
	f.Fuzz(func(t *testing.T, text, name string) {
		rules := strings.Split(text, "\n")
		hidden := false
		for _, rule := range rules {
			shows := strings.HasPrefix(rule, "!")
			prefix := strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(rule, "!"), "^"), "/")
			if name == prefix || strings.HasPrefix(name, prefix+"/") {
				hidden = !shows
			}
		}
		if got := (hidingRules{rules: rules}).hides(name); got != hidden {
			t.Fatalf("%q hide %q: %v", rules, name, got)
		}
	})
}

// FuzzSubmoduleURL: whatever a URL says, the names that it may mean are names below
// the root.
func FuzzSubmoduleURL(f *testing.F) {
	f.Add("group/own", "https://example.com/group/lib.git")
	f.Add("group/own", "../lib")
	f.Fuzz(func(t *testing.T, own, raw string) {
		if !IsName(own) {
			return
		}
		for _, name := range siblingNames(own, raw) {
			if !filepath.IsLocal(name) || strings.Contains(name, "//") ||
				filepath.ToSlash(filepath.Clean(name)) != name {
				t.Fatalf("%q from %q is %q", raw, own, name)
			}
		}
	})
}

// FuzzRepositoryName: a name leads nowhere, and shows nothing that is not seen.
func FuzzRepositoryName(f *testing.F) {
	f.Add("group/lib-1.0")
	f.Fuzz(func(t *testing.T, name string) {
		if !IsName(name) {
			return
		}
		if !filepath.IsLocal(name) || filepath.ToSlash(filepath.Clean(name)) != name || !utf8.ValidString(name) ||
			strings.ContainsAny(name, "\\%\x00\n\r\t :\u202e\u200d") || strings.HasPrefix(name, "-") {
			t.Fatalf("%q is a name", name)
		}
	})
}
