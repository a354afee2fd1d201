package search_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/search"
)

func TestResultsAreTheSameColdAndWarm(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	b := newBench(t, root, search.Options{FileBytes: 8000})
	compared := 0
	for range 3 {
		repo.Commit("main", randomFiles(r)...)
		for _, q := range []string{"needle", "hay a", "a -path:dir", "language:python needle", "absentword",
			"/^x/ path:inner"} {
			request := search.Request{Query: parse(t, q), Limits: unlimited, Before: 1, After: 2}
			fresh := search.New(b.catalogue, b.scheduler, search.Options{FileBytes: 8000})
			cold, err := fresh.Search(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // with answers of other commits, and of this one
				if warm := b.find(request); !reflect.DeepEqual(cold, warm) {
					t.Fatalf("%s: cold %+v\nwarm %+v", q, cold, warm)
				}
			}
			compared += cold.Counts.Files
		}
	}
	if compared < 150 {
		t.Errorf("only %d files were searched", compared)
	}
}

// Pages put together are the whole, with its counts, wherever they are cut and
// whatever is pushed meanwhile.
func TestPagesStayWhileOthersPush(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	root := t.TempDir()
	var mirrors []*gittest.Repo
	for _, name := range []string{"a", "b/c", "d"} {
		repo := gittest.At(t, filepath.Join(root, name+".git"))
		repo.Commit("main", randomFiles(r)...)
		mirrors = append(mirrors, repo)
	}
	b := newBench(t, root, search.Options{FileBytes: 8000})
	for _, q := range []string{"needle", "a", "/x/ -path:z", "hay needle"} {
		request := search.Request{Query: parse(t, q), Limits: unlimited}
		whole := b.find(request)
		for _, limits := range []search.Limits{
			{Lines: 1}, {Lines: 3}, {Lines: 7}, {Lines: 1 << 30, OutputBytes: 1}, {Lines: 1 << 30,
				OutputBytes: 100}, {Files: 1, Lines: 1 << 30},
			{Files: 5, Lines: 1 << 30}, {ReadBytes: 1, Lines: 1 << 30}, {Time: 1, Lines: 1 << 30}, {Lines: 2, Files: 2,
				OutputBytes: 50},
		} {
			s := b.Searcher
			if limits.ReadBytes > 0 { // it must read something
				s = search.New(b.catalogue, b.scheduler, search.Options{FileBytes: 8000})
			}
			got, pages := pagesOf(t, s, request, limits)
			if !slices.Equal(summary(got), summary(whole)) {
				t.Fatalf("%s in pages of %+v:\n got %q\nwant %q", q, limits, summary(got), summary(whole))
			}
			if got.Counts != whole.Counts {
				t.Errorf("%s in %d pages of %+v: counts %+v, want %+v", q, pages, limits, got.Counts, whole.Counts)
			}
			if pages < 2 {
				t.Errorf("%s: one page of %+v", q, limits)
			}
		}
	}
	// A push to the repository in which the search stopped moves nothing.
	request := search.Request{Query: parse(t, "needle"), Limits: search.Limits{Lines: 2}}
	want, _ := pagesOf(t, b.Searcher, request, request.Limits)
	first := b.find(request)
	at := first.Files[len(first.Files)-1].Repository
	for _, repo := range mirrors {
		if strings.HasSuffix(repo.Dir, at+".git") {
			repo.Commit("main", append(randomFiles(r), gittest.Regular("0-first", "needle\nneedle\n"))...)
		}
	}
	request.Cursor = first.Cursor
	rest, _ := pagesOf(t, b.Searcher, request, request.Limits)
	if got := append(summary(first), summary(rest)...); !slices.Equal(got, summary(want)) {
		t.Errorf("after a push:\n got %q\nwant %q", got, summary(want))
	}
}

// pagesOf goes on until a search is done, and puts its pages together.
func pagesOf(t *testing.T, s *search.Searcher, request search.Request, limits search.Limits) (*search.Result, int) {
	t.Helper()
	request.Limits = limits
	all := new(search.Result)
	for pages := 1; ; pages++ {
		result, err := s.Search(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		all.Files = append(all.Files, result.Files...)
		all.Lines += result.Lines
		all.Counts.Repositories += result.Counts.Repositories
		all.Counts.Files += result.Counts.Files
		all.Counts.Binary += result.Counts.Binary
		all.Counts.Large += result.Counts.Large
		if (result.Cursor == "") != (result.Stopped == "") || (result.Explain(limits) == "") != (result.Stopped == "") {
			t.Fatalf("stopped %q (%s) with the cursor %q", result.Stopped, result.Explain(limits), result.Cursor)
		}
		if result.Cursor == "" {
			return all, pages
		}
		if pages > 2000 {
			t.Fatalf("%+v does not come to an end", limits)
		}
		request.Cursor = result.Cursor
	}
}

func TestManyLinesOfOneFile(t *testing.T) {
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	const lines = 30_000 // more than are kept
	var content strings.Builder
	for i := range lines {
		fmt.Fprintf(&content, "needle number %d, and some hay to make it longer\n\n", i)
	}
	repo.Commit("main", gittest.Regular("many", content.String()))
	b := newBench(t, root, search.Options{})
	request := search.Request{Query: words("needle"), Limits: unlimited}
	for range 2 {
		result := b.find(request)
		if result.Lines != lines || len(result.Files) != 1 || result.Files[0].Lines[lines-1].Number != 2*lines-1 {
			t.Fatalf("found %d lines in %d files", result.Lines, len(result.Files))
		}
	}
	all, pages := pagesOf(t, b.Searcher, request, search.Limits{Lines: 7001, OutputBytes: 1 << 30})
	if all.Lines != lines || pages != 5 {
		t.Errorf("found %d lines in %d pages", all.Lines, pages)
	}
	for i, place := range summary(all) {
		if want := "repo:many:" + strconv.Itoa(2*i+1) + ":1"; place != want {
			t.Fatalf("%s, want %s", place, want)
		}
	}
}

func TestCursorsOfOthersAreRefused(t *testing.T) {
	root := t.TempDir()
	repo := hello(t, root, "one")
	b := newBench(t, root, search.Options{})
	first := b.find(search.Request{Query: words("hello"), Limits: search.Limits{Lines: 1}})
	if first.Cursor == "" {
		t.Fatal("no cursor")
	}
	for name, request := range map[string]search.Request{
		"another query": {Query: words("Hello"), Cursor: first.Cursor},
		"another ref":   {Query: words("hello"), Cursor: first.Cursor, Ref: "main"},
		"no cursor":     {Query: words("hello"), Cursor: "no cursor"},
		"cut short":     {Query: words("hello"), Cursor: first.Cursor[:len(first.Cursor)-20]},
	} {
		if result, err := b.Search(t.Context(), request); !errors.Is(err, search.ErrCursor) {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
	nothing := seeing(t.Context(), func(string) bool { return false })
	if result, err := b.Search(nothing, search.Request{Query: words("hello"), Cursor: first.Cursor}); !errors.Is(err,
		search.ErrCursor) {
		t.Errorf("a repository that the visitor may not know of: %+v, %v", result, err)
	}
	// The commit is not served any more.
	repo.Git("update-ref", "-d", "refs/heads/main")
	if _, err := b.Search(t.Context(), search.Request{Query: words("hello"), Cursor: first.Cursor}); !errors.Is(err,
		search.ErrCursor) {
		t.Errorf("a commit that is gone: %v", err)
	}
}
