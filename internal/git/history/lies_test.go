package history

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/snapshottest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// A graph that is sound in itself, and wrong about a commit, gives no wrong history
// where the commit is shown, begun with or compared. What it says of those that are
// passed over is believed, as git believes it: that is counted here.
func TestLyingGraphsGiveNoWrongHistory(t *testing.T) {
	gittest.Long(t)
	repo := gittest.At(t, filepath.Join(t.TempDir(), "m.git"))
	for i := range 16 {
		branch := []string{"main", "side", "main", "main"}[i%4]
		repo.Commit(branch, gittest.Regular("dir/changing", strings.Repeat("line\n", i/3)+fmt.Sprint("last of ", i/3,
			"\n")), gittest.Regular("other", fmt.Sprint(i)))
		if i%4 == 3 {
			tree := repo.Git("rev-parse", "main^{tree}")
			repo.SetRef("refs/heads/main", repo.Git("commit-tree", "-p", "main", "-p", "side", "-m",
				fmt.Sprint("merge ", i), tree))
		}
	}
	repo.Git("repack", "-adfq")
	repo.WriteCommitGraph(1)
	from, to := repo.Git("rev-parse", "main~2"), repo.Git("rev-parse", "main")
	truth, refused := answers(t, repo, from, to)
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	met := metBy(t, repo, truth, from, to)
	count := make(map[string]int)
	try := func(what string, lied ...string) {
		observer := new(snapshottest.Recorder)
		got, refused, taken := answersBy(t, repo, from, to, observer)
		contradicted := slices.ContainsFunc(observer.GraphsDropped, func(err error) bool {
			return strings.Contains(err.Error(), "contradicts")
		})
		if !taken {
			count["graphs refused"]++
			return
		}
		for name := range questions {
			switch err := refused[name]; {
			case err == nil && reflect.DeepEqual(got[name], truth[name]):
				count["right"]++
			case err != nil && errors.Is(err, git.ErrCorrupt) && contradicted:
				count["refused"]++
			case slices.ContainsFunc(lied, func(id string) bool { return met[name][id] }):
				t.Errorf("%s: another %s, %v", what, name, err)
			default:
				count["wrong "+name]++
			}
		}
		if contradicted {
			count["dropped"]++
		}
	}
	commits := strings.Fields(repo.Git("rev-list", "--all"))
	for i, a := range commits {
		for _, b := range commits[i+1:] {
			repo.SwapInCommitGraph(a, b)
			try("swapped "+a+" "+b, a, b)
			repo.SwapInCommitGraph(a, b)
		}
		for j, b := range commits {
			for n, lie := range []struct {
				field gittest.GraphField
				bytes string
			}{
				{gittest.GraphTree, repo.CommitGraphField(b, gittest.GraphTree)},
				{gittest.GraphFirstParent, fmt.Sprintf("%08x", repo.CommitGraphPosition(b))},
				{gittest.GraphDate, repo.CommitGraphField(a, gittest.GraphDate)[:8] + repo.CommitGraphField(b,
					gittest.GraphDate)[8:]},
			} {
				was := repo.CommitGraphField(a, lie.field)
				if was == lie.bytes || (i+j+n)%gittest.Volume(3, 1) != 0 { // by turns: each commit lies in each field
					continue
				}
				repo.ChangeCommitGraph(a, lie.field, lie.bytes)
				try(fmt.Sprint(a, " has at ", lie.field, " what ", b, " has"), a)
				repo.ChangeCommitGraph(a, lie.field, was)
			}
		}
	}
	t.Log(count)
	if count["right"] < gittest.Volume(600, 1000) || count["dropped"] < gittest.Volume(100, 200) || count["wrong log"]+
		count["wrong comparison"] > 0 {
		t.Error("too few cases, or wrong ones that cannot be")
	}
}

// metBy tells which commits an answer shows, begins with or compares.
func metBy(t *testing.T, repo *gittest.Repo, truth map[string]any, from, to string) map[string]map[string]bool {
	t.Helper()
	met := make(map[string]map[string]bool)
	for name, answer := range truth {
		ids := []string{from, to}
		switch answer := answer.(type) {
		case LogPage:
			for _, c := range answer.Commits {
				ids = append(ids, strings.Fields(repo.Git("rev-list", "--parents", "--max-count=1", c.ID.String()))...)
			}
		case BlameResult:
			for c := range answer.Commits {
				ids = append(ids, strings.Fields(repo.Git("rev-list", "--parents", "--max-count=1", c.String()))...)
			}
		case git.ID:
			ids = append(ids, answer.String())
		}
		met[name] = make(map[string]bool)
		for _, id := range ids {
			met[name][id] = true
		}
	}
	return met
}
