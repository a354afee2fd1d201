package patch_test

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/git/patch"
	"github.com/repomcp/repomcp/internal/gittest"
)

// run runs git in a folder.
func run(t *testing.T, dir string, env []string, stdin io.Reader, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir, command.Env, command.Stdin = dir, append(gittest.Env(), env...), stdin
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %.1000s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestGitTakesPatches gives mails to git am and diffs to git apply, which have to make the tree of
// the head of its base.
func TestGitTakesPatches(t *testing.T) {
	gittest.Long(t)
	applied := 0
	for seed := range uint64(gittest.Volume(2, 40)) {
		g := newGenerator(t, seed+500)
		parent := ""
		for i, tree := range g.trees {
			g.commits = append(g.commits, g.repo.Store("commit", fmt.Sprintf("tree %s\n%sauthor %s 1600000000 +0200\n"+
				"committer C <c@example.com> %d +0000\n\nChange %d\n\n%s", tree, parent,
				[]string{"A U Thor <a@b>", "Ä. Rger <ü@b>", "dot. ted <d@b>"}[i%3], 1_600_000_000+i, i, "Bödy\n"[i%2:])))
			parent = "parent " + g.commits[i] + "\n"
		}
		first, last := g.commits[0], g.commits[len(g.commits)-1]
		g.repo.SetRef("refs/heads/main", last)
		o := newOracle(t, g.repo)
		steps, err := patch.Range(t.Context(), o.snapshot, o.cache, patch.Mails, o.id(first), patch.Three, o.id(last))
		mails := o.write(patch.Mails, steps, err)
		dir := filepath.Join(t.TempDir(), "worktree")
		run(t, g.repo.Dir, nil, nil, "worktree", "add", "--detach", dir, first)
		run(t, dir, nil, strings.NewReader(mails), "-c", "core.safecrlf=false", "am", "--keep-cr", "--whitespace=nowarn")
		if got, want := run(t, dir, nil, nil, "rev-parse", "HEAD^{tree}"), g.trees[len(g.trees)-1]; got != want {
			t.Errorf("seed %d: git am made the tree %s, not %s", seed, got, want)
		}
		if got, want := o.words(dir, first, "HEAD"), o.words(dir, first, "main"); got != want {
			t.Errorf("seed %d: git am made\n%s\nand there was\n%s", seed, got, want)
		}
		for i := range g.commits[1:] {
			applied += o.apply(g.commits[i], g.commits[i+1])
			applied += o.apply(g.commits[i+1], g.commits[i])
		}
	}
	if applied < gittest.Volume(60, 1000) {
		t.Errorf("only %d diffs were applied", applied)
	}
}

// apply gives a diff to git apply, unless it only says that binary files differ.
func (o *oracle) apply(base, head string) (applied int) {
	o.t.Helper()
	diff := o.write(patch.Diff, []history.Step{{Commit: o.id(head), Parent: o.id(base)}}, nil)
	if diff == "" || strings.Contains(diff, "\nBinary files ") {
		return 0
	}
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(o.t.TempDir(), "index")}
	run(o.t, o.repo.Dir, index, nil, "read-tree", base)
	run(o.t, o.repo.Dir, index, strings.NewReader(diff), "apply", "--cached", "--whitespace=nowarn")
	if got, want := run(o.t, o.repo.Dir, index, nil, "write-tree"), o.repo.Git("rev-parse", head+"^{tree}"); got != want {
		o.t.Errorf("git apply of %s..%s made the tree %s, not %s", base, head, got, want)
	}
	return 1
}

// words returns the authors, dates and messages of the commits that change something.
func (o *oracle) words(dir, base, head string) (list string) {
	o.t.Helper()
	for _, commit := range strings.Fields(run(o.t, dir, nil, nil, "rev-list", "--reverse", base+".."+head)) {
		if run(o.t, dir, nil, nil, "diff-tree", "--name-only", "--no-commit-id", commit) != "" {
			list += run(o.t, dir, nil, nil, "show", "--no-patch", "--format=%an <%ae> %ad %B", commit) + "\n"
		}
	}
	return list
}
