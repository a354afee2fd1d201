package search_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/search"
)

// A search of more repositories than are looked at ahead finds what a search without an index does: those that were
// pushed to, those that are empty, and those that the index does not know are in their places.
func TestHeadsOfManyRepositories(t *testing.T) {
	root := t.TempDir()
	const count = 640
	var mirrors []*gittest.Repo
	for i := range count {
		mirrors = append(mirrors, gittest.At(t, filepath.Join(root, fmt.Sprintf("r%03d.git", i))))
		if i%50 != 7 {
			mirrors[i].Commit("main", gittest.Regular("a", fmt.Sprintf("needle%d and hay\n", i%90)))
		}
		if i%4 == 0 { // the HEADs of others are not relied on yet
			mirrors[i].Age()
		}
	}
	b := newBench(t, root, search.Options{})
	x := b.newIndex("")
	update(t, x)
	for i := 3; i < count; i += 37 {
		mirrors[i].Commit("main", gittest.Regular("a", "pushed needle5\n"))
	}
	with := b.with(x)
	for _, request := range []search.Request{
		{Query: words("needle5")}, {Query: words("pushed")}, {Query: words("nowhere")},
		{Query: parse(t, "needle5 hay"), Order: search.ByRank}, {Query: parse(t, "pushed"), Order: search.ByRank},
	} {
		request.Limits = unlimited
		if got := b.agreeOn(with, request); got.Counts.Repositories != count-13 {
			t.Errorf("%+v: %+v, want %d repositories", request.Query, got.Counts, count-13)
		}
	}
}

// A searcher that knows a repository, and that nothing in it matches, notices at once that HEAD leads elsewhere.
func TestPushesAreSeenAtOnce(t *testing.T) {
	root := t.TempDir()
	repo := hello(t, root, "repo")
	b := newBench(t, root, search.Options{})
	x := b.newIndex("")
	update(t, x)
	s := b.with(x)
	with, without := gittest.Regular("a", "pushed\n"), gittest.Regular("a", "nothing\n")
	for name, push := range map[string]func(file gittest.File){
		"a commit":     func(file gittest.File) { repo.Commit("main", file) },
		"packed":       func(file gittest.File) { repo.Commit("main", file); repo.Git("pack-refs", "--all", "--prune") },
		"another head": func(file gittest.File) { repo.Commit("b", file); repo.Git("symbolic-ref", "HEAD", "refs/heads/b") },
		"a head before": func(file gittest.File) {
			repo.Git("symbolic-ref", "HEAD", "refs/heads/main")
			repo.Commit("main", file)
		},
	} {
		for _, file := range []gittest.File{without, with, without} {
			repo.Age()
			update(t, x)
			push(file)
			for range 2 {
				result, err := s.Search(t.Context(), search.Request{Query: words("pushed")})
				if err != nil || (result.Lines == 1) != (file.Content == with.Content) || result.Counts.Files == 0 {
					t.Errorf("%s of %q: %+v, %v", name, file.Content, result, err)
				}
				update(t, x)
			}
		}
	}
	if _, err := s.Search(seeing(t.Context(), func(string) bool { return false }), search.Request{
		Query: search.Query{Repositories: search.Choice{Any: []string{"repo"}}, Terms: words("x").Terms},
	}); !errors.Is(err, git.ErrNotFound) {
		t.Errorf("a hidden repository: %v", err)
	}
}

// A branch that leads to another one, or whose file is a link, is noticed when it leads elsewhere.
func TestIndirectHeadsAreSeenAtOnce(t *testing.T) {
	alias := func(repo *gittest.Repo) string { return filepath.Join(repo.Dir, "refs/heads/alias") }
	link := func(repo *gittest.Repo, target string) {
		if now, err := os.Readlink(alias(repo)); err == nil && now == target {
			return
		}
		if err := os.RemoveAll(alias(repo)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, alias(repo)); err != nil {
			t.Fatal(err)
		}
	}
	for name, point := range map[string]func(repo *gittest.Repo, branch string){
		"a symbolic ref": func(repo *gittest.Repo, branch string) {
			repo.Git("symbolic-ref", "refs/heads/alias", "refs/heads/"+branch)
		},
		"another link": link,
		"another target of the link": func(repo *gittest.Repo, branch string) {
			repo.SetRef("refs/heads/target", repo.Git("rev-parse", branch))
			link(repo, "target")
		},
		"a packed branch, with a folder in its place": func(repo *gittest.Repo, branch string) {
			repo.WriteFile("packed-refs", fmt.Appendf(nil, "%s refs/heads/alias\n", repo.Git("rev-parse", branch)))
			if err := os.MkdirAll(alias(repo), 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			repo := hello(t, root, "repo")
			repo.Commit("with", gittest.Regular("a", "pushed\n"))
			repo.Commit("without", gittest.Regular("a", "nothing\n"))
			point(repo, "without")
			repo.Git("symbolic-ref", "HEAD", "refs/heads/alias")
			b := newBench(t, root, search.Options{})
			x := b.newIndex("")
			s := b.with(x)
			for _, branch := range []string{"with", "without", "with"} {
				repo.Age()
				update(t, x)
				point(repo, branch)
				result, err := s.Search(t.Context(), search.Request{Query: words("pushed")})
				if err != nil || (result.Lines == 1) != (branch == "with") || result.Counts.Files == 0 {
					t.Errorf("%s: %+v, %v", branch, result, err)
				}
			}
		})
	}
}

// The index knows what the HEADs of repositories lead to before anything is searched, and not after a push.
func TestHeadsAreKnownOnceIndexed(t *testing.T) {
	root := t.TempDir()
	repo := hello(t, root, "repo")
	b := newBench(t, root, search.Options{})
	x := b.newIndex("")
	repository, err := b.catalogue.Get("repo")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if head, ok := x.Head(repository); ok {
			t.Errorf("%v is known before", head)
		}
		repo.Age()
		update(t, x)
		if head, ok := x.Head(repository); !ok || head.Commit.String() != repo.Git("rev-parse", "HEAD") {
			t.Errorf("%v, %t", head, ok)
		}
		repo.Commit("main", gittest.Regular("a", "pushed\n"))
	}
}
