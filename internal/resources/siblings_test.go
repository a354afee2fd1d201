package resources

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

// siblings makes a catalogue of main with the submodules lib and private, a
// commit of lib that no ref leads to.
func siblings(t *testing.T, options repos.Options) (catalogue *repos.Catalogue, commits map[string]git.ID) {
	t.Helper()
	root := t.TempDir()
	lib := gittest.At(t, filepath.Join(root, "group", "lib.git"))
	private := lib.Commit("draft", gittest.Regular("secret", "1"))
	lib.Git("update-ref", "-d", "refs/heads/draft")
	public := lib.Commit("main", gittest.Regular("public", "2"))
	lib.Git("tag", "-a", "-m", "one", "v1", "main")
	main := gittest.At(t, filepath.Join(root, "group", "main.git"))
	head := main.Commit("main", gittest.Gitlink("lib", public), gittest.Gitlink("private", private),
		gittest.Regular(".gitmodules",
			"[submodule \"lib\"]\npath=lib\nurl=../lib.git\n[submodule \"private\"]\npath=private\nurl=../lib.git\n"))
	other := gittest.At(t, filepath.Join(root, "group", "sha256.git"))
	other.Git("config", "core.repositoryFormatVersion", "1")
	other.Git("config", "extensions.objectFormat", "sha256")
	catalogue, err := repos.Open(root, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	})
	commits = make(map[string]git.ID)
	for name, id := range map[string]string{"head": head, "public": public, "private": private,
		"tag": lib.Git("rev-parse", "v1"), "tree": lib.Git("rev-parse", "main^{tree}")} {
		if commits[name], err = git.ParseID(id); err != nil {
			t.Fatal(err)
		}
	}
	return catalogue, commits
}

