package search_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/search"
)

// A search of more repositories than are looked at ahead finds what a search without an index does: those that were
// pushed to, those that are empty, and those that the index does not know are in their places.
func TestHeadsOfManyRepositories(t *testing.T) {
	root := t.TempDir()
	const count = 640
	var mirrors []*gittest.Repo
	for i := range count {
		mirrors = append(mirrors, gittest.At(t, filepath.Join(root, fmt.Sprintf("r%03d.git", i))))
		if i%50 != 7 {
			mirrors[i].Commit("main", gittest.Regular("a", fmt.Sprintf("needle%d and hay\n", i%90)))
		}
	}
	b := newBench(t, root, search.Options{})
	x := b.newIndex("")
	update(t, x)
	for i := 3; i < count; i += 37 {
		mirrors[i].Commit("main", gittest.Regular("a", "pushed needle5\n"))
	}
	with := b.with(x)
	for _, request := range []search.Request{
		{Query: words("needle5")}, {Query: words("pushed")}, {Query: words("nowhere")},
		{Query: parse(t, "needle5 hay"), Order: search.ByRank}, {Query: parse(t, "pushed"), Order: search.ByRank},
	} {
		request.Limits = unlimited
		if got := b.agreeOn(with, request); got.Counts.Repositories != count-13 {
			t.Errorf("%+v: %+v, want %d repositories", request.Query, got.Counts, count-13)
		}
	}
}
