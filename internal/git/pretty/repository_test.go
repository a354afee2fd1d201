package pretty_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/pretty"
	"github.com/repomcp/repomcp/internal/git/subst"
	"github.com/repomcp/repomcp/internal/gittest"
)

// refFormats depend on more than the commit.
var refFormats = []string{
	"$Format:%d|%D|%h|%t|%p|%P|%T|%H$", "$Format:%s|%an|%aN <%aE> %aL|%b$", "$Format:%cN|%(describe:tags)$",
}

func plainCommit(tree, parents, subject string) string {
	return "tree " + tree + "\n" + parents + "author Joe Wrong <joe@wrong.org> 1600000000 +0000\n" +
		"committer A <a@b> 1600000000 +0000\n\n" + subject + "\n"
}

// TestReplacementRefsHaveNoPart has refs that would give commits other texts
// and parents.
func TestReplacementRefsHaveNoPart(t *testing.T) {
	repo := gittest.New(t)
	tree := treeOf(t, repo, mailmap, refFormats)
	root := store(t, repo, "commit", plainCommit(tree, "", "root"))
	lost := store(t, repo, "commit", plainCommit(tree, "", "older root"))
	annotate(t, repo, "v1", "commit", lost, 1)
	child := store(t, repo, "commit", plainCommit(tree, "parent "+root+"\n", "child"))
	grafted := store(t, repo, "commit", plainCommit(tree, "parent "+lost+"\n", "new text"))
	second := store(t, repo, "commit", plainCommit(tree, "parent "+lost+"\n", "second text"))
	repo.Git("update-ref", "refs/heads/main", child)
	repo.Git("update-ref", "refs/replace/"+root, grafted)
	repo.Git("update-ref", "refs/replace/"+grafted, second)
	repo.Git("update-ref", "refs/replace/not-an-id", grafted)
	compared := 0
	for label, commit := range map[string]string{"root": root, "child": child, "grafted": grafted, "second": second} {
		compared += compare(t, repo, label, commit, refFormats)
	}
	if compared != 4*len(refFormats) {
		t.Errorf("%d comparisons", compared)
	}
}

func TestShallowHistory(t *testing.T) {
	origin := gittest.New(t)
	tree := treeOf(t, origin, "", refFormats)
	parent := ""
	var commits []string
	for i := range 5 {
		commits = append(commits, store(t, origin, "commit", plainCommit(tree, parent, fmt.Sprint("commit ", i))))
		parent = "parent " + commits[i] + "\n"
	}
	origin.Git("update-ref", "refs/heads/main", commits[4])
	annotate(t, origin, "v0", "commit", commits[1], 1)
	annotate(t, origin, "v3", "commit", commits[3], 1)
	dir := filepath.Join(t.TempDir(), "shallow.git")
	origin.Git("clone", "--quiet", "--bare", "--depth=2", "--no-tags", "file://"+origin.Dir, dir)
	shallow := &gittest.Repo{Dir: dir}
	compared := compare(t, shallow, "tip", commits[4], refFormats) + compare(t, shallow, "boundary", commits[3],
		refFormats)
	if compared != 2*len(refFormats) {
		t.Errorf("%d comparisons", compared)
	}
}

// TestAbbreviationsGrow has more packed objects than seven digits are for.
func TestAbbreviationsGrow(t *testing.T) {
	gittest.Long(t)
	repo := gittest.New(t)
	tree := treeOf(t, repo, "", refFormats)
	commit := store(t, repo, "commit", plainCommit(tree, "", "x"))
	repo.Git("update-ref", "refs/heads/main", commit)
	var in bytes.Buffer
	for i := range 1 << 14 {
		content := fmt.Sprint("object ", i)
		fmt.Fprintf(&in, "blob\ndata %d\n%s\n", len(content), content)
	}
	repo.GitInput(in.Bytes(), "fast-import", "--quiet")
	compared := compare(t, repo, "one pack", commit, refFormats)
	if short := repo.Git("rev-parse", "--short", commit); len(short) < 8 {
		t.Errorf("git abbreviates to %s: the test is about longer ones", short)
	}
	repo.Git("repack", "-q", "-d")
	compared += compare(t, repo, "two packs", commit, refFormats)
	if compared != 2*len(refFormats) {
		t.Errorf("%d comparisons", compared)
	}
}

