package git_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestTipsAreThoseOfGit(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	hidden := func(name string) bool { return strings.HasPrefix(name, "refs/keep-around/") }
	repository := open(t, root, git.StoreOptions{}).Repository("repo.git", git.Options{
		Hidden: func(func(keys ...string) []string) func(name string) bool { return hidden },
	})
	states := make(map[string]string)
	checked := 0
	for _, step := range []struct {
		name  string
		do    func()
		moved bool
	}{
		{"empty", func() {}, true},
		{"commit", func() { repo.Commit("main", gittest.Regular("a", "1")) }, true},
		{"branch", func() { repo.Git("branch", "dir/topic", "main") }, true},
		{"tags", func() { repo.Git("tag", "v1", "main"); repo.Git("tag", "-a", "-m", "x", "v2", "main") }, true},
		{"symbolic", func() { repo.Git("symbolic-ref", "refs/heads/alias", "refs/heads/main") }, true},
		{"packed", func() { repo.Git("pack-refs", "--all") }, false},
		{"loose over packed", func() { repo.Commit("main", gittest.Regular("a", "2")) }, true},
		{"repacked", func() { repo.Git("gc", "--quiet") }, false},
		{"hidden", func() { repo.Git("update-ref", "refs/keep-around/x", "main") }, false},
		{"HEAD elsewhere", func() { repo.Git("symbolic-ref", "HEAD", "refs/heads/dir/topic") }, true},
		{"HEAD nowhere", func() { repo.Git("symbolic-ref", "HEAD", "refs/heads/unborn") }, true},
		{"deleted", func() { repo.Git("update-ref", "-d", "refs/heads/dir/topic") }, true},
	} {
		step.do()
		tips, err := repository.Tips()
		if err != nil {
			t.Fatal(step.name, err)
		}
		var want, got []string
		for line := range strings.Lines(repo.Git("for-each-ref", "--format=%(refname) %(objectname)")) {
			if !hidden(line) {
				want = append(want, strings.TrimSpace(line))
			}
		}
		for _, name := range tips.Names {
			id, _ := tips.ID(name)
			got = append(got, name+" "+id.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", step.name, got, want)
		}
		checked += len(want)
		if branch := strings.TrimPrefix(repo.Git("symbolic-ref", "HEAD"),
			"refs/heads/"); tips.DefaultBranch() != branch {
			t.Errorf("%s: default branch %q, want %q", step.name, tips.DefaultBranch(), branch)
		}
		if before, seen := states[tips.State()]; seen == step.moved {
			t.Errorf("%s: the state was seen before: %v (%s)", step.name, seen, before)
		}
		states[tips.State()] = step.name
		if name, id, _ := repository.HeadTip(); name != "" && fmt.Sprint(id) != repo.Git("rev-parse", "HEAD") {
			t.Errorf("%s: HEAD is %s at %s", step.name, name, id)
		}
	}
	if checked < 30 {
		t.Errorf("only %d refs were compared", checked)
	}
	if err := os.RemoveAll(repo.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := repository.Tips(); !errors.Is(err, git.ErrNotFound) {
		t.Errorf("tips of a repository that is gone: %v", err)
	}
}

// BenchmarkTips reads a thousand packed refs, as each list does.
func BenchmarkTips(b *testing.B) {
	store, _ := packedRefs(b)
	repository := store.Repository("repo.git", git.Options{})
	for b.Loop() {
		if tips, err := repository.Tips(); err != nil || len(tips.Names) != 1001 {
			b.Fatal(tips, err)
		}
	}
}

// BenchmarkCommitByID asks whether one of a thousand packed refs leads to a commit.
func BenchmarkCommitByID(b *testing.B) {
	store, id := packedRefs(b)
	for b.Loop() {
		s, err := store.Repository("repo.git", reachable).Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Resolve(b.Context(), id); err != nil {
			b.Fatal(err)
		}
		_ = s.Close()
	}
}

// packedRefs makes a repository with a commit, to which a thousand packed refs lead that are old.
func packedRefs(b *testing.B) (store *git.Store, id string) {
	root := b.TempDir()
	repo := gittest.At(b, filepath.Join(root, "repo.git"))
	id = repo.Commit("main", gittest.Regular("a", "1"))
	var packed strings.Builder
	packed.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for i := range 1000 {
		fmt.Fprintf(&packed, "%s refs/tags/v%04d\n^%s\n", id, i, id)
	}
	file, old := filepath.Join(repo.Dir, "packed-refs"), time.Now().Add(-time.Hour)
	if err := errors.Join(os.WriteFile(file, []byte(packed.String()), 0o600), os.Chtimes(file, old, old)); err != nil {
		b.Fatal(err)
	}
	return open(b, root, git.StoreOptions{}), id
}
