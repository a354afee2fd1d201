package dotgit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// worktree is a repository with a working tree.
func worktree(t testing.TB, files ...gittest.File) (r *gittest.Repo, dir string) {
	t.Helper()
	source := gittest.New(t)
	source.Commit("main", files...)
	dir = filepath.Join(t.TempDir(), "worktree")
	source.Git("clone", "-q", ".", dir)
	return gittest.Existing(t, dir), dir
}

func someFiles(n int) (files []gittest.File) {
	for i := range n {
		files = append(files, gittest.Regular(fmt.Sprintf("d%d/e%d/f%d", i%7, i%5, i), fmt.Sprint(i)))
	}
	return append(files, gittest.Regular("a", "a"), gittest.Executable("x", "x"), gittest.Symlink("l", "a"),
		gittest.Gitlink("m", strings.Repeat("1", 40)), gittest.Regular("long/"+strings.Repeat("p", 240)+"/"+strings.Repeat("q", 240), ""),
		gittest.Regular("d1-", ""), gittest.Regular("d1.x", ""))
}

// states are changes of an index by git.
var states = map[string][][]string{
	"as cloned":   nil,
	"version 4":   {{"update-index", "--index-version=4"}},
	"version 3":   {{"update-index", "--skip-worktree", "a"}},
	"assumed":     {{"update-index", "--assume-unchanged", "a", "x"}},
	"refreshed":   {{"update-index", "--refresh"}},
	"removed":     {{"rm", "-q", "--cached", "a", "d1/e1/f1"}},
	"read anew":   {{"read-tree", "HEAD"}},
	"no checksum": {{"config", "index.skipHash", "true"}, {"update-index", "--force-write-index"}},
	"untracked":   {{"update-index", "--untracked-cache"}},
	"in conflict": {{"checkout", "-q", "-b", "side"}, {"rm", "-q", "a"}, {"commit", "-qm", "side"}, {"checkout", "-q", "main"},
		{"update-index", "--cacheinfo", "100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,a"}, {"commit", "-qm", "main"},
		{"read-tree", "-i", "-m", "HEAD~1", "HEAD", "side"}},
	"to be added": {{"rm", "-q", "--cached", "d1/e1/f1"}, {"add", "-N", "d1/e1/f1"}},
}

// TestIndexIsWrittenAsItWas has git make indexes of all kinds, and compares what git says about them before and
// after they were read and written.
func TestIndexIsWrittenAsItWas(t *testing.T) {
	t.Parallel()
	same := 0
	for name, commands := range states {
		t.Run(name, func(t *testing.T) {
			r, dir := worktree(t, someFiles(100)...)
			for _, command := range commands {
				r.Git(command...)
			}
			at := filepath.Join(dir, ".git", "index")
			content, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			x, err := ParseIndex(content)
			if err != nil {
				t.Fatal(err)
			}
			questions := [][]string{
				{"ls-files", "--stage", "-v"}, {"ls-files", "--debug", "-t"}, {"diff-index", "--cached", "HEAD"}, {"status", "--porcelain"},
			}
			var before []string
			for _, question := range questions[:3] {
				before = append(before, r.Git(question...))
			}
			if err := x.WriteFile(at); err != nil {
				t.Fatal(err)
			}
			for i, question := range questions[:3] {
				if got := r.Git(question...); got != before[i] {
					t.Errorf("git %v: %s, want %s", question, got, before[i])
				}
			}
			var again bytes.Buffer
			if n, err := x.WriteTo(&again); err != nil || n != int64(again.Len()) {
				t.Error(n, err)
			}
			if bytes.Equal(again.Bytes(), content) {
				same++
			}
			r.Git("fsck", "--strict")
		})
	}
	if same < 5 {
		t.Errorf("%d of %d are the same bytes", same, len(states))
	}
}

func TestIndexOfAnotherFormIsRefused(t *testing.T) {
	t.Parallel()
	for name, commands := range map[string][][]string{
		"split":  {{"update-index", "--split-index"}},
		"sparse": {{"sparse-checkout", "set", "--cone", "--sparse-index", "d1"}},
	} {
		r, dir := worktree(t, someFiles(100)...)
		for _, command := range commands {
			r.Git(command...)
		}
		content, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseIndex(content); err == nil {
			t.Errorf("an index that is %s was read", name)
		}
	}
	r, dir := worktree(t, someFiles(20)...)
	r.Git("update-index", "--refresh")
	content, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for at := range content {
		damaged := slices.Clone(content)
		damaged[at] ^= 0x10
		if _, err := ParseIndex(damaged); err != nil {
			refused++
		}
		if _, err := ParseIndex(content[:at]); err == nil {
			t.Fatalf("an index of %d of %d bytes was read", at, len(content))
		}
	}
	if refused != len(content) {
		t.Errorf("%d of %d damaged indexes were refused", refused, len(content))
	}
}

