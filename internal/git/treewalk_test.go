package git_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestWalkHasTheEntriesOfGit compares with git ls-tree, of a whole tree and of a
// folder, with folders that are not entered.
func TestWalkHasTheEntriesOfGit(t *testing.T) {
	t.Parallel()
	repo, open := one(t)
	var files []gittest.File
	for _, name := range []string{"a", "a.b", "a-/f", "b/c/d/e", "b/c.d", "b.c/x", "z"} {
		files = append(files, gittest.Regular(name, name))
	}
	repo.Commit("main", files...)
	snapshot := open()
	commit, err := snapshot.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		folder, passed string
		arguments      []string
	}{
		{"", "", []string{"-r", "-t", "HEAD"}},
		{"b", "", []string{"-r", "-t", "HEAD", "b/"}},
		{"", "b", []string{"-r", "-t", "HEAD", "a", "a.b", "a-/", "z", "b.c/"}},
	} {
		top, err := snapshot.Lookup(commit.Tree, c.folder)
		if err != nil {
			t.Fatal(err)
		}
		list, err := snapshot.Tree(top.ID)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for e, err := range git.WalkTree(c.folder, list, func(e git.WalkedEntry) ([]git.TreeEntry, error) {
			if !e.Mode.IsDir() || e.Name == c.passed {
				return nil, nil
			}
			return snapshot.Tree(e.ID)
		}) {
			if err != nil {
				t.Fatal(err)
			}
			if depth := strings.Count(strings.TrimPrefix(string(e.Path), c.folder+"/"), "/") + 1; e.Depth != depth {
				t.Errorf("%s is %d folders deep, not %d", e.Path, e.Depth, depth)
			}
			if string(e.Path) != c.passed {
				got = append(got, fmt.Sprintf("%s %s\t%s", e.Mode, e.ID, e.Path))
			}
		}
		slices.Sort(got)
		want := gitTree(repo, c.folder, c.arguments...)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%q without %q: %q, git has %q", c.folder, c.passed, got, want)
		}
	}
}

// gitTree lists what ls-tree does, but for the folder itself and for types.
func gitTree(repo *gittest.Repo, folder string, arguments ...string) (lines []string) {
	for line := range strings.SplitSeq(repo.Git(append([]string{"ls-tree"}, arguments...)...), "\n") {
		fields := strings.Fields(line)
		if fields[3] != folder {
			lines = append(lines, fmt.Sprintf("%s %s\t%s", fields[0], fields[2], fields[3]))
		}
	}
	return lines
}

func TestWalkEndsWithTheErrorOfAFolder(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong")
	entries := []git.TreeEntry{{Name: "a", Mode: git.ModeDir}, {Name: "b", Mode: git.ModeRegular}}
	var got []string
	for e, err := range git.WalkTree("", entries, func(git.WalkedEntry) ([]git.TreeEntry, error) {
		return nil,
			wrong
	}) {
		got = append(got, fmt.Sprint(e.Name, err))
	}
	if want := []string{"a<nil>", "wrong"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
