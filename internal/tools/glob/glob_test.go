package glob

import (
	"slices"
	"strings"
	"testing"
)

func TestExpandBraces(t *testing.T) {
	for pattern, want := range map[string][]string{
		"a":                {"a"},
		"*.{ts,tsx}":       {"*.ts", "*.tsx"},
		"{a,b}/{c,d}":      {"a/c", "a/d", "b/c", "b/d"},
		"{a,b{c,d}}x":      {"ax", "bcx", "bdx"},
		"{a}":              {"{a}"},
		"{a,b":             {"{a,b"},
		`\{a,b}`:           {`\{a,b}`},
		`{a\,b,c}`:         {`a\,b`, "c"},
		"{,x}y":            {"y", "xy"},
		"x{a}{b,c}":        {"x{a}b", "x{a}c"},
		"{{a,b}":           {"{a", "{b"},
		"src/{}/{one,two}": {"src/{}/one", "src/{}/two"},
	} {
		got, ok := expandBraces([]string{pattern})
		slices.Sort(got)
		slices.Sort(want)
		if !ok || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
	for _, bomb := range []string{strings.Repeat("{a,b}", 7), strings.Repeat("{a,b}", 700),
		"{" + strings.Repeat(",", 100) + "}"} {
		if got, ok := expandBraces([]string{bomb}); ok {
			t.Errorf("%.20s… was expanded to %d patterns", bomb, len(got))
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		fold, want    bool
	}{
		{"*.go", "main.go", false, true},
		{"*.go", "cmd/a/main.go", false, true},
		{"cmd/*.go", "cmd/a/main.go", false, false},
		{"cmd/**/*.go", "cmd/a/main.go", false, true},
		{"**/*.go", "main.go", false, true},
		{"./cmd/*/main.go", "cmd/a/main.go", false, true},
		{"/cmd/*/main.go", "cmd/a/main.go", false, true},
		{"**/*.{js,ts}", "a/b.ts", false, true},
		{"**/*.{js,ts}", "a/b.tsx", false, false},
		{"readme*", "README.md", false, false},
		{"readme*", "README.md", true, true},
		{"[!.]*", ".gitignore", false, false},
	} {
		g, err := Path(c.pattern, c.fold)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Match(c.path); got != c.want {
			t.Errorf("%s on %s: %v", c.pattern, c.path, got)
		}
	}
}

func TestMalformedPatternsAreRefused(t *testing.T) {
	for pattern, want := range map[string]bool{
		"[": true, "[a": true, "[]": true, "[!]": true, "[^]a": true, "a\\\\": false, "a\\": true, "[a\\": true,
		"[a\\]": true, "[[:alpha:]": true, "{a,[b}": true,
		"": false, "*": false, "[a]": false, "[]]": false, "[!]]": false, "[]a]x": false, "[[:alpha:]]": false,
		"[[:]": false, "\\[": false, "[a\\]]": false, "]": false, "[a-c]{x,y}": false,
	} {
		if _, err := Path(pattern, false); (err != nil) != want {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}
