package repos_test

import (
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

func TestRefStampDiffersAfterEachChange(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	repository, err := repostest.Open(t, root, repos.Options{}).Get("repo")
	if err != nil {
		t.Fatal(err)
	}
	stamps := make(map[[32]byte]string)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"empty", func() {}},
		{"commit", func() { repo.Commit("main", gittest.Regular("a", "1")) }},
		{"branch", func() { repo.Git("branch", "dir/topic", "main") }},
		{"tag", func() { repo.Git("tag", "v1", "main") }},
		{"symbolic", func() { repo.Git("symbolic-ref", "refs/heads/alias", "refs/heads/main") }},
		{"packed", func() { repo.Git("pack-refs", "--all") }},
		{"loose over packed", func() { repo.Commit("main", gittest.Regular("a", "2")) }},
		{"repacked", func() { repo.Git("gc", "--quiet") }},
		{"hidden", func() { repo.Git("update-ref", "refs/keep-around/x", "main") }},
		{"HEAD elsewhere", func() { repo.Git("symbolic-ref", "HEAD", "refs/heads/dir/topic") }},
		{"deleted", func() { repo.Git("update-ref", "-d", "refs/heads/dir/topic") }},
	} {
		step.do()
		stamp := repository.RefStamp()
		if before, seen := stamps[stamp.Sum]; seen {
			t.Errorf("%s: the stamp is that of %s", step.name, before)
		}
		if stamps[stamp.Sum] = step.name; repository.RefStamp().Sum != stamp.Sum {
			t.Errorf("%s: the stamp changes by itself", step.name)
		}
	}
}
