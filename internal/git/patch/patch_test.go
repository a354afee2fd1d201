package patch_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/git/patch"
	"github.com/repomcp/repomcp/internal/git/snapshottest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// oracle compares patches of a repository with those of git.
type oracle struct {
	t        *testing.T
	repo     *gittest.Repo
	snapshot *git.Snapshot
	cache    *history.Cache
	compared map[string]int // by what was compared
}

func newOracle(t *testing.T, repo *gittest.Repo) *oracle {
	t.Helper()
	return &oracle{
		t: t, repo: repo, snapshot: snapshottest.Open(t, repo.Dir), cache: history.NewCache(0),
		compared: make(map[string]int),
	}
}

func (o *oracle) id(revision string) git.ID {
	o.t.Helper()
	id, err := git.ParseID(o.repo.Git("rev-parse", "--verify", revision+"^{commit}"))
	if err != nil {
		o.t.Fatal(err)
	}
	return id
}

// write returns the bytes of steps.
func (o *oracle) write(form patch.Form, steps []history.Step, err error) string {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
	plan, err := patch.New(o.t.Context(), o.snapshot, o.cache, form, steps)
	if err != nil {
		o.t.Fatal(err)
	}
	var out bytes.Buffer
	if err := plan.WriteTo(o.t.Context(), &out); err != nil {
		o.t.Fatal(err)
	}
	return out.String()
}

