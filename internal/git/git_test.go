package git_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

func readAll(t *testing.T, s *git.Snapshot, id git.ID) string {
	t.Helper()
	blob, err := s.Blob(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(blob)
	if err := errors.Join(err, blob.Close()); err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// packed-refs has the target of an annotated tag, whether it is a commit or not.
func TestATagOfAFolderHasNoCommit(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	commit := repo.Commit("main", gittest.Regular("a", "1"))
	repo.Git("tag", "-a", "-m", "a folder", "folder", commit+"^{tree}")
	for _, pack := range []bool{false, true} {
		if pack {
			repo.Git("pack-refs", "--all")
		}
		ref, err := snap().Ref("refs/tags/folder")
		if err != nil || !ref.Commit.IsZero() || ref.Target.IsZero() {
			t.Errorf("packed %v: %+v, %v", pack, ref, err)
		}
		if _, err := snap().Resolve(t.Context(), "folder"); !errors.Is(err, git.ErrNotFound) ||
			errors.Is(err, git.ErrCorrupt) {
			t.Errorf("packed %v: %v", pack, err)
		}
	}
}

func TestResolveAgreesWithGit(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	first := repo.Commit("main", gittest.Regular("a", "1"))
	second := repo.Commit("main", gittest.Regular("a", "2"))
	repo.Commit("feature/x", gittest.Regular("a", "3"))
	repo.Git("tag", "light", first)
	repo.Git("tag", "-a", "-m", "annotated", "v1.0", first)
	repo.Git("tag", "-a", "-m", "tag of a tag", "v1.0-again", "v1.0")
	repo.Git("tag", "both", first)
	repo.Git("branch", "both", second)
	revisions := []string{
		"HEAD", "main", "refs/heads/main", "feature/x", "refs/heads/feature/x", "light", "v1.0", "refs/tags/v1.0",
		"v1.0-again",
		"both", first, second, first[:7], repo.Git("rev-parse", "v1.0"), "v1.0-1-g" + second[:9], "any-name-g" +
			first[:4],
	}
	for _, pack := range []bool{false, true} {
		if pack {
			repo.Git("pack-refs", "--all")
			repo.Git("repack", "-adq")
		}
		s := snap()
		for _, revision := range revisions {
			want := repo.Git("rev-parse", "--verify", "--quiet", revision+"^{commit}")
			commit, err := s.Resolve(t.Context(), revision)
			if err != nil || commit.ID.String() != want {
				t.Errorf("packed %v: Resolve(%q) = %s, %v; want %s", pack, revision, commit.ID, err, want)
			}
		}
	}
}

func TestResolveRefusesHostileAndUnknownRevisions(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	repo.Commit("main", gittest.Regular("a", "1"))
	s := snap()
	for _, revision := range []string{
		"", "-h", "--output=/x", "--upload-pack=x", "HEAD^", "HEAD~1", "HEAD~99999999999999999999", "HEAD^2",
		"HEAD^{blob}", "HEAD^{tag}", "HEAD^{", "HEAD^{x}", "~1", "^", "HEAD~x", "HEAD^{}x",
		"refs/heads/../../config",
		"../config", "config", "x.lock", "refs/heads/main.lock", "refs/heads/", "refs/", "/main", "main/", "main\x00",
		"main\n", "mai",
		"1234567890123456789012345678901234567890", "123", "12345", strings.Repeat("a", 64), strings.Repeat("A", 40),
		strings.Repeat("x/", 2000) + "y",
	} {
		if _, err := s.Resolve(t.Context(), revision); !errors.Is(err, git.ErrNotFound) {
			t.Errorf("Resolve(%.40q): %v, want not found", revision, err)
		}
	}
	for _, revision := range []string{"@{-1}", "HEAD@{1}", "@{upstream}", "main@{yesterday}", "HEAD^{/x}", ":/text",
		"HEAD:a", "a..b", "main..", "a...b", "HEAD^@", "HEAD^!", "HEAD^-1"} {
		var syntax *git.RevisionError
		if _, err := s.Resolve(t.Context(), revision); !errors.As(err, &syntax) ||
			strings.Contains(err.Error(), revision) {
			t.Errorf("Resolve(%.40q): %v, want a refusal of its form", revision, err)
		}
	}
}

func TestAmbiguousAbbreviationListsCommits(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	// 800 commits make two with the same first four digits all but certain.
	byPrefix := make(map[string][]string)
	var script bytes.Buffer
	for i := range 800 {
		script.WriteString("commit refs/heads/main\ncommitter A <a@b> " + strings.Repeat("1", 9) + " +0000\ndata 4\n")
		script.WriteString(string([]byte{'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676), '\n'}))
	}
	repo.GitInput(script.Bytes(), "fast-import", "--quiet")
	for id := range strings.FieldsSeq(repo.Git("rev-list", "main")) {
		byPrefix[id[:4]] = append(byPrefix[id[:4]], id)
	}
	s := snap()
	for prefix, ids := range byPrefix {
		if len(ids) < 2 {
			continue
		}
		_, err := s.Resolve(t.Context(), prefix)
		var ambiguous *git.AmbiguousError
		if !errors.As(err, &ambiguous) || len(ambiguous.Candidates) != len(ids) {
			t.Fatalf("Resolve(%q): %v, want %d candidates", prefix, err, len(ids))
		}
		// Asking for all of them walks over the history once.
		walk := &countedContext{Context: t.Context()}
		if _, err := s.Resolve(walk, prefix); !errors.As(err, &ambiguous) || walk.looks > 800 {
			t.Errorf("Resolve(%q) looked at %d commits of 800, %v", prefix, walk.looks, err)
		}
		return
	}
	t.Fatal("no two commits share four digits")
}

// countedContext counts how often it is asked, which a walk does once for each
// commit.
type countedContext struct {
	context.Context
	looks int
}

func (c *countedContext) Err() error {
	c.looks++
	return c.Context.Err()
}

func TestReadsWhatGitReads(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	files := []gittest.File{
		gittest.Regular("a/b/c.txt", "deep"), gittest.Executable("bin/run", "#!"), gittest.Symlink("link", "a/b"),
		gittest.Gitlink("sub", strings.Repeat("1", 40)), gittest.Regular("\xff\n", "odd"), gittest.Regular("empty", ""),
		gittest.Regular("large", strings.Repeat("0123456789abcdef", 200_000)),
	}
	repo.Commit("main", files...)
	for _, packed := range []bool{false, true} {
		if packed {
			repo.Git("repack", "-adq")
		}
		s := snap()
		commit, err := s.Resolve(t.Context(), "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			entry, err := s.Lookup(commit.Tree, file.Path)
			if err != nil || entry.Mode.String() != file.Mode {
				t.Errorf("Lookup(%q) = %v, %v", file.Path, entry, err)
				continue
			}
			if !entry.Mode.IsGitlink() && readAll(t, s, entry.ID) != file.Content {
				t.Errorf("content of %q differs", file.Path)
			}
		}
		for _, p := range []string{"nothing", "a/nothing", "empty/x", "a//b", "../a", "sub/x", "a/b/c.txt/"} {
			if _, err := s.Lookup(commit.Tree, p); !errors.Is(err, git.ErrNotFound) {
				t.Errorf("Lookup(%q): %v, want not found", p, err)
			}
		}
	}
}

func TestEmptyRepositoryHasNoHead(t *testing.T) {
	t.Parallel()
	_, snap := one(t)
	s := snap()
	if _, err := s.Head(); !errors.Is(err, git.ErrEmpty) {
		t.Errorf("Head: %v, want empty", err)
	}
	if branch, err := s.DefaultBranch(); branch != "main" || err != nil {
		t.Errorf("DefaultBranch = %q, %v", branch, err)
	}
	if refs, err := s.Refs(); len(refs) != 0 || err != nil {
		t.Errorf("Refs = %v, %v", refs, err)
	}
}

func TestAlternatesInsideTheRootOnly(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	source := gittest.At(t, filepath.Join(root, "group", "source.git"))
	id := source.Commit("main", gittest.Regular("a", "shared"))
	foreign := gittest.At(t, filepath.Join(outside, "source.git"))
	foreign.Commit("main", gittest.Regular("a", "shared"))
	store := open(t, root, git.StoreOptions{})
	for name, c := range map[string]struct {
		alternate string
		want      error
	}{
		"relative": {"../../group/source.git/objects", nil},
		"absolute": {filepath.Join(root, "group/source.git/objects"), nil},
		"outside":  {filepath.Join(outside, "source.git/objects"), git.ErrOutside},
		"climbing": {"../../../" + filepath.Base(outside) + "/source.git/objects", git.ErrOutside},
		"itself":   {"../objects", git.ErrCorrupt},
	} {
		borrower := gittest.At(t, filepath.Join(root, name+".git"))
		file := filepath.Join(borrower.Dir, "objects", "info", "alternates")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte("# borrowed\n"+c.alternate+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(borrower.Dir, "refs/heads/main"), []byte(id+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		commit, err := snapshot(t, store, name, reachable).Resolve(t.Context(), "HEAD")
		if !errors.Is(err, c.want) || c.want == nil && (err != nil || commit.ID.String() != id) {
			t.Errorf("%s: %s, %v, want %v", name, commit.ID, err, c.want)
		}
	}
}

func TestUnsupportedFormatsAreNamed(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]error{
		"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n": git.ErrUnsupported,
		"[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefStorage = database\n": git.ErrUnsupported,
		"[core]\n\trepositoryformatversion = 2\n":                                        git.ErrUnsupported,
		"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tfuture = yes\n":          git.ErrUnsupported,
		"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha1\n":   nil,
		"[include]\n\tpath = /etc/passwd\n[core]\n\tbare = true\n":                       nil,
	} {
		root := t.TempDir()
		repo := gittest.At(t, filepath.Join(root, "repo.git"))
		if err := os.WriteFile(filepath.Join(repo.Dir, "config"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := open(t, root, git.StoreOptions{}).Repository("repo.git", reachable).Snapshot()
		if !errors.Is(err, want) {
			t.Errorf("config %q: %v, want %v", config, err, want)
		}
		if err == nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
