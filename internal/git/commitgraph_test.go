package git_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/snapshottest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// branchy imports commits with merges, each on a branch of its own.
func branchy(t testing.TB, dir string, seed uint64) *gittest.Repo {
	const commits = 60
	t.Helper()
	repo := gittest.At(t, dir)
	random := rand.New(rand.NewPCG(seed, 3))
	var in strings.Builder
	for i := 1; i <= commits; i++ {
		fmt.Fprintf(&in, "commit refs/heads/b%03d\nmark :%d\ncommitter A <a@example.com> %d +0000\ndata 1\nx\n", i, i,
			1_700_000_000+random.IntN(60*i))
		used := map[int]bool{}
		for n := range 1 + max(0, random.IntN(5)-2) {
			parent := i - 1 - random.IntN(6)
			if parent < 1 || used[parent] {
				continue
			}
			used[parent] = true
			fmt.Fprintf(&in, "%s :%d\n", map[bool]string{true: "from", false: "merge"}[n == 0 || len(used) == 1],
				parent)
		}
		fmt.Fprintf(&in, "M 100644 inline f\ndata %d\n%d\n\n", len(fmt.Sprint(i)), i)
	}
	repo.GitInput([]byte(in.String()), "fast-import", "--quiet", "--force")
	return repo
}

// The reachable commits are those of git, with any part of them in a graph, while refs move
// and graphs are written.
func TestReachableIsWhatGitSays(t *testing.T) {
	gittest.Long(t)
	found, hidden := 0, 0
	for seed := range uint64(gittest.Volume(8, 80)) {
		root := t.TempDir()
		repo := branchy(t, filepath.Join(root, "repo.git"), seed)
		repo.WriteCommitGraph(seed)
		store := open(t, root, git.StoreOptions{})
		all := strings.Fields(repo.Git("rev-list", "--all"))
		random := rand.New(rand.NewPCG(seed, 4))
		for step := range 4 {
			var edits bytes.Buffer
			for line := range strings.Lines(repo.Git("for-each-ref", "--format=%(refname)") + "\n") {
				if random.IntN(3) > 0 {
					fmt.Fprintln(&edits, "delete", strings.TrimSpace(line))
				}
			}
			repo.GitInput(edits.Bytes(), "update-ref", "--stdin")
			for n := range random.IntN(3) {
				repo.Git("update-ref", fmt.Sprintf("refs/heads/new%d", n), all[random.IntN(len(all))])
			}
			if step == 2 {
				repo.WriteCommitGraph(seed + 1)
			}
			served := map[string]bool{}
			for _, id := range strings.Fields(repo.Git("rev-list", "--all")) {
				served[id] = true
			}
			s := snapshot(t, store, "repo", reachable)
			for _, at := range random.Perm(len(all)) {
				_, err := s.Resolve(t.Context(), all[at])
				if (err == nil) != served[all[at]] || err != nil && !errors.Is(err, git.ErrNotFound) {
					t.Fatalf("seed %d, step %d: %s is served: %v; %v", seed, step, all[at], served[all[at]], err)
				}
				if err == nil {
					found++
				} else {
					hidden++
				}
			}
		}
	}
	if found < 200 || hidden < 200 {
		t.Errorf("%d commits were reachable, %d were not", found, hidden)
	}
}

