package repos_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

func TestCheckNoticesARootThatIsGone(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "mirrors")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	catalogue := repostest.Open(t, root, repos.Options{})
	if err := catalogue.Check(); err != nil {
		t.Fatalf("a root that is there: %v", err)
	}
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	if err := catalogue.Check(); err == nil || strings.Contains(err.Error(), root) {
		t.Errorf("a deleted root: %v", err)
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := catalogue.Check(); err == nil {
		t.Error("another folder in the place of the root passes for it")
	}
}

// What is left out is logged once with its reason, however often the root is
// walked; links to repositories inside the root are followed.
func TestWhatTheCatalogueFollowsAndLeavesOut(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	gittest.At(t, filepath.Join(outside, "secret.git"))
	inside := gittest.At(t, filepath.Join(root, "store", "inside.git"))
	inside.Commit("main", gittest.Regular("a", "1"))
	gittest.At(t, filepath.Join(root, "clone", ".git"))
	gittest.At(t, filepath.Join(root, "bad name.git"))
	for link, target := range map[string]string{
		"linked.git": "store/inside.git", "absolute": filepath.Join(root, "store", "inside.git"), "chain": "linked.git",
		"working": "clone", "folder": "store", "loop": ".",
		"secret.git": filepath.Join(outside, "secret.git"), "climbing": "../" + filepath.Base(outside) + "/secret.git",
		"nowhere": "none", "self": "self",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	inside.Git("worktree", "add", "--quiet", filepath.Join(root, "tree"), "main")
	var log strings.Builder
	catalogue := repostest.Open(t, root, repos.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Rescan: time.Millisecond})
	want := "absolute chain clone linked store/inside working"
	if got := strings.Join(catalogue.Names(), " "); got != want {
		t.Errorf("names %q, want %q", got, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // many walks
	defer cancel()
	catalogue.Watch(ctx)
	for _, part := range []string{`folder="bad name.git"`, "folder=tree", "first=climbing"} {
		if n := strings.Count(log.String(), part); n != 1 {
			t.Errorf("%s is logged %d times: %s", part, n, &log)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 3 {
		t.Errorf("%d lines: %s", n, &log)
	}
	head, err := repostest.Snapshot(t, catalogue, "linked").Resolve(t.Context(), "HEAD")
	if err != nil || head.ID.String() != inside.Git("rev-parse", "main") {
		t.Errorf("through a link: %v, %v", head.ID, err)
	}
	for _, name := range []string{"linked.git", "store/inside.git"} {
		if _, err := catalogue.Get(name); err != nil {
			t.Errorf("Get(%q): %v", name, err)
		}
	}
	if r, rest, err := catalogue.Longest("store/inside.git/refs/x"); err != nil || r.Name() != "store/inside" ||
		rest != "/refs/x" {
		t.Errorf("Longest: %v, %q, %v", r, rest, err)
	}
	for _, name := range []string{"secret", "climbing", "folder/inside", "loop/linked", "tree", "self"} {
		if _, err := catalogue.Get(name); !errors.Is(err, git.ErrNotFound) {
			t.Errorf("Get(%q): %v, want not found", name, err)
		}
	}
}

func TestARootWithoutRepositoriesSaysSo(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	repostest.Open(t, t.TempDir(), repos.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "git clone --mirror") {
		t.Errorf("log: %s", &log)
	}
}
