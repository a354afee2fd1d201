package archive_test

import (
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestAFolderHasOneEntry walks out of folders of which nothing is selected, to
// a file of a folder that has its entry already, and of one that has not.
func TestAFolderHasOneEntry(t *testing.T) {
	repo := gittest.New(t)
	commit := repo.Commit("main",
		gittest.Regular("d/a.txt", "1"), gittest.Regular("d/e/f/x.md", "1"), gittest.Regular("d/z.txt", "1"),
		gittest.Regular("g/e/f/x.md", "1"), gittest.Regular("g/h/y.md", "1"), gittest.Regular("g/z.txt",
			"1"), gittest.Regular("z.txt", "1"))
	for _, paths := range [][]string{{"*.txt"}, {"*.md"}, {":(glob)**/z.txt"}, {".", ":!*.md"}, {"d", ":!d/e/f"},
		{":!*/e/*"}} {
		if !compareTar(t, "folders", repo, commit, archive.Options{Paths: paths}) {
			t.Errorf("%q: nothing was compared", paths)
		}
	}
}