// Which files make a graph, and that each state of them is noticed and told once.
func TestCommitGraphsAreUsedWhileTheyAreSound(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	const single, folder = "objects/info/commit-graph", "objects/info/commit-graphs/"
	cases := map[string]struct {
		write   func(r *gittest.Repo)
		commits uint32 // of the graph, at least
		told    int
	}{
		"none":   {func(*gittest.Repo) {}, 0, 0},
		"single": {func(r *gittest.Repo) { r.WriteCommitGraph(1) }, 60, 0},
		"chain":  {func(r *gittest.Repo) { r.WriteCommitGraph(2) }, 30, 0},
		"levels": {func(r *gittest.Repo) { r.WriteCommitGraph(3) }, 60, 0},
		"cut":    {func(r *gittest.Repo) { r.WriteCommitGraph(1); r.Change(single, firstHalf) }, 0, 1},
		"empty":  {func(r *gittest.Repo) { r.WriteFile(single, nil) }, 0, 1},
		"folder": {func(r *gittest.Repo) { r.WriteFile(single+"/x", nil) }, 0, 1},
		"no layer": {func(r *gittest.Repo) {
			r.WriteFile(folder+"commit-graph-chain", []byte(strings.Repeat("ab", 20)+"\n"))
		}, 0, 1},
		"junk in the chain": {func(r *gittest.Repo) {
			r.WriteCommitGraph(2)
			r.WriteFile(folder+"commit-graph-chain", []byte("../../../HEAD\n"))
		}, 0, 1},
		"endless chain": {func(r *gittest.Repo) { r.WriteFile(folder+"commit-graph-chain", make([]byte, 1<<20)) }, 0,
			1},
		"shallow": {func(r *gittest.Repo) {
			r.WriteCommitGraph(1)
			r.WriteFile("shallow", []byte(r.Git("rev-parse", "b030")+"\n"))
		}, 0, 0},
		"link out of the root": {func(r *gittest.Repo) {
			r.WriteCommitGraph(1)
			outside := filepath.Join(t.TempDir(), "graph")
			if err := errors.Join(os.Rename(filepath.Join(r.Dir, single), outside),
				os.Symlink(outside, filepath.Join(r.Dir, single))); err != nil {
				t.Fatal(err)
			}
		}, 0, 0},
	}
	for name, c := range cases {
		observer := new(snapshottest.Recorder)
		options := git.Options{ReachableOnly: true, Observer: observer}
		root := t.TempDir()
		repo := branchy(t, filepath.Join(root, "repo.git"), 1)
		c.write(repo)
		store := open(t, root, git.StoreOptions{})
		for range 3 {
			s := snapshot(t, store, "repo", options)
			graph := s.CommitGraph()
			if graph != s.CommitGraph() || (graph == nil) != (c.commits == 0) || graph != nil &&
				(graph.Len() < c.commits || graph.Len() > 60) {
				t.Errorf("%s: the graph is %v", name, graph != nil)
			}
			if _, err := s.Resolve(t.Context(), repo.Git("rev-parse", "b060")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if refused := observer.GraphsRefused; len(refused) != c.told {
			t.Errorf("%s: the observer is told %q, want %d reasons", name, refused, c.told)
		}
		// One that is written next is used by the next snapshot.
		_ = os.RemoveAll(filepath.Join(repo.Dir, folder))
		_ = os.RemoveAll(filepath.Join(repo.Dir, single))
		_ = os.Remove(filepath.Join(repo.Dir, "shallow"))
		repo.WriteCommitGraph(1)
		if graph := snapshot(t, store, "repo", options).CommitGraph(); graph == nil || graph.Len() != 60 {
			t.Errorf("%s: a graph that was written later is not used", name)
		}
	}
}

func firstHalf(content []byte) []byte { return content[:len(content)/2] }

// A graph above the bound is not read, and those that were not used for long give
// way to others.
func TestCommitGraphsKeepTheirBound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for n := range 4 {
		branchy(t, filepath.Join(root, fmt.Sprint(n, ".git")), uint64(n)).WriteCommitGraph(1)
	}
	for bound, want := range map[int64]bool{2_000: false, 8_000: true} {
		store := open(t, root, git.StoreOptions{CommitGraphBytes: bound})
		for n := range 8 {
			if graph := snapshot(t, store, fmt.Sprint(n%4), reachable).CommitGraph(); (graph != nil) != want {
				t.Errorf("in %d bytes there is a graph: %v", bound, graph != nil)
			}
		}
	}
}

// A graph that has a commit wrong is found out when the commit is asked for, and has
// no part in the answer.
func TestAGraphThatLiesOfACommitIsDropped(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := branchy(t, filepath.Join(root, "repo.git"), 2)
	for line := range strings.Lines(repo.Git("for-each-ref", "--format=%(refname)") + "\n") {
		if name := strings.TrimSpace(line); name < "refs/heads/b058" {
			repo.Git("update-ref", "-d", name)
		}
	}
	repo.WriteCommitGraph(1)
	hidden := repo.Store("commit", "tree "+repo.Git("rev-parse", "b060^{tree}")+"\nparent "+
		repo.Git("rev-parse", "b060")+"\n"+
		"author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n")
	tip := repo.Git("rev-parse", "b060")
	served := repo.Git("rev-parse", "b060^")
	oldest := repo.Git("rev-list", "--max-parents=0", "--max-count=1", "b060")
	for name, lie := range map[string]func(){
		"tree": func() { repo.ChangeCommitGraph(served, gittest.GraphTree, strings.Repeat("12", 20)) },
		"parent": func() {
			repo.ChangeCommitGraph(served, gittest.GraphFirstParent,
				fmt.Sprintf("%08x", repo.CommitGraphPosition(oldest)))
		},
		"date": func() { repo.ChangeCommitGraph(oldest, gittest.GraphDate, "0000000400000001") },
	} {
		observer := new(snapshottest.Recorder)
		repo.WriteCommitGraph(1)
		lie()
		s := snapshot(t, open(t, root, git.StoreOptions{}), "repo", git.Options{ReachableOnly: true, Observer: observer})
		if s.CommitGraph() == nil {
			t.Fatalf("%s: the graph is refused as a whole: %v", name, observer.GraphsRefused)
		}
		for range 2 {
			for _, id := range []string{tip, oldest, served} {
				if _, err := s.Resolve(t.Context(), id); err != nil {
					t.Errorf("%s: a reachable commit: %v", name, err)
				}
			}
			if _, err := s.Resolve(t.Context(), hidden); !errors.Is(err, git.ErrNotFound) {
				t.Errorf("%s: an unreachable commit: %v", name, err)
			}
		}
		if dropped := observer.GraphsDropped; len(dropped) != 1 || s.CommitGraph() != nil ||
			!strings.Contains(dropped[0].Error(), "contradicts") {
			t.Errorf("%s: the observer is told %q, want one contradiction", name, dropped)
		}
	}
}

// A request that waits for the walk of another request may give up.
func TestReachableEndsWithItsContext(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := branchy(t, filepath.Join(root, "repo.git"), 4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := snapshot(t, open(t, root, git.StoreOptions{}), "repo", reachable).Resolve(ctx, repo.Git("rev-parse", "b001")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