// fatalFormats make git fail with some commit.
var fatalFormats = []struct{ format, person, headers string }{
	{"%ad", "A <a@b> 0 -0500", ""},
	{"%ai", "A <a@b> 3599 -0100", ""},
	{"%ah", "A <a@b> 10 -0001", ""},
	{"%aI", "A <a@b> 9223372036854775807 +0001", ""},
	{"%C(always,nonsense)", "A <a@b> 1 +0000", ""},
	{"%C(always,red blue green)", "A <a@b> 1 +0000", ""},
	{"%C(always,256)", "A <a@b> 1 +0000", ""},
	{"%G?", "A <a@b> 1 +0000", "gpgsig nonsense\n"},
	{"text                    %>>|(3)%+an", "A <a@b> 1 +0000", ""},
	{"text                    %>>|(3)% an", "A <a@b> 1 +0000", ""},
}

func TestGivesUpWhereGitDoes(t *testing.T) {
	repo := gittest.New(t)
	for _, c := range fatalFormats {
		source := "$Format:" + c.format + "$"
		tree := treeOf(t, repo, "", []string{source})
		commit := store(t, repo, "commit", "tree "+tree+"\nauthor "+c.person+"\ncommitter A <a@b> 1 +0000\n"+c.headers+
			"\na long subject\n")
		if _, _, ok := gitArchive(t, repo, commit); ok {
			t.Errorf("%q with %q: git makes an archive", c.format, c.person)
		}
		id, err := git.ParseID(commit)
		if err != nil {
			t.Fatal(err)
		}
		var fatal *pretty.FatalError
		if got, err := subst.Append(t.Context(), pretty.New(snapshotOf(t, repo), id, clock), nil,
			[]byte(source)); !errors.As(err, &fatal) {
			t.Errorf("%q with %q: %q, %v", c.format, c.person, got, err)
		}
	}
}

// TestNearlyFatalDates are on the other side of the same bounds.
func TestNearlyFatalDates(t *testing.T) {
	repo := gittest.New(t)
	compared := 0
	sources := []string{"$Format:%ad$", "$Format:%ai %aI %as %ah %aD %at %ar$"}
	tree := treeOf(t, repo, "", sources)
	for _, person := range []string{
		"A <a@b> 18000 -0500", "A <a@b> 3600 -0100", "A <a@b> 60 -0001", "A <a@b> 9223372036854775807 +0000",
		"A <a@b> 67768036191676799 +0000", "A <a@b> 67768036191673200 +0100", "A <a@b> 0 +0001",
		"A <a@b> 1 -2147483648",
		"A <a@b> 1 +2147483647", "A <a@b> 9223372036854775808 -0100", "A <a@b> 18446744073709551615 +0000",
	} {
		commit := store(t, repo, "commit", "tree "+tree+"\nauthor "+person+"\ncommitter A <a@b> 1 +0000\n\nx\n")
		compared += compare(t, repo, person, commit, sources)
	}
	if compared < 20 {
		t.Errorf("%d comparisons", compared)
	}
}

// TestSignedCommits uses signatures that cannot be verified.
func TestSignedCommits(t *testing.T) {
	gittest.Long(t)
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("git needs gpg to say that it cannot check a signature")
	}
	repo := gittest.New(t)
	sources := []string{"$Format:%G?|%GS|%GF|%GP|$"}
	tree := treeOf(t, repo, "", sources)
	compared := 0
	for i, signature := range []string{pgpSignature, sshSignature} {
		header := "gpgsig " + strings.ReplaceAll(strings.TrimSpace(signature), "\n", "\n ") + "\n"
		commit := store(t, repo, "commit", "tree "+tree+"\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n"+header+
			"\nx\n")
		compared += compare(t, repo, fmt.Sprint("signature ", i), commit, sources)
	}
	if compared != 2 {
		t.Errorf("%d comparisons", compared)
	}
}

// TestMailmapOfHEAD has no HEAD, then one without a mailmap, then others.
func TestMailmapOfHEAD(t *testing.T) {
	repo := gittest.New(t)
	plain := repo.Commit("plain", gittest.Regular("a", "b"))
	folder := repo.Commit("folder", gittest.Regular(".mailmap/x", "Other <joe@wrong.org>"))
	link := repo.Commit("link", gittest.Symlink(".mailmap", "Linked <joe@wrong.org>"))
	mapped := repo.Commit("mapped", gittest.Regular(".mailmap", mailmap))
	tree := treeOf(t, repo, "Not HEAD <joe@wrong.org>\n", refFormats)
	commit := store(t, repo, "commit", plainCommit(tree, "", "x"))
	compared := 0
	for label, head := range map[string]string{"none": "", "plain": plain, "folder": folder, "link": link,
		"mapped": mapped} {
		if err := os.WriteFile(filepath.Join(repo.Dir, "HEAD"), []byte("ref: refs/heads/unborn\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if head != "" {
			repo.Git("update-ref", "--no-deref", "HEAD", head)
		}
		compared += compare(t, repo, label, commit, refFormats)
	}
	if compared != 5*len(refFormats) {
		t.Errorf("%d comparisons", compared)
	}
}
