package repos_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

func TestDamagedRefsAreLoggedOnce(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	const branches = 40
	for pattern, damage := range map[string]struct {
		named string // in the line of the log
		edit  func([]byte) []byte
	}{
		"refs/heads/b7":       {"refs/heads/b7", func([]byte) []byte { return []byte("\n") }},
		"objects/pack/*.pack": {"refs/heads/b0", func(c []byte) []byte { return c[:len(c)-40] }},
		"objects/pack/*.idx":  {"refs/heads/b0", func([]byte) []byte { return nil }},
	} {
		var log strings.Builder
		root := t.TempDir()
		repo := gittest.At(t, filepath.Join(root, "repo.git"))
		repo.Commit("main", gittest.Regular("f", "1"))
		repo.Git("repack", "-adq")
		for i := range branches {
			repo.Git("update-ref", fmt.Sprint("refs/heads/b", i), "main")
		}
		repo.Change(pattern, damage.edit)
		s := repostest.Snapshot(t, repostest.Open(t, root, repos.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}), "repo")
		for range 3 {
			if refs, err := s.Refs(); err != nil || len(refs) != branches+1 {
				t.Fatalf("%s: %d refs, %v, want %d", pattern, len(refs), err, branches+1)
			}
			if tags, err := s.RefsBelow(git.TagPrefix); err != nil || len(tags) != 0 { // they are sound
				t.Fatalf("%s: %d tags, %v", pattern, len(tags), err)
			}
		}
		got := log.String()
		if strings.Count(got, "refs of a repository cannot be read") != 1 || !strings.Contains(got, damage.named) {
			t.Errorf("%s: the log has %s, want one line on refs that names %s", pattern, got, damage.named)
		}
	}
}

// A named pipe in the place of any file of a mirror is refused at once, and other
// repositories do not feel it. Where it waits for a writer the test never ends.
func TestNamedPipesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"packed-refs", "description", "info/attributes", "shallow", "config", "HEAD", "refs/heads/main",
		"refs/heads/pipe",
		"objects/info/alternates", "objects/pack/multi-pack-index", "info/grafts",
	} {
		root := t.TempDir()
		repo := gittest.At(t, filepath.Join(root, "repo.git"))
		repo.Commit("main", gittest.Regular("a", "1"))
		sound := gittest.At(t, filepath.Join(root, "sound.git"))
		want := sound.Commit("main", gittest.Regular("a", "1"))
		catalogue := repostest.Open(t, root, repos.Options{})
		repository, err := catalogue.Get("repo")
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(repo.Dir, file)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = repository.Description()
		_, _, _ = repository.HeadTip()
		_, tipsErr := repository.Tips()
		_ = repository.RefStamp()
		_, _, _ = repository.LongestRef("refs/heads/", "main", "")
		if s, err := repository.Snapshot(); err == nil {
			_, refsErr := s.Refs()
			_, headErr := s.Resolve(t.Context(), "HEAD")
			_, shallowErr := s.Shallow()
			_, attributesErr := s.InfoAttributes()
			failed := map[string]error{"packed-refs": errors.Join(tipsErr, refsErr), "refs/heads/main": headErr,
				"HEAD": headErr, "shallow": shallowErr, "info/attributes": attributesErr}
			if err, expected := failed[file]; expected && !errors.Is(err, git.ErrCorrupt) {
				t.Errorf("%s: %v, want damage", file, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if head, err := repostest.Snapshot(t, catalogue, "sound").Resolve(t.Context(), "HEAD"); err != nil ||
			head.ID.String() != want {
			t.Errorf("%s: the other repository: %v, %v", file, head.ID, err)
		}
	}
}

func TestHiddenRefsAreNotServed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	secret := repo.Commit("hidden/secret", gittest.Regular("a", "secret"))
	repo.Commit("main", gittest.Regular("a", "1"))
	for _, name := range []string{"refs/pull/1/head", "refs/pull/2/head", "refs/pulled", "refs/heads/hidden/shown",
		"refs/changes/1", "refs/stash"} {
		repo.Git("update-ref", name, "main")
	}
	repo.Git("symbolic-ref", "refs/heads/alias", "refs/heads/hidden/secret")
	for _, set := range [][2]string{{"transfer.hideRefs", "refs/pull/"}, {"transfer.hideRefs", "!refs/pull/2"},
		{"uploadpack.hideRefs", "refs/heads/hidden"}, {"receive.hideRefs", "refs/heads/main"}} {
		repo.Git("config", "--add", set[0], set[1])
	}
	served := func(options repos.Options) string {
		var names []string
		s := repostest.Snapshot(t, repostest.Open(t, root, options), "repo")
		refs, err := s.Refs()
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range refs {
			names = append(names, strings.TrimPrefix(ref.Name, "refs/"))
		}
		return strings.Join(names, " ")
	}
	// git ls-remote lists what upload-pack shows.
	var asGit []string
	for line := range strings.Lines(repo.Git("ls-remote", repo.Dir)) {
		if name := strings.Fields(line)[1]; name != "HEAD" && name != "refs/stash" && name != "refs/heads/alias" {
			asGit = append(asGit, strings.TrimPrefix(name, "refs/"))
		}
	}
	if got, want := served(repos.Options{}), strings.Join(asGit, " "); got != want {
		t.Errorf("%q, git shows %q", got, want)
	}
	for _, c := range []struct{ rules, want string }{
		{"refs/pull refs/changes", "heads/main pulled"},
		{"!refs/heads/hidden/shown", "changes/1 heads/hidden/shown heads/main pull/2/head pulled"},
		{"refs/heads/mai", "changes/1 heads/main pull/2/head pulled"},
	} {
		if got := served(repos.Options{HideRefs: strings.Fields(c.rules)}); got != c.want {
			t.Errorf("%s: %q, want %q", c.rules, got, c.want)
		}
	}
	for _, c := range []struct{ served, rules, want string }{
		{"refs/heads/ refs/pulled", "", "heads/main pulled"},
		{"refs/heads refs/stash", "!refs/heads/hidden/shown", "heads/hidden/shown heads/main"},
		{"refs", "refs/heads", "changes/1 pull/2/head pulled"},
		{"refs/head", "", ""},
	} {
		options := repos.Options{ServeRefs: strings.Fields(c.served), HideRefs: strings.Fields(c.rules)}
		if got := served(options); got != c.want {
			t.Errorf("%s alone, %s: %q, want %q", c.served, c.rules, got, c.want)
		}
	}
	only := repostest.Snapshot(t, repostest.Open(t, root, repos.Options{ServeRefs: []string{"refs/pulled"}}), "repo")
	for revision, found := range map[string]bool{"main": false, "HEAD": false, "refs/changes/1": false,
		"refs/pulled": true} {
		if _, err := only.Resolve(t.Context(), revision); found != (err == nil) {
			t.Errorf("refs/pulled alone: Resolve(%q): %v", revision, err)
		}
	}
	s := repostest.Snapshot(t, repostest.Open(t, root, repos.Options{}), "repo")
	for _, revision := range []string{secret, secret[:10], "hidden/secret", "refs/heads/hidden/secret", "alias"} {
		if _, err := s.Resolve(t.Context(), revision); !errors.Is(err, git.ErrNotFound) {
			t.Errorf("Resolve(%q): %v, want not found", revision, err)
		}
	}
	for _, revision := range []string{"refs/pull/2/head", "refs/changes/1"} {
		if _, err := s.Resolve(t.Context(), revision); err != nil {
			t.Errorf("Resolve(%q): %v", revision, err)
		}
	}
}
