package spelling

import (
	"strings"
	"testing"
)

func TestClosest(t *testing.T) {
	for _, c := range []struct {
		name  string
		known string
		want  string
	}{
		{"gti", "git go-git", "git"},
		{"git/git", "git go-git", "git"},
		{"Git", "go-git git", "git"},
		{"git", "github-mcp-server go-git", "go-git github-mcp-server"},
		{"2.45.0", "v2.4.5 v2.45.0 v2.45.0-rc0", "v2.45.0"},
		{"v2.45", "v2.44.0 v2.45.0-rc1 v2.45.1 v2.45.0 v2.5.5", "v2.45.1 v2.45.0 v2.45.0-rc1"},
		{"origin/master", "maint master next", "master"},
		{"entirely-different", "maint master next", ""},
		{"", "maint", ""},
	} {
		if got := strings.Join(Closest(c.name, strings.Fields(c.known), 3), " "); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.name, c.known, got, c.want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"gti", "git", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}, {"abcd", "bacd",
		1}, {"same", "same", 0}} {
		if got := editDistance(c.a, c.b); got != c.want || editDistance(c.b, c.a) != c.want {
			t.Errorf("%s and %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
