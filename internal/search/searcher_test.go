package search_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a root with a searcher over it.
type bench struct {
	*search.Searcher
	t         testing.TB
	root      string
	catalogue *repos.Catalogue
	scheduler *workers.Scheduler
	grepped   map[string]grepped        // by questions
	scanned   map[string]*search.Result // without an index, by requests
}

func newBench(t testing.TB, root string, options search.Options) *bench {
	t.Helper()
	catalogue, err := repos.Open(root, repos.Options{Visible: visibleTo})
	if err != nil {
		t.Fatal(err)
	}
	scheduler := workers.New(2)
	t.Cleanup(func() {
		scheduler.Close()
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{
		Searcher: search.New(catalogue, scheduler, options), t: t, root: root,
		catalogue: catalogue, scheduler: scheduler,
		grepped: make(map[string]grepped), scanned: make(map[string]*search.Result),
	}
}

type visibleKey struct{}

// seeing is a context whose visitor may know of some repositories alone.
func seeing(ctx context.Context, visible func(name string) bool) context.Context {
	return context.WithValue(ctx, visibleKey{}, visible)
}

func visibleTo(ctx context.Context) func(name string) bool {
	visible, _ := ctx.Value(visibleKey{}).(func(name string) bool)
	return visible
}

// fresh is a searcher that remembers nothing.
func (b *bench) fresh() *search.Searcher {
	return search.New(b.catalogue, b.scheduler, search.Options{})
}

func (b *bench) find(request search.Request) *search.Result {
	b.t.Helper()
	result, err := b.Search(b.t.Context(), request)
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

func parse(t testing.TB, text string) search.Query {
	t.Helper()
	q, err := search.Parse(text, search.Words)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func words(texts ...string) search.Query {
	q := search.Query{Case: pattern.Sensitive}
	for _, text := range texts {
		q.Terms = append(q.Terms, pattern.Term{Text: text})
	}
	return q
}

func expression(text string) search.Query {
	return search.Query{Case: pattern.Sensitive, Terms: []pattern.Term{{Text: text, Regexp: true}}}
}

// unlimited lets a search find all.
var unlimited = search.Limits{Lines: 1 << 30, OutputBytes: 1 << 40, ReadBytes: 1 << 40, Time: time.Hour}

// summary is a result in a few letters: "repo:path:line:column" for each match.
func summary(r *search.Result) []string {
	var list []string
	for _, f := range r.Files {
		for _, l := range f.Lines {
			if l.Matches() {
				list = append(list, fmt.Sprintf("%s:%s:%d:%d", f.Repository, f.Path, l.Number, l.Column))
			}
		}
	}
	return list
}

// hello is a small tree with all kinds of entries.
func hello(t testing.TB, root, name string) *gittest.Repo {
	t.Helper()
	repo := gittest.At(t, filepath.Join(root, name+".git"))
	repo.Commit("main",
		gittest.Regular("README.md", "# Hello\n\nSay hello to the world.\n"),
		gittest.Regular("cmd/hello/main.go", "package main\n\nfunc main() {\n\tprintln(\"Hello, world\")\n}\n"),
		gittest.Regular("lib/hello.py", "def hello():\n    return 'hello'\n"),
		gittest.Regular("lib/a b.txt", "hello in a path with a space\n"),
		gittest.Regular("tools/run", "#!/usr/bin/env python3\nprint('hello')\n"),
		gittest.Regular("lib/hello.h", "#include <vector>\nclass Hello {};\n"),
		gittest.Regular("data.bin", "hello\x00\n"),
	)
	return repo
}
