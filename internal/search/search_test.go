package search_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

func TestQualifiersSelectFiles(t *testing.T) {
	root := t.TempDir()
	hello(t, root, "team/one")
	hello(t, root, "team/two")
	hello(t, root, "other")
	b := newBench(t, root, search.Options{})
	tests := []struct {
		query string
		want  []string // paths, of the repositories in their order
	}{
		{"hello repo:other", []string{"README.md", "cmd/hello/main.go", "lib/a b.txt", "lib/hello.h", "lib/hello.py",
			"tools/run"}},
		{"hello repo:OTHER extension:py", []string{"lib/hello.py"}},
		{"hello repo:other extension:.PY extension:md", []string{"README.md", "lib/hello.py"}},
		{"hello repo:team/* extension:py", []string{"lib/hello.py", "lib/hello.py"}},
		{"hello repo:* extension:py", []string{"lib/hello.py", "lib/hello.py", "lib/hello.py"}},
		{"hello org:team extension:py", []string{"lib/hello.py", "lib/hello.py"}},
		{"hello repo:other,team/two extension:py", []string{"lib/hello.py", "lib/hello.py"}},
		{"hello -repo:team/* extension:py", []string{"lib/hello.py"}},
		{"hello repo:other language:python", []string{"lib/hello.py", "tools/run"}},
		{"hello repo:other language:c++", []string{"lib/hello.h"}},
		{"hello repo:other -language:python -language:c++", []string{"README.md", "cmd/hello/main.go", "lib/a b.txt"}},
		{"hello repo:other NOT language:python -extension:h", []string{"README.md", "cmd/hello/main.go",
			"lib/a b.txt"}},
		{"hello repo:other path:lib", []string{"lib/a b.txt", "lib/hello.h", "lib/hello.py"}},
		{"hello repo:other path:HELLO", []string{"cmd/hello/main.go", "lib/hello.h", "lib/hello.py"}},
		{"hello repo:other path:/hello", nil},
		{"hello repo:other path:/lib/ -path:*.h", []string{"lib/a b.txt", "lib/hello.py"}},
		{"hello repo:other path:hello/*.go", []string{"cmd/hello/main.go"}},
		{"hello repo:other path:/hello/*.go", nil},
		{"hello repo:other path:c?d", []string{"cmd/hello/main.go"}},
		{`hello repo:other path:"a b"`, []string{"lib/a b.txt"}},
		{`hello repo:other filename:main.go filename:"a b.txt"`, []string{"cmd/hello/main.go", "lib/a b.txt"}},
		{"hello repo:other filename:hello.*", []string{"lib/hello.h", "lib/hello.py"}},
		{"hello repo:other filename:hello", nil},
		{"Hello repo:other case:yes", []string{"README.md", "cmd/hello/main.go", "lib/hello.h"}},
		{"Hello repo:other", []string{"README.md", "cmd/hello/main.go", "lib/hello.h"}},
		{"Hello repo:other case:no path:lib", []string{"lib/a b.txt", "lib/hello.h", "lib/hello.py"}},
		{`"Hello, world" repo:other`, []string{"cmd/hello/main.go"}},
		{"hello world repo:other", []string{"README.md", "cmd/hello/main.go"}},
		{`/h.l+o\(/ repo:other`, []string{"lib/hello.py"}},
	}
	for _, test := range tests {
		for _, state := range []string{"cold", "warm"} {
			result := b.find(search.Request{Query: parse(t, test.query)})
			var got []string
			for _, f := range result.Files {
				got = append(got, f.Path)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s, %s: %q, want %q", test.query, state, got, test.want)
			}
		}
	}
}

func TestContextLines(t *testing.T) {
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	repo.Commit("main", gittest.Regular("f", "1\n2\nneedle\r\n4\n5\n6\n7\n8 needle needle\n9\nneedle\n11\r\n12\n13\n"))
	b := newBench(t, root, search.Options{})
	result := b.find(search.Request{Query: words("needle"), Before: 1, After: 2})
	var got []string
	for _, l := range result.Files[0].Lines {
		got = append(got, fmt.Sprintf("%d%v%s", l.Number, l.Matches(), l.Text))
	}
	want := []string{"2false2", "3trueneedle", "4false4", "5false5", "7false7", "8true8 needle needle", "9false9",
		"10trueneedle", "11false11", "12false12"}
	if !slices.Equal(got, want) || result.Lines != 3 {
		t.Errorf("got %q, want %q", got, want)
	}
	if r := result.Files[0].Lines[5].Ranges; !slices.Equal(r, []pattern.Span{{Start: 2, End: 8}, {Start: 9, End: 15}}) {
		t.Errorf("ranges %v", r)
	}
}

