package tools

import (
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/search"
)

// TestARankingReadsEachCommitOnce holds that the audit log has one line for each commit of a ranking, in which the
// files of commits alternate.
func TestARankingReadsEachCommitOnce(t *testing.T) {
	t.Parallel()
	found := &search.Result{Files: []search.File{
		{Repository: "a", Path: "1"}, {Repository: "b", Path: "2"}, {Repository: "a", Path: "3"}, {Repository: "b", Path: "4"},
	}}
	zero := git.ID{}.String()
	want := []resources.Read{{Repository: "a", Commit: zero}, {Repository: "b", Commit: zero}}
	if got := (searchResult{found, true}).reads(); !slices.Equal(got, want) {
		t.Errorf("commits of a ranking: %v, want %v", got, want)
	}
}
