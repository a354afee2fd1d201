package search_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/pattern"
	"github.com/repomcp/repomcp/internal/workers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a root with a searcher over it.
type bench struct {
	*search.Searcher
	t         testing.TB
	root      string
	catalogue *repos.Catalogue
	scheduler *workers.Scheduler
}

func newBench(t testing.TB, root string, options search.Options) *bench {
	t.Helper()
	catalogue, err := repos.Open(root, repos.Options{})
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
	return &bench{search.New(catalogue, scheduler, options), t, root, catalogue, scheduler}
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

// gitGrep is the oracle: what git finds, as "path:line:column", with the lines.
func gitGrep(t testing.TB, dir, commit string, arguments ...string) (places, lines []string) {
	t.Helper()
	cmd := exec.Command("git", slices.Concat([]string{"grep", "-n", "-I", "-z", "--column"}, arguments,
		[]string{commit})...)
	cmd.Dir, cmd.Env = dir, gittest.Env()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1 ||
		stderr.Len() > 0) {
		t.Fatalf("git grep %v: %v\n%s", arguments, err, stderr.String())
	}
	newlines := map[string]int{} // of the files with empty lines
	for len(out) > 0 {
		fields := bytes.SplitN(out, []byte{0}, 4) // a name may have a newline
		if len(fields) != 4 {
			t.Fatalf("git grep wrote %q", out)
		}
		text, rest, _ := bytes.Cut(fields[3], []byte{'\n'})
		out = rest
		path := strings.TrimPrefix(string(fields[0]), commit+":")
		// For "^$" git also counts an empty line after the final newline, where its
		// look-ahead finds one. GNU grep does not.
		if len(text) == 0 {
			if _, ok := newlines[path]; !ok {
				newlines[path] = bytes.Count(blob(t, dir, commit, path), []byte{'\n'})
			}
			if string(fields[1]) == strconv.Itoa(newlines[path]+1) {
				continue
			}
		}
		places = append(places, fmt.Sprintf("%s:%s:%s", path, fields[1], fields[2]))
		lines = append(lines, string(text))
	}
	return places, lines
}

func blob(t testing.TB, dir, commit, path string) []byte {
	t.Helper()
	cmd := exec.Command("git", "cat-file", "blob", commit+":"+path)
	cmd.Dir, cmd.Env = dir, gittest.Env()
	content, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// agree compares a search of one commit with git's, and returns the lines found.
func agree(t testing.TB, s *search.Searcher, dir, name, commit string, q search.Query, arguments ...string) int {
	t.Helper()
	q.Repositories.Any = []string{name}
	result, err := s.Search(t.Context(), search.Request{Query: q, Ref: commit, Limits: unlimited})
	if err != nil {
		t.Fatal(err)
	}
	want, lines := gitGrep(t, dir, commit, arguments...)
	got := summary(result)
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], name+":")
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s %v:\n got %q\nwant %q", name, arguments, got, want)
	}
	n := 0
	for _, f := range result.Files {
		for _, l := range f.Lines {
			stored := strings.TrimSuffix(lines[n], "\r")
			if l.Before == 0 && l.After == 0 && !l.Escaped && l.Text != stored || l.Before+l.After > len(stored) {
				t.Errorf("%s:%d: %q, git has %q", f.Path, l.Number, l.Text, stored)
			}
			n++
		}
	}
	return n
}

// patterns are written the same for RE2 and for the regular expressions of git.
var patterns = []struct {
	text      string
	regexp    bool
	arguments []string
	c         pattern.Case
}{
	{"a", false, []string{"-F", "-e", "a"}, pattern.Sensitive},
	{"needle", false, []string{"-F", "-e", "needle"}, pattern.Sensitive},
	{"NEEDLE", false, []string{"-F", "-i", "-e", "NEEDLE"}, pattern.Insensitive},
	{"task", false, []string{"-F", "-i", "-e", "task"}, pattern.Insensitive},
	{"a.b", false, []string{"-F", "-e", "a.b"}, pattern.Sensitive},
	{"absent in all", false, []string{"-F", "-e", "absent in all"}, pattern.Sensitive},
	{"a.b", true, []string{"-E", "-e", "a.b"}, pattern.Sensitive},
	{"^needle", true, []string{"-E", "-e", "^needle"}, pattern.Sensitive},
	{"(hay|need)[a-z]+ *$", true, []string{"-E", "-e", "(hay|need)[a-z]+ *$"}, pattern.Sensitive},
	{"^$", true, []string{"-E", "-e", "^$"}, pattern.Sensitive},
	{"[^a-z]+", true, []string{"-E", "-e", "[^a-z]+"}, pattern.Sensitive},
	{"x{2,3}", true, []string{"-E", "-e", "x{2,3}"}, pattern.Sensitive},
	{"ne+dle (a|b)", true, []string{"-E", "-i", "-e", "ne+dle (a|b)"}, pattern.Insensitive},
	{"[0-9]+_[a-z]", true, []string{"-E", "-e", "[0-9]+_[a-z]"}, pattern.Sensitive},
	{`\bhay\b`, true, []string{"-P", "-e", `\bhay\b`}, pattern.Sensitive},
	{`\w+\s\d`, true, []string{"-P", "-e", `\w+\s\d`}, pattern.Sensitive},
	{`(?i)need\S*`, true, []string{"-P", "-e", `(?i)need\S*`}, pattern.Sensitive},
}