func TestLongAndInvalidLinesSayWhatIsLeftOut(t *testing.T) {
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	repo.Commit("main", gittest.Regular("f",
		strings.Repeat("é", 1000)+"needle"+strings.Repeat("日", 1000)+"\n\xff needle \x80\nneedle "+strings.Repeat("x",
			2000)+"\n"+strings.Repeat("y", 498)+"needle\n"))
	b := newBench(t, root, search.Options{})
	lines := b.find(search.Request{Query: words("needle")}).Files[0].Lines
	for i, l := range lines {
		for _, r := range l.Ranges {
			if l.Text[r.Start:r.End] != "needle" {
				t.Errorf("line %d: range %v of %q", i, r, l.Text)
			}
		}
		if len(l.Ranges) == 0 && i != 3 || len(l.Text) > 520 {
			t.Errorf("line %d: %+v", i, l)
		}
	}
	stored := []int{2006 + 3000, 10, 2007, 504}
	for i, l := range lines {
		if i != 1 && l.Before+l.After+len(l.Text) != stored[i] {
			t.Errorf("line %d: %d + %d + %d bytes, of %d", i, l.Before, len(l.Text), l.After, stored[i])
		}
	}
	if l := lines[0]; l.Column != 2001 || l.Before == 0 || l.After == 0 || l.Escaped ||
		strings.ContainsRune(l.Text, '\uFFFD') {
		t.Errorf("%+v", l)
	}
	if l := lines[1]; !l.Escaped || l.Text != `\xff needle \x80` || l.Column != 3 {
		t.Errorf("%+v", l)
	}
}

func TestAFileIsSearchedOnceForAQuery(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	root := t.TempDir()
	files := randomFiles(r)
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	repo.Commit("main", files...)
	copied := gittest.At(t, filepath.Join(root, "z-copy.git"))
	copied.Commit("main", files...)
	b := newBench(t, root, search.Options{})
	b.find(search.Request{Query: parse(t, "needle repo:repo"), Limits: unlimited})
	// Nothing may be read for the same content elsewhere: a search that stops after
	// one byte of reading does not stop.
	tight := unlimited
	tight.ReadBytes = 1
	for _, q := range []string{"needle repo:repo", "needle repo:z-copy", "needle path:dir", "needle"} {
		if result := b.find(search.Request{Query: parse(t, q), Limits: tight}); result.Stopped != "" {
			t.Errorf("%s read files again", q)
		}
	}
	repo.Commit("main", append(files, gittest.Regular("new", "another needle\n"), gittest.Regular("new2", "hay\n"))...)
	tight.ReadBytes = int64(len("another needle\nhay\n"))
	result := b.find(search.Request{Query: parse(t, "needle repo:repo"), Limits: tight})
	if result.Stopped != "" || !strings.Contains(strings.Join(summary(result), " "), "repo:new:1") {
		t.Errorf("a change of two files made others be read: %q", summary(result))
	}
}

func TestTheCacheStaysWithinItsBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	commit := repo.Commit("main", randomFiles(r)...)
	b := newBench(t, root, search.Options{CacheBytes: 4 << 10})
	found := 0
	for range 3 {
		for _, text := range []string{"needle", "hay", "a", "x", "1", "zzz"} {
			found += b.agree(b.Searcher, repo.Dir, "repo", commit, words(text), "-F", "-e", text)
		}
	}
	if found < 100 {
		t.Errorf("only %d lines", found)
	}
}

func TestRefs(t *testing.T) {
	root := t.TempDir()
	repo := hello(t, root, "one")
	hello(t, root, "two")
	old := repo.Git("rev-parse", "main")
	repo.Commit("topic", gittest.Regular("only-here", "needle\n"))
	repo.Git("tag", "v1", "topic")
	gittest.At(t, filepath.Join(root, "unborn.git"))
	b := newBench(t, root, search.Options{})
	for _, ref := range []string{"topic", "refs/heads/topic", "v1", repo.Git("rev-parse", "topic"),
		repo.Git("rev-parse", "--short=9", "topic")} {
		result := b.find(search.Request{Query: words("needle"), Ref: ref})
		if got := summary(result); !slices.Equal(got, []string{"one:only-here:1:1"}) ||
			result.Counts.Repositories != 1 {
			t.Errorf("at %s: %q", ref, got)
		}
	}
	if result := b.find(search.Request{Query: words("hello"), Ref: old}); len(result.Files) == 0 ||
		result.Files[0].Commit.String() != old {
		t.Errorf("at %s: %+v", old, result)
	}
	for _, request := range []search.Request{
		{Query: words("needle"), Ref: "no-such-ref"},
		{Query: parse(t, "needle repo:one"), Ref: "no-such-ref"},
		{Query: parse(t, "needle repo:absent")},
	} {
		if _, err := b.Search(t.Context(), request); !errors.Is(err, git.ErrNotFound) {
			t.Errorf("%+v: %v", request, err)
		}
	}
	if result := b.find(search.Request{Query: parse(t, "hello repo:unborn")}); len(result.Files)+
		result.Counts.Repositories != 0 {
		t.Errorf("an empty repository: %+v", result)
	}
	two := seeing(t.Context(), func(name string) bool { return name == "two" })
	if _, err := b.Search(two, search.Request{Query: parse(t, "needle repo:one")}); !errors.Is(err, git.ErrNotFound) {
		t.Errorf("a repository that the visitor may not know of: %v", err)
	}
	result, err := b.Search(two, search.Request{Query: words("hello")})
	if err != nil || len(result.Files) == 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, f := range result.Files {
		if f.Repository != "two" {
			t.Errorf("found in %s, which is not allowed", f.Repository)
		}
	}
}