// git returns the output of a command, with its last line feed.
func (o *oracle) git(args ...string) string {
	o.t.Helper()
	command := exec.CommandContext(o.t.Context(), "git", args...)
	command.Dir, command.Env = o.repo.Dir, gittest.Env()
	out, err := command.Output()
	if err != nil {
		o.t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

func (o *oracle) check(what, got, want string) {
	o.t.Helper()
	o.compared[strings.Fields(what)[0]]++
	if got, want = gittest.WithoutPayloads(got), gittest.WithoutPayloads(want); got == want {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(at-600, 0)
	o.t.Errorf("%s: after %q we have\n%q\nand git has\n%q", what, got[from:at], got[at:min(at+300, len(got))],
		want[at:min(at+300, len(want))])
}

// mails compares the mails of a range, and returns them.
func (o *oracle) mails(base, head string) string {
	o.t.Helper()
	steps, err := patch.Range(o.t.Context(), o.snapshot, o.cache, patch.Mails, o.id(base), patch.Two, o.id(head))
	mails := o.write(patch.Mails, steps, err)
	o.check("mails of "+base+".."+head, mails, o.git("format-patch", "--stdout", "--signature=repomcp", base+".."+head))
	return mails
}

// diff compares the diff of a range.
func (o *oracle) diff(base string, dots patch.Dots, head string) {
	o.t.Helper()
	steps, err := patch.Range(o.t.Context(), o.snapshot, o.cache, patch.Diff, o.id(base), dots, o.id(head))
	o.check("diff "+base+string(dots)+head, o.write(patch.Diff, steps, err), o.git("diff", base+string(dots)+head))
}

// commit compares both forms of one commit.
func (o *oracle) commit(revision string, merge bool) {
	o.t.Helper()
	steps, err := patch.Commit(o.t.Context(), o.snapshot, o.cache, patch.Diff, o.id(revision))
	o.check("commit "+revision, o.write(patch.Diff, steps, err),
		o.git("show", "--format=", "--diff-merges=first-parent", revision))
	if merge {
		return
	}
	steps, err = patch.Commit(o.t.Context(), o.snapshot, o.cache, patch.Mails, o.id(revision))
	o.check("mail of "+revision, o.write(patch.Mails, steps, err),
		o.git("format-patch", "-1", "--stdout", "--signature=repomcp", revision))
}

// commits compares each commit that a revision leads to, at most so many.
func (o *oracle) commits(revision string, most int) {
	o.t.Helper()
	list := o.git("log", "--format=%H %P", fmt.Sprintf("--max-count=%d", most), revision)
	for line := range strings.Lines(list) {
		ids := strings.Fields(line)
		o.commit(ids[0], len(ids) > 2)
	}
}

// related reports whether two commits have a merge base.
func (o *oracle) related(a, b string) bool {
	o.t.Helper()
	bases, err := history.MergeBases(o.t.Context(), o.snapshot, o.cache, o.id(a), o.id(b))
	if err != nil {
		o.t.Fatal(err)
	}
	return len(bases) > 0
}

func (o *oracle) need(least map[string]int) {
	o.t.Helper()
	o.t.Log(o.compared)
	for what, n := range least {
		if o.compared[what] < n {
			o.t.Errorf("only %d times %s was compared, not %d", o.compared[what], what, n)
		}
	}
}

// TestPatchesOfAMirrorAreGits compares over a large history: REPOMCP_BENCH_REPO.
func TestPatchesOfAMirrorAreGits(t *testing.T) {
	dir := os.Getenv("REPOMCP_BENCH_REPO")
	if dir == "" {
		t.Skip("REPOMCP_BENCH_REPO names no repository")
	}
	o := newOracle(t, gittest.Existing(t, dir))
	o.commits("HEAD", gittest.Volume(300, 5000))
	first := strings.Fields(o.git("rev-list", "--first-parent", "HEAD"))
	for i := 0; i+40 < len(first); i += len(first) / 20 {
		o.mails(first[i+40], first[i])
		o.diff(first[i+40], patch.Two, first[i])
		o.diff(first[i+40], patch.Three, first[i])
	}
	root := strings.Fields(o.git("rev-list", "--max-parents=0", "HEAD"))[0]
	o.mails(root, "HEAD")
	o.diff(root, patch.Two, "HEAD")
	o.diff("HEAD", patch.Two, root)
	o.need(map[string]int{"commit": 100, "mail": 100, "mails": 15, "diff": 40})
}

// TestPatchesOfSamplesAreGits compares all commits of the sample repositories, and their refs with
// each other.
func TestPatchesOfSamplesAreGits(t *testing.T) {
	gittest.Long(t)
	dirs, err := filepath.Glob("../../../testrepos/*.git")
	if err != nil {
		t.Fatal(err)
	}
	team, _ := filepath.Glob("../../../testrepos/team/*.git") // the pattern is valid
	for _, dir := range append(dirs, team...) {
		if filepath.Base(dir) == "fork.git" { // borrows the objects of trunk.git, which is compared
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			o := newOracle(t, gittest.Existing(t, dir))
			o.commits("--all", 200)
			refs := strings.Fields(o.git("for-each-ref", "--count=12", "--format=%(if:equals=commit)%(objecttype)%(then)"+
				"%(refname)%(end)"))
			for _, a := range refs {
				for _, b := range refs {
					o.diff(a, patch.Two, b)
					o.mails(a, b)
				}
			}
		})
	}
}

// TestNastyPatchesAreGits compares commits in which everything has to be quoted, encoded or folded.
func TestNastyPatchesAreGits(t *testing.T) {
	gittest.Long(t)
	for seed := range uint64(gittest.Volume(1, 60)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g := generate(t, seed, 80)
			o := newOracle(t, g.repo)
			o.commits("--all", 200)
			for range 25 {
				base, head := pick(g, g.commits), pick(g, g.commits)
				o.mails(base, head)
				o.diff(base, patch.Two, head)
				if o.related(base, head) {
					o.diff(base, patch.Three, head)
				}
			}
			o.need(map[string]int{"commit": 80, "mail": 50, "mails": 25, "diff": 25})
		})
	}
}

// TestShallowPatchesAreGits has commits whose parents are not there.
func TestShallowPatchesAreGits(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	g := generate(t, 1000, 60)
	dir := filepath.Join(t.TempDir(), "shallow.git")
	run(t, g.repo.Dir, nil, nil, "clone", "-q", "--bare", "--depth=6", "file://"+g.repo.Dir, dir)
	o := newOracle(t, gittest.Existing(t, dir))
	o.commits("HEAD", 30)
	list := strings.Fields(o.git("rev-list", "HEAD"))
	for _, base := range list {
		o.mails(base, "HEAD")
	}
	o.need(map[string]int{"commit": 6, "mail": 3, "mails": 6})
}
