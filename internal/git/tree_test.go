package git_test

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// storeTree stores a tree that git itself may not write: each entry is a mode
// and a name.
func storeTree(t *testing.T, repo *gittest.Repo, id string, entries ...[2]string) git.ID {
	t.Helper()
	bytes, err := hex.DecodeString(id)
	if err != nil {
		t.Fatal(err)
	}
	var content strings.Builder
	for _, e := range entries {
		content.WriteString(e[0] + " " + e[1] + "\x00" + string(bytes))
	}
	tree, err := git.ParseID(repo.Store("tree", content.String()))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// Trees of a few confusable names, files and folders: what git fsck calls a
// duplicate is refused, and nothing else is. Of trees out of order it says only
// that; there the names themselves are compared.
func TestTreesWithANameTwiceAreRefused(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	blob := repo.Store("blob", "x")
	names := []string{"a", "a.b", "a.b.c", "a-", "a0", "b"}
	random := rand.New(rand.NewPCG(1, 2))
	trees := make(map[git.ID]bool) // whether a name is there twice
	for range 600 {
		var entries [][2]string
		for range 1 + random.IntN(5) {
			entries = append(entries, [2]string{[]string{"100644", "40000", "120000"}[random.IntN(3)],
				names[random.IntN(len(names))]})
		}
		if random.IntN(4) > 0 {
			slices.SortStableFunc(entries,
				func(a, b [2]string) int { return strings.Compare(orderKey(a), orderKey(b)) })
		}
		seen, twice := make(map[string]bool), false
		for _, e := range entries {
			twice = twice || seen[e[1]]
			seen[e[1]] = true
		}
		trees[storeTree(t, repo, blob, entries...)] = twice
	}
	found, unsorted := make(map[string]bool), make(map[string]bool)
	fsck := exec.Command("git", "fsck", "--no-dangling")
	fsck.Dir, fsck.Env = repo.Dir, gittest.Env()
	report, _ := fsck.CombinedOutput() // fails for what it finds
	for line := range strings.Lines(string(report)) {
		if id, ok := strings.CutPrefix(line, "error in tree "); ok {
			found[id[:40]] = found[id[:40]] || strings.Contains(line, "duplicateEntries")
			unsorted[id[:40]] = unsorted[id[:40]] || strings.Contains(line, "treeNotSorted")
		}
	}
	s := snap()
	duplicates := 0
	for id, twice := range trees {
		if !unsorted[id.String()] && found[id.String()] != twice {
			t.Fatalf("%s: git finds a duplicate: %v", id, found[id.String()])
		}
		if twice {
			duplicates++
		}
		entries, err := s.Tree(id)
		if refused := errors.Is(err, git.ErrCorrupt); refused != twice || err != nil && !refused {
			t.Errorf("%s: %v, a name is there twice: %v (%s)", id, err, twice, repo.Git("ls-tree", id.String()))
		}
		if err == nil && len(entries) == 0 {
			t.Errorf("%s: no entries", id)
		}
	}
	if len(trees) < 300 || duplicates < 50 || len(trees)-duplicates < 50 || len(unsorted) < 50 {
		t.Errorf("%d trees, %d of them with duplicates, %d out of order", len(trees), duplicates, len(unsorted))
	}
}

func orderKey(e [2]string) string {
	if e[0] == "40000" {
		return e[1] + "/"
	}
	return e[1]
}

func TestTreePagesAreTheTree(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	var files []gittest.File
	for _, name := range []string{"a", "a.b/x", "a0", "b/x", "c", "d/x", "e"} {
		files = append(files, gittest.Regular(name, name))
	}
	repo.Commit("main", files...)
	s := snap()
	head, err := s.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Tree(head.Tree)
	if err != nil {
		t.Fatal(err)
	}
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []git.TreeEntry
		after, more := "", true
		for more {
			var page []git.TreeEntry
			if page, more, err = s.TreePage(head.Tree, after, limit); err != nil || len(page) > limit ||
				len(page) == 0 {
				t.Fatalf("%d after %q: %v, %v", limit, after, page, err)
			}
			got, after = append(got, page...), page[len(page)-1].Name
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v", limit, got)
		}
	}
	if _, _, err := s.TreePage(head.Tree, "nothing", 1); !errors.Is(err, git.ErrNotFound) {
		t.Errorf("after what is not there: %v", err)
	}
}

// TestTheEmptyTreeNeedsNoObject, as in git: `git commit-tree` of its id makes none.
func TestTheEmptyTreeNeedsNoObject(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	const empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	repo.Git("update-ref", "refs/heads/main", repo.Git("commit-tree", empty, "-m", "root"))
	s := snapshot(t, open(t, root, git.StoreOptions{}), "repo", git.Options{})
	commit, err := s.Resolve(t.Context(), "main")
	if err != nil || commit.Tree.String() != empty {
		t.Fatal(commit, err)
	}
	if entries, err := s.Tree(commit.Tree); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if has, err := s.Has(commit.Tree); err != nil || !has {
		t.Errorf("%t, %v", has, err)
	}
	other, _ := git.ParseID(strings.Replace(empty, "4b", "4c", 1))
	if _, err := s.Tree(other); !errors.Is(err, git.ErrNotFound) {
		t.Errorf("another tree that is not there: %v", err)
	}
}
