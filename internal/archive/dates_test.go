package archive_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestTarOfOddDatesIsGitArchive has committers before 1970, after what 32 bits
// and after what eleven octal digits hold, and dates that are none.
func TestTarOfOddDatesIsGitArchive(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("a", "1"), gittest.Regular("d/b", "2"))
	tree := repo.Git("rev-parse", "main^{tree}")
	compared := 0
	for _, date := range []string{
		"0 +0000", "1 -1200", "-1 +0000", "-2208988800 +0000", "2147483647 +1400", "2147483648 +0545",
		"4294967295 +0000", "4294967296 +0000", "4354819200 +0100",
		"8589934591 +0000", "8589934592 +0000", "99999999999 +0000", "18446744073709551615 +0000",
		"99999999999999999999999 +0000", "1700000000 +9999", "1700000000", "x +0000", "",
	} {
		commit := repo.Store("commit", fmt.Sprintf("tree %s\nauthor A <a@b> %s\ncommitter A <a@b> %s\n\nodd\n", tree,
			date, date))
		repo.SetRef("refs/heads/main", commit)
		want, ok := repo.TryArchive("--format=tar", commit)
		if !ok {
			t.Errorf("date %q: git makes no archive", date)
			continue
		}
		if got := write(t, plan(t, repo, "main", archive.Options{Format: archive.Tar})); !bytes.Equal(got, want) {
			t.Errorf("date %q: tar differs", date)
			gittest.DiffTar(t, gittest.ReadTar(t, bytes.NewReader(got)), gittest.ReadTar(t, bytes.NewReader(want)))
		}
		compared++
	}
	if compared != 18 {
		t.Errorf("compared %d archives", compared)
	}
}

// TestNamesThatLookLikeIDs has files, a branch and a tag that are named like
// objects, and one after a revision.
func TestNamesThatLookLikeIDs(t *testing.T) {
	repo := gittest.New(t)
	first := repo.Commit("main", gittest.Regular("a", "1"))
	second := repo.Commit("main", gittest.Regular(first, "2"), gittest.Regular(first[:7]+"/"+first, "3"),
		gittest.Regular("HEAD", "4"), gittest.Regular("refs/heads/main", "5"))
	repo.Git("tag", first[:8], second)
	repo.Git("update-ref", "refs/heads/"+first, second)
	for _, revision := range []string{first, second, first[:8], "main", "refs/heads/" + first} {
		for _, paths := range [][]string{nil, {first}, {"HEAD"}} {
			compareTarOf(t, repo, revision, archive.Options{Paths: paths})
		}
	}
}