func FuzzIndex(f *testing.F) {
	r, dir := worktree(f, someFiles(5)...)
	r.Git("update-index", "--index-version=4")
	content, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content[:len(content)-20])
	f.Fuzz(func(t *testing.T, body []byte) {
		x, err := ParseIndex(append(body, make([]byte, 20)...))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if _, err := x.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		again, err := ParseIndex(out.Bytes())
		if err != nil || !slices.Equal(again.Entries, x.Entries) {
			t.Errorf("%v %v is %v", err, again, x)
		}
	})
}

// TestFoldersAreThoseOfGit compares the cache tree that is made with the one of git.
func TestFoldersAreThoseOfGit(t *testing.T) {
	t.Parallel()
	r, dir := worktree(t, someFiles(300)...)
	r.Git("read-tree", "HEAD")
	content, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := ParseIndex(content)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(x.folders)
	trees := map[string]git.ID{}
	for _, f := range want {
		trees[f.path] = f.id
	}
	x.setFolders(func(path string) (git.ID, bool) {
		id, ok := trees[path]
		return id, ok
	})
	byPath := func(a, b folder) int { return strings.Compare(a.path, b.path) }
	slices.SortFunc(want, byPath)
	got := slices.SortedFunc(slices.Values(x.folders), byPath)
	if !slices.Equal(got, want) || len(got) < 40 {
		t.Errorf("%v, want %v", got, want)
	}
	delete(trees, "d1/e1/")
	x.setFolders(func(path string) (git.ID, bool) {
		id, ok := trees[path]
		return id, ok
	})
	for _, f := range x.folders {
		if f.valid == slices.Contains([]string{"", "d1/", "d1/e1/"}, f.path) {
			t.Errorf("%q is valid: %v", f.path, f.valid)
		}
	}
	if err := x.WriteFile(filepath.Join(dir, ".git", "index")); err != nil {
		t.Fatal(err)
	}
	if got, want := r.Git("write-tree"), r.Git("rev-parse", "HEAD^{tree}"); got != want {
		t.Errorf("git makes the tree %s, want %s", got, want)
	}
}

// The day on which this fails, the index may be that of go-git.
func TestGoGitLosesPartsOfAnIndex(t *testing.T) {
	t.Parallel()
	r, dir := worktree(t, someFiles(10)...)
	r.Git("read-tree", "HEAD")
	r.Git("update-index", "--assume-unchanged", "a")
	content, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	if err != nil {
		t.Fatal(err)
	}
	read := &index.Index{}
	if err := index.NewDecoder(bytes.NewReader(content)).Decode(read); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := index.NewEncoder(&out).Encode(read); err != nil {
		t.Fatal(err)
	}
	x, err := ParseIndex(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if x.folders != nil || slices.ContainsFunc(x.Entries, func(e Entry) bool { return e.AssumeValid }) {
		t.Error("go-git keeps the cache tree, or what a user has assumed")
	}
}

func BenchmarkIndex(b *testing.B) {
	entries := make([]Entry, 100_000)
	theirs := &index.Index{Version: 2}
	for i := range entries {
		entries[i] = Entry{Path: fmt.Sprintf("folder%03d/inner%02d/file%05d.go", i/1000, i/100%10, i), Mode: git.ModeRegular}
		theirs.Entries = append(theirs.Entries, &index.Entry{Name: entries[i].Path, Mode: 0o100644})
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			_, _ = (&Index{Entries: entries}).WriteTo(&bytes.Buffer{})
		}
	})
	b.Run("write with go-git", func(b *testing.B) {
		for b.Loop() {
			_ = index.NewEncoder(&bytes.Buffer{}).Encode(theirs)
		}
	})
	var out bytes.Buffer
	_, _ = (&Index{Entries: entries}).WriteTo(&out)
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			_, _ = ParseIndex(out.Bytes())
		}
	})
	b.Run("read with go-git", func(b *testing.B) {
		for b.Loop() {
			_ = index.NewDecoder(bytes.NewReader(out.Bytes())).Decode(&index.Index{})
		}
	})
}
