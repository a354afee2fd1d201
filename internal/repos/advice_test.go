package repos_test

import (
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

func TestExplainRevisionSaysWhatToDo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	commit := repo.Commit("main", gittest.Regular("a", "1"))
	folder, file := repo.Git("rev-parse", commit+"^{tree}"), repo.Git("rev-parse", commit+":a")
	repo.Git("tag", "folder", folder)
	repo.Git("tag", "file", file)
	s := repostest.Snapshot(t, repostest.Open(t, root, repos.Options{}), "repo")
	for revision, want := range map[string]string{
		"main@{1}": "the revision has @{…}: it asks for a reflog or the branch of a remote, and nothing of either is " +
			"served. Name a commit, or count back with ~",
		"main^{/x}": "the revision has ^{/…}: messages are not searched for a revision. Find the commit with " +
			"list_commits and name it",
		"main:a": "the revision has a colon: the path is an argument of its own, and messages are not searched",
		"folder": "the revision leads to a folder (tree " + folder + "), not to a commit: it has no history, and can " +
			"be had as an archive alone",
		"file": "the revision leads to a file (blob " + file + "), not to a commit or folder: read a tag of it with " +
			"the tool get_tag, and the file itself with git cat-file blob in a clone",
		"none": "",
	} {
		if _, err := s.Resolve(t.Context(), revision); err == nil || repos.ExplainRevision(err) != want {
			t.Errorf("%s is explained as %q (%v), want %q", revision, repos.ExplainRevision(err), err, want)
		}
	}
}
