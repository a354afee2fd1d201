package history

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// tryGit is git's output, and whether it succeeded.
func tryGit(t *testing.T, dir string, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, gittest.Env()
	out, err := cmd.Output()
	return string(out), err == nil
}

// crossed writes a history of commits without files in which branches are merged
// again and again, many within a second, and some by clocks that were wrong.
func crossed(t *testing.T, seed uint64, commits int, wrong bool) (repo *gittest.Repo, ids []string) {
	t.Helper()
	r := newRand(seed)
	repo = gittest.New(t)
	tree := repo.Store("tree", "")
	clock := 1_600_000_000
	for i := range commits {
		var parents strings.Builder
		used := make(map[int]bool)
		many := 1 + r.IntN(3)
		if r.IntN(25) == 0 {
			many = 0
		}
		for range many {
			if parent := i - 1 - r.IntN(12); parent >= 0 && !used[parent] {
				used[parent] = true
				fmt.Fprintf(&parents, "parent %s\n", ids[parent])
			}
		}
		clock += r.IntN(3)
		date := clock
		if wrong && r.IntN(20) == 0 {
			date += r.IntN(60) - 30
		}
		ids = append(ids, repo.Store("commit", fmt.Sprintf(
			"tree %s\n%sauthor A <a@b> %d +0000\ncommitter A <a@b> %d +0000\n\n%d\n", tree, parents.String(), date,
			date, i)))
	}
	for i, id := range ids {
		repo.SetRef(fmt.Sprintf("refs/heads/%d", i), id)
	}
	repo.WriteCommitGraph(seed / 2)
	return repo, ids
}

// reachable returns the commits that each commit reaches.
func reachable(repo *gittest.Repo) map[string]map[string]bool {
	reach := make(map[string]map[string]bool)
	for line := range strings.Lines(repo.Git("log", "--all", "--topo-order", "--reverse", "--format=%H %P")) {
		ids := strings.Fields(line)
		reach[ids[0]] = map[string]bool{ids[0]: true}
		for _, parent := range ids[1:] {
			maps.Copy(reach[ids[0]], reach[parent])
		}
	}
	return reach
}

// missing counts what is in a and not in b.
func missing(a, b map[string]bool) (n int) {
	for id := range a {
		if !b[id] {
			n++
		}
	}
	return n
}

func TestMergeBasesAreGits(t *testing.T) {
	gittest.Long(t)
	cases, several, none := 0, 0, 0
	for seed := range uint64(gittest.Volume(6, 100)) {
		wrong := seed%2 == 1
		repo, commits := crossed(t, seed, 80, wrong)
		reach := reachable(repo)
		snapshot := open(t, repo.Dir)
		cache := NewCache(0)
		r := newRand(seed)
		for range 60 {
			a, b := commits[r.IntN(len(commits))], commits[r.IntN(len(commits))]
			out, _ := tryGit(t, repo.Dir, "merge-base", "--all", a, b)
			want := strings.Fields(out)
			got, err := MergeBases(t.Context(), snapshot, cache, id(t, a), id(t, b))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(hexes(got), want) {
				t.Fatalf("seed %d: the merge bases of %s and %s are %v, for git %v", seed, a, b, hexes(got), want)
			}
			ahead, behind, err := AheadBehind(t.Context(), snapshot, cache, id(t, a), id(t, b))
			if err != nil {
				t.Fatal(err)
			}
			if x, y := missing(reach[b], reach[a]), missing(reach[a], reach[b]); ahead != x || behind != y {
				t.Fatalf("seed %d: %s is %d ahead of %s and %d behind, not %d and %d", seed, b, ahead, a, behind, x, y)
			}
			// With wrong clocks, git's count is sometimes wrong, too.
			if !wrong {
				counts := repo.Git("rev-list", "--left-right", "--count", b+"..."+a)
				if counts != fmt.Sprintf("%d\t%d", ahead, behind) {
					t.Fatalf("seed %d: %s is %d ahead of %s and %d behind, for git %s", seed, b, ahead, a, behind,
						counts)
				}
			}
			cases++
			if len(want) > 1 {
				several++
			}
			if len(want) == 0 {
				none++
			}
		}
	}
	t.Logf("%d pairs, %d with several merge bases, %d with none", cases, several, none)
	if cases < 200 || several < 20 || none < 5 {
		t.Error("too few cases")
	}
}

func TestThreeDotsAreGits(t *testing.T) {
	t.Parallel()
	cases := 0
	for seed := range uint64(gittest.Sample(gittest.Volume(2, 20))) {
		m := generate(t, seed+700, 80)
		snapshot := open(t, m.repo.Dir)
		commits := strings.Fields(m.repo.Git("rev-list", "--all"))
		r := newRand(seed)
		for range 25 {
			a, b := commits[r.IntN(len(commits))], commits[r.IntN(len(commits))]
			want, ok := tryGit(t, m.repo.Dir, "diff", a+"..."+b)
			base, err := MergeBase(t.Context(), snapshot, nil, id(t, a), id(t, b))
			if ok == errors.Is(err, git.ErrNotFound) {
				t.Fatalf("%s...%s: %v", a, b, err)
			}
			if !ok {
				continue
			}
			c, err := CompareCommits(t.Context(), snapshot, nil, base, id(t, b), CompareOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := patches(t, NewDiffer(snapshot, PatchOptions{Context: DefaultContext}), c); got != want {
				t.Fatalf("%s...%s: %s", a, b, firstDifference(got, want))
			}
			cases++
		}
	}
	if cases < gittest.Sample(30) {
		t.Errorf("only %d pairs were compared", cases)
	}
}

// A commit is shown with what it changed in its first parent.
func TestShownCommitsAreGits(t *testing.T) {
	t.Parallel()
	m := generate(t, 900, 80)
	snapshot := open(t, m.repo.Dir)
	log := m.repo.Git("log", "--all", "--root", "--diff-merges=first-parent", "--format=%x00%H", "-p")
	shown := 0
	for part := range strings.SplitSeq(log, "\x00") {
		if part == "" {
			continue
		}
		hex, want, _ := strings.Cut(strings.TrimRight(part, "\n"), "\n")
		c, err := CompareWithParent(t.Context(), snapshot, nil, id(t, hex), CompareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d := NewDiffer(snapshot, PatchOptions{Context: DefaultContext})
		got := patches(t, d, c)
		if want = strings.TrimPrefix(want, "\n"); strings.TrimRight(got, "\n") != want {
			t.Fatalf("%s: %s", hex, firstDifference(got, want))
		}
		shown++
	}
	if shown < 60 {
		t.Errorf("only %d commits were compared", shown)
	}
}
