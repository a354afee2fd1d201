package client_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/client"
)

// A commit is named where the expression says it, in addresses of all shapes.
func TestCommitOfAnAddress(t *testing.T) {
	t.Parallel()
	expression := regexp.MustCompile(`(?:/archive/|/raw/|/sha/)(?:.*/)?([0-9a-f]{40}(?:[0-9a-f]{24})?)(?:[./]|$)`)
	one, two := strings.Repeat("1a", 20), strings.Repeat("2b", 32)
	pieces := []string{
		"/archive/", "/raw/", "/sha/", "/", "/", ".", ".tar.gz", "?", "contents/", "main", "repo://", "group", "A", one,
		one, two,
		one[:39], one + "f", two[:63],
	}
	random := rand.New(rand.NewPCG(1, 2))
	named := 0
	for range 100_000 {
		var address strings.Builder
		for range 1 + random.IntN(9) {
			address.WriteString(pieces[random.IntN(len(pieces))])
		}
		want := ""
		path, _, _ := strings.Cut(address.String(), "?")
		if found := expression.FindStringSubmatch(path); found != nil {
			want = found[1]
			named++
		}
		if got := client.CommitOf(address.String()); got != want {
			t.Fatalf("%s: %q instead of %q", &address, got, want)
		}
	}
	if named < 5_000 {
		t.Errorf("only %d addresses name a commit", named)
	}
}