// randomFiles has what a content can be like.
func randomFiles(r *rand.Rand) []gittest.File {
	pieces := []string{"needle", "Needle", "NEEDLE a", "hay", "hayneed", "a.b", "aXb", "a", " ", "  ", "\t", "xx",
		"12_a", "task", "TASK", "é", "日本", "3", "_", "$", "^"}
	ends := []string{"\n", "\n", "\n", "\r\n", "\n\n", ""}
	var files []gittest.File
	folders := []string{"", "dir/", "dir/inner/", "dir-a/", "dir.b/", "z/", "é/"}
	for i := range 12 + r.IntN(30) {
		var b strings.Builder
		for range r.IntN(12) {
			for range r.IntN(6) {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
			b.WriteString(ends[r.IntN(len(ends))])
		}
		content := b.String()
		switch r.IntN(14) {
		case 0:
			content = "needle\x00" + content
		case 1:
			content = strings.Repeat("x", 7990+r.IntN(20)) + "\x00needle a\n" + content
		case 2:
			content = strings.Repeat("hay needle ", 300+r.IntN(300)) + content
		case 3:
			content += "\xff\xfeneedle \x80 a.b\n"
		case 4:
			content = ""
		}
		path := fmt.Sprintf("%sfile%02d", folders[r.IntN(len(folders))], i)
		switch r.IntN(15) {
		case 0:
			files = append(files, gittest.Symlink(path, "needle"))
		case 1:
			files = append(files, gittest.Gitlink(path, strings.Repeat("a1", 20)))
		case 2:
			files = append(files, gittest.Executable(path, content))
		default:
			files = append(files, gittest.Regular(path, content))
		}
	}
	return files
}

func TestAgreesWithGitGrep(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	b := newBench(t, root, search.Options{})
	cases, found := 0, 0
	for range gittest.Volume(3, 100) {
		commit := repo.Commit("main", randomFiles(r)...)
		for _, p := range patterns {
			q := search.Query{Terms: []pattern.Term{{Text: p.text, Regexp: p.regexp}}, Case: p.c}
			// With answers of the commits before.
			found += agree(t, b.Searcher, repo.Dir, "repo", commit, q, p.arguments...)
			found += agree(t, b.fresh(), repo.Dir, "repo", commit, q, p.arguments...)
			cases += 2
		}
	}
	if cases < 100 || found < 2000 {
		t.Errorf("only %d cases with %d lines", cases, found)
	}
}

func TestAgreesWithGitGrepOnTheSampleMirrors(t *testing.T) {
	root := filepath.Join("..", "..", "testrepos")
	b := newBench(t, root, search.Options{})
	cases, found := 0, 0
	for _, name := range b.catalogue.Names() {
		dir := filepath.Join(root, name+".git")
		if _, err := os.Stat(dir); err != nil {
			dir = filepath.Join(root, name)
		}
		cmd := exec.Command("git", "rev-parse", "HEAD^{commit}")
		cmd.Dir, cmd.Env = dir, gittest.Env()
		head, err := cmd.Output()
		if err != nil {
			continue // it is empty
		}
		for _, text := range []string{"a", "the", "e", "[a-z]+[0-9]", "^.", "o *$"} {
			cases++
			found += agree(t, b.Searcher, dir, name, strings.TrimSpace(string(head)), expression(text), "-E", "-e",
				text)
		}
	}
	if cases < 60 || found < 500 {
		t.Errorf("only %d cases with %d lines", cases, found)
	}
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
			found += agree(t, b.Searcher, repo.Dir, "repo", commit, words(text), "-F", "-e", text)
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
		{Query: parse(t, "needle repo:one"), Allowed: func(name string) bool { return name != "one" }},
	} {
		if _, err := b.Search(t.Context(), request); !errors.Is(err, repos.ErrNotFound) {
			t.Errorf("%+v: %v", request, err)
		}
	}
	if result := b.find(search.Request{Query: parse(t, "hello repo:unborn")}); len(result.Files)+
		result.Counts.Repositories != 0 {
		t.Errorf("an empty repository: %+v", result)
	}
	result := b.find(search.Request{Query: words("hello"), Allowed: func(name string) bool { return name == "two" }})
	for _, f := range result.Files {
		if f.Repository != "two" {
			t.Errorf("found in %s, which is not allowed", f.Repository)
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
		"not allowed":   {Query: words("hello"), Cursor: first.Cursor, Allowed: func(string) bool { return false }},
	} {
		if result, err := b.Search(t.Context(), request); !errors.Is(err, search.ErrCursor) {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
	// The commit is not served any more.
	repo.Git("update-ref", "-d", "refs/heads/main")
	if _, err := b.Search(t.Context(), search.Request{Query: words("hello"), Cursor: first.Cursor}); !errors.Is(err,
		search.ErrCursor) {
		t.Errorf("a commit that is gone: %v", err)
	}
}

func TestDamageIsCountedAndNamed(t *testing.T) {
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "bad.git"))
	repo.Commit("main", gittest.Regular("a", "needle 1\n"), gittest.Regular("b", "needle 2\n"),
		gittest.Regular("dir/c", "needle 3\n"))
	hello(t, root, "good")
	blob, tree := repo.Git("rev-parse", "main:b"), repo.Git("rev-parse", "main:dir")
	b := newBench(t, root, search.Options{})
	remove := func(id string) {
		if err := os.Remove(filepath.Join(repo.Dir, "objects", id[:2], id[2:])); err != nil {
			t.Fatal(err)
		}
	}
	remove(blob)
	for range 2 {
		result := b.find(search.Request{Query: words("needle")})
		if result.Counts.Damaged != 1 || result.Lines != 2 || len(result.Problems) != 1 ||
			result.Problems[0].Path != "b" {
			t.Errorf("%+v", result)
		}
	}
	remove(tree)
	result, err := b.fresh().Search(t.Context(), search.Request{Query: words("hello")})
	if err != nil || len(result.Problems) != 2 || result.Counts.Repositories != 2 ||
		!strings.Contains(strings.Join(summary(result), " "), "good:") {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestCancellation(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	repo.Commit("main", randomFiles(r)...)
	b := newBench(t, root, search.Options{})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Search(cancelled, search.Request{Query: words("a")}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	for i := range 30 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*50*time.Microsecond)
		result, err := b.fresh().Search(ctx, search.Request{Query: words("a"), Limits: unlimited, After: 1})
		if (err == nil) == (result == nil) || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v, %v", result, err)
		}
		cancel()
	}
	b.scheduler.Close()
	if _, err := b.fresh().Search(t.Context(), search.Request{Query: words("a")}); err == nil {
		t.Error("no error after the workers ended")
	}
}

func TestManyAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	root := t.TempDir()
	for i := range 8 {
		gittest.At(t, filepath.Join(root, fmt.Sprintf("repo%02d.git", i))).Commit("main", randomFiles(r)...)
	}
	b := newBench(t, root, search.Options{CacheBytes: 64 << 10})
	queries := []string{"needle", "hay", "/x+/", "a path:dir", "needle language:python", "1"}
	want := map[string][]string{}
	for _, q := range queries {
		want[q] = summary(b.find(search.Request{Query: parse(t, q), Limits: unlimited}))
	}
	done := make(chan error)
	for i := range 12 {
		go func() {
			q := queries[i%len(queries)]
			query, _ := search.Parse(q, search.Words)
			result, err := b.Search(t.Context(), search.Request{Query: query, Limits: unlimited})
			if err == nil && !slices.Equal(summary(result), want[q]) {
				err = fmt.Errorf("%s: another result", q)
			}
			done <- err
		}()
	}
	for range 12 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A tree whose every folder holds the next one twice has more paths than can be
// walked.
func TestABombOfFoldersStopsInTime(t *testing.T) {
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "bomb.git"))
	raw := func(id string) string {
		parsed, err := repos.ParseID(id)
		if err != nil {
			t.Fatal(err)
		}
		return string(parsed[:])
	}
	id := repo.Store("blob", "needle\n")
	mode := "100644"
	for range 40 {
		id = repo.Store("tree", mode+" a\x00"+raw(id)+mode+" b\x00"+raw(id))
		mode = "40000"
	}
	repo.SetRef("refs/heads/main", repo.Store("commit",
		"tree "+id+"\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n"))
	b := newBench(t, root, search.Options{})
	if result := b.find(search.Request{Query: words("needle"), Limits: search.Limits{Lines: 1 << 30,
		OutputBytes: 1 << 40, Time: 200 * time.Millisecond}}); result.Stopped != search.StopTime {
		t.Errorf("stopped: %q", result.Stopped)
	}
	// Without a match, each folder is walked once only.
	result := b.find(search.Request{Query: words("hay"), Limits: unlimited})
	if result.Stopped != "" || result.Counts.Files != 1<<40 {
		t.Errorf("%+v", result.Counts)
	}
}
