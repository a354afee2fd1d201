package pretty_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// describeFormats are expanded in an archive each.
var describeFormats = strings.Fields(`
	%(describe) %(describe:tags) %(describe:tags=yes) %(describe:tags=no) %(describe:tags=bogus) %(describe:tags=bogus,tags)
	%(describe:abbrev=4) %(describe:abbrev=0) %(describe:abbrev=40) %(describe:abbrev=99) %(describe:abbrev=-3)
	%(describe:abbrev=) %(describe:abbrev) %(describe:abbrev=x) %(describe:abbrev=9999999999) %(describe:abbrev=+8)
	%(describe:match=v*) %(describe:match=v?,tags) %(describe:match=w*,match=v*) %(describe:exclude=v*) %(describe:exclude=v*,tags)
	%(describe:exclude=*1,tags) %(describe:match=[v-w]*,exclude=*[[:digit:]]) %(describe:match=) %(describe:exclude) %(describe:match=a/*,tags)
	%(describe:match=*/*,tags=1) %(describe:match=nothing) %(describe:bogus) %(describe:tags,) %(describe:,) %(describe: %(describe
	%(describex) %(describe)%(describe) %(describe:bogus)%(describe) %<(40)%(describe)| %+(describe)| %-(describe:match=none)|
	%(describe:match=[!v]*,tags) %(describe:match=\v*) %(describe:match=[,tags) %(describe:tags,abbrev=0) %(describe:abbrev=0,abbrev=5)
`)

// history makes a history with merges in which the dates are often wrong, and
// with tags of all kinds, and gives its commits.
func history(t testing.TB, repo *gittest.Repo, tree string, r *rand.Rand, length int) []string {
	t.Helper()
	var commits []string
	for i := range length {
		var parents strings.Builder
		if i > 0 {
			count := 1 + r.IntN(4)/2
			for range count {
				back := 1 + r.IntN(min(i, 6))
				fmt.Fprintf(&parents, "parent %s\n", commits[i-back])
			}
		}
		date := 1_600_000_000 + int64(i)*10
		switch r.IntN(8) {
		case 0:
			date -= r.Int64N(500)
		case 1:
			date = 1_600_000_000
		case 2:
			if i%29 == 0 {
				date = -5
			}
		}
		commits = append(commits, store(t, repo, "commit", fmt.Sprintf(
			"tree %s\n%sauthor A <a@b> 1600000000 +0000\ncommitter A <a@b> %d +0000\n\ncommit %d\n", tree,
			parents.String(), date, i)))
	}
	for i, commit := range commits {
		switch r.IntN(9) {
		case 0:
			annotate(t, repo, fmt.Sprintf("v%d", i), "commit", commit, 1_600_000_000+r.Int64N(100))
		case 1:
			repo.SetRef(fmt.Sprintf("refs/tags/w%d", i), commit)
		case 2:
			repo.SetRef(fmt.Sprintf("refs/tags/a/light-%d", i), commit)
			annotate(t, repo, fmt.Sprintf("z%d", i), "commit", commit, 1_600_000_000)
			inner := annotate(t, repo, fmt.Sprintf("y%d", i), "commit", commit, 1_600_000_000)
			annotate(t, repo, fmt.Sprintf("vv%d", i), "tag", inner, 1_600_000_000+r.Int64N(3))
		case 3:
			if r.IntN(2) == 0 { // a ref with another name than the tag
				repo.SetRef(fmt.Sprintf("refs/tags/v-other%d", i), tagObject(t, repo, fmt.Sprintf("gone%d", i),
					"commit", commit, 1_600_000_000))
			}
		}
	}
	repo.SetRef("refs/heads/main", commits[length-1])
	repo.SetRef("refs/tags/tree", tree)
	return commits
}

func TestDescribesAsGit(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	compared := 0
	for seed := range uint64(gittest.Volume(2, 3)) {
		r := rand.New(rand.NewPCG(seed, 1))
		repo := gittest.New(t)
		trees := make([]string, len(describeFormats))
		for i, format := range describeFormats {
			trees[i] = treeOf(t, repo, "", []string{"$Format:" + format + "$"})
		}
		commits := history(t, repo, trees[0], r, 90)
		if seed == 1 {
			repo.Git("pack-refs", "--all")
			repo.Git("repack", "-adq")
		}
		for i, format := range describeFormats {
			// The same commits with another tree have other ids, so that the
			// archived commit is a new one on top.
			parents := ""
			for range 1 + r.IntN(2) {
				parents += "parent " + commits[r.IntN(len(commits))] + "\n"
			}
			commit := store(t, repo, "commit",
				"tree "+trees[i]+"\n"+parents+
					"author A <a@b> 1600000000 +0000\ncommitter A <a@b> 1600001000 +0000\n\ntop\n")
			switch i % 7 {
			case 3:
				annotate(t, repo, fmt.Sprintf("v-top%d", i), "commit", commit, 1_600_000_000)
			case 5:
				repo.SetRef(fmt.Sprintf("refs/tags/light%d", i), commit)
			}
			compared += compare(t, repo, fmt.Sprintf("history %d, %s", seed, format), commit,
				[]string{"$Format:" + format + "$"})
		}
		compared += describeAll(t, repo, commits)
	}
	if least := gittest.Volume(170, 350); compared < least {
		t.Errorf("only %d comparisons", compared)
	}
	t.Logf("%d comparisons", compared)
}

// describeAll compares the descriptions of the commits of a history, of every
// other one if time is short: each has the tree with the plain format.
func describeAll(t *testing.T, repo *gittest.Repo, commits []string) int {
	t.Helper()
	compared := 0
	for i, commit := range commits {
		if i%gittest.Volume(2, 1) != 0 {
			continue
		}
		compared += compare(t, repo, fmt.Sprintf("commit %d", i), commit,
			[]string{"$Format:" + describeFormats[0] + "$"})
	}
	return compared
}

// TestDescribesWithoutTags has nothing to describe by.
func TestDescribesWithoutTags(t *testing.T) {
	repo := gittest.New(t)
	source := "<$Format:%(describe)$>"
	tree := treeOf(t, repo, "", []string{source})
	commit := store(t, repo, "commit", "tree "+tree+"\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n")
	if n := compare(t, repo, "no tags", commit, []string{source}); n != 1 {
		t.Errorf("%d comparisons", n)
	}
}

// TestDescribesOncePerArchive leaves the later ones as they are.
func TestDescribesOncePerArchive(t *testing.T) {
	repo := gittest.New(t)
	sources := []string{"$Format:%H$", "$Format:%(describe:tags)$ $Format:%(describe)$", "$Format:%(describe)$"}
	tree := treeOf(t, repo, "", sources)
	commit := store(t, repo, "commit", "tree "+tree+"\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n")
	repo.SetRef("refs/tags/light", commit)
	if n := compare(t, repo, "three files", commit, sources); n != len(sources) {
		t.Errorf("%d comparisons", n)
	}
}