func TestSiblingsServeWhatTheirRepositoriesServe(t *testing.T) {
	t.Parallel()
	for _, unreachable := range []bool{false, true} {
		catalogue, commits := siblings(t, repos.Options{AllowUnreachable: unreachable})
		main, err := catalogue.Get("group/main")
		if err != nil {
			t.Fatal(err)
		}
		s := NewSiblings(catalogue.View, main)
		for _, c := range []struct {
			url, commit string
			served      bool
		}{
			{"../lib.git", "public", true},
			{"https://example.com/group/lib", "public", true},
			{"../lib.git", "private", unreachable},
			{"../lib.git", "tag", false},
			{"../lib.git", "tree", false},
			{"../lib.git", "head", false},
			{"../main.git", "head", true},
			{"../sha256.git", "public", false},
			{"../nobody.git", "public", false},
		} {
			found, err := s.Open(t.Context(), c.url, commits[c.commit])
			switch {
			case !c.served && !errors.Is(err, git.ErrNotFound):
				t.Errorf("unreachable %v: %s of %s: %v, %v", unreachable, c.commit, c.url, found, err)
			case c.served && (err != nil || found.Commit.ID != commits[c.commit]):
				t.Errorf("unreachable %v: %s of %s: %v", unreachable, c.commit, c.url, err)
			}
		}
		first, err := s.Open(t.Context(), "../lib.git", commits["public"])
		if err != nil {
			t.Fatal(err)
		}
		// A submodule of a submodule counts from that one's name, and finds the
		// repositories that are open already.
		second, err := first.Siblings.Open(t.Context(), "./../../group/lib", commits["public"])
		if err != nil || second.Source != first.Source || second.Repository != "group/lib" {
			t.Errorf("opened again: %+v, %v", second, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := first.Source.Tree(first.Commit.Tree); err == nil {
			t.Error("a repository is usable after Close")
		}
	}
}

func TestArchivesHaveTheirSubmodules(t *testing.T) {
	t.Parallel()
	catalogue, commits := siblings(t, repos.Options{})
	engine, err := sharedEngine()
	if err != nil {
		t.Fatal(err)
	}
	server := New(Options{Catalogue: catalogue, Engine: engine})
	for query, want := range map[string][]string{
		"":                                 {".gitmodules", "lib/", "private/"},
		"?submodules=omit":                 {".gitmodules", "lib/", "private/"},
		"?submodules=content":              {".gitmodules", "lib/", "lib/public", "private/"},
		"?submodules=content&path=lib":     {"lib/", "lib/public"},
		"?submodules=content&lfs=content":  {".gitmodules", "lib/", "lib/public", "private/"},
		"?strip=lib&submodules=content":    {"public"},
		"?exclude=*li*&submodules=content": {".gitmodules", "private/"},
	} {
		found, err := server.Find(t.Context(), "repo://group/main/archive/"+commits["head"].String()+".tar"+query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if got := members(t, found); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
		if fixed := query == "" || query == "?submodules=omit"; found.Immutable != fixed || found.Weak == fixed {
			t.Errorf("%s: immutable %v, weak %v", query, found.Immutable, found.Weak)
		}
		if err := found.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"?submodules=all", "?lfs=all", "?lfs=content&lfs=content"} {
		if _, err := server.Find(t.Context(), "repo://group/main/archive/main.tar"+bad); !errors.Is(err,
			archive.ErrOption) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := server.Find(t.Context(),
		"repo://group/main/archive/main.tar?submodules=content&path=lib/none"); !errors.Is(err, git.ErrNotFound) {
		t.Error(err)
	}
}

func members(t *testing.T, found *Found) []string {
	t.Helper()
	var out bytes.Buffer
	if _, err := write(t, found, Want{}, &out); err != nil {
		t.Fatal(err)
	}
	return gittest.TarNames(t, &out)
}

// An archive with a submodule that its client may not know of is the archive without that repository, also after the
// insider's bytes were remembered.
func TestForbiddenSubmodulesAreThoseThatAreAbsent(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	commit := gittest.At(t, filepath.Join(root, "team/rooma.git")).Commit("main", gittest.Regular("file", "secret\n"))
	for project, lib := range map[string]string{"with": "team/rooma", "lack": "team/roomz"} {
		gittest.At(t, filepath.Join(root, "open", project+".git")).Commit(
			"main", gittest.Regular(".gitmodules", "[submodule \"a\"]\npath = lib\nurl = ../../"+lib+".git\n"),
			gittest.Gitlink("lib", commit))
	}
	engine, err := sharedEngine()
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Engine: engine, Cache: newCache(t, t.TempDir(), nil),
		Catalogue: repostest.Open(t, root, repos.Options{Visible: func(ctx context.Context) func(string) bool {
			if access.PrincipalOf(ctx).ID == "insider" {
				return nil
			}
			return func(name string) bool { return strings.HasPrefix(name, "open/") }
		}})})
	find := func(principal, project, format string) *Found {
		ctx := access.WithPrincipal(t.Context(), access.Principal{ID: principal})
		found, err := s.Find(ctx, "repo://open/"+project+"/archive/main."+format+"?submodules=content")
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, found)
		return found
	}
	for _, format := range []string{"tar", "zip", "tar.gz", "manifest.json"} {
		inside := find("insider", "with", format)
		whole := contentOf(t, inside)
		for range 2 {
			outside := find("outsider", "with", format)
			with, lack := contentOf(t, outside), contentOf(t, find("outsider", "lack", format))
			// The URL in .gitmodules differs, and with it the ids of that file and of the commit.
			if format == "tar" && len(with) != len(lack) || bytes.Contains(with, []byte("secret")) ||
				bytes.Contains(with, []byte("lib/file")) {
				t.Errorf("%s: %d bytes, and %d without the repository: %.300q", format, len(with), len(lack), with)
			}
			if outside.ETag == inside.ETag || !outside.Weak || bytes.Equal(with, whole) {
				t.Errorf("%s: %d bytes with the ETag %s, weak %t; the insider gets %d with %s", format, len(with), outside.ETag,
					outside.Weak, len(whole), inside.ETag)
			}
		}
	}
}
