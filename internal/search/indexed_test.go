package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/cache/cachetest"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/index"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

// newIndex makes an index of a bench, in a folder unless that is "".
func (b *bench) newIndex(dir string) *index.Index {
	b.t.Helper()
	return b.openIndex(index.Options{Dir: dir})
}

func (b *bench) openIndex(o index.Options) *index.Index {
	b.t.Helper()
	o.Repositories, o.Scheduler, o.FileBytes = b.catalogue.View, b.scheduler, search.DefaultFileBytes
	x, err := index.New(o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := x.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return x
}

func update(t testing.TB, x *index.Index) {
	t.Helper()
	if _, err := x.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// with is a searcher that has an index, and remembers nothing.
func (b *bench) with(x *index.Index) *search.Searcher {
	return search.New(b.catalogue, b.scheduler, search.Options{Index: x, TextBytes: 1})
}

// agreeOnAll compares searches of a commit with those of git, and their counts with those of a search without an
// index. It returns the number of lines.
func (b *bench) agreeOnAll(x *index.Index, dir, commit string) (found int) {
	b.t.Helper()
	with := b.with(x)
	for _, p := range patterns {
		q := search.Query{Terms: []pattern.Term{{Text: p.text, Regexp: p.regexp}}, Case: p.c}
		q.Repositories.Any = []string{"repo"}
		result := b.agreeOn(with, search.Request{Query: q, Ref: commit, Limits: unlimited})
		found += b.isGits(result, dir, "repo", commit, p.arguments...)
	}
	for _, text := range []string{"needle path:dir", "hay -path:dir extension:x", "needle hay", `"hay need" a`} {
		for _, order := range []search.Order{search.ByPath, search.ByRank} {
			b.agreeOn(with, search.Request{Query: parse(b.t, text), Ref: commit, Order: order, Limits: unlimited})
		}
	}
	return found
}

// scan is the result of a search without an index. That of a commit is searched once.
func (b *bench) scan(request search.Request) *search.Result {
	b.t.Helper()
	question := fmt.Sprintf("%#v", request)
	if known, ok := b.scanned[question]; ok {
		return known
	}
	result, err := b.fresh().Search(b.t.Context(), request)
	if err != nil {
		b.t.Fatal(err)
	}
	if request.Ref != "" {
		b.scanned[question] = result
	}
	return result
}

// agreeOn compares a whole result with that of a search without an index, and returns it.
func (b *bench) agreeOn(with *search.Searcher, request search.Request) (got *search.Result) {
	b.t.Helper()
	want := b.scan(request)
	got, err := with.Search(b.t.Context(), request)
	if err != nil {
		b.t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Files, want.Files) || got.Counts != want.Counts || got.Ranked != want.Ranked ||
		got.Stopped != want.Stopped || got.Cursor != want.Cursor {
		b.t.Fatalf("%+v of %s:\n got %+v %q\nwant %+v %q", request.Query, request.Ref, got.Counts, ranking(got),
			want.Counts, ranking(want))
	}
	return got
}

// Searches find what git finds, in commits that are in the index in whole, in part and not at all, also after a branch
// was moved away from them.
func TestIndexedSearchesAgreeWithGitGrep(t *testing.T) {
	gittest.Long(t)
	r := rand.New(rand.NewPCG(21, 22))
	for _, dir := range []string{"", t.TempDir()} {
		root := t.TempDir()
		repo := gittest.At(t, filepath.Join(root, "repo.git"))
		b := newBench(t, root, search.Options{})
		x := b.newIndex(dir)
		commits, found := []string{}, 0
		for i := range gittest.Volume(4, 40) {
			files := randomFiles(r)
			commits = append(commits, repo.Commit("main", files...))
			repo.SetRef(fmt.Sprintf("refs/tags/%d", i), commits[i])
			found += b.agreeOnAll(x, repo.Dir, commits[i]) // and its files are wanted
			files = append(files[len(files)/2:], randomFiles(r)...)
			slices.SortFunc(files, func(a, b gittest.File) int { return strings.Compare(a.Path, b.Path) })
			files = slices.CompactFunc(files, func(a, b gittest.File) bool { return a.Path == b.Path })
			forced := repo.Commit("main", files...)
			repo.SetRef("refs/tags/forced", forced)
			if i%2 == 0 {
				repo.SetRef("refs/heads/main", commits[0])
			}
			update(t, x)
			for _, commit := range []string{forced, commits[0], commits[i]} {
				found += b.agreeOnAll(x, repo.Dir, commit)
			}
		}
		if stats := x.Stats(); found < 2000 || stats.Documents < 50 {
			t.Errorf("only %d lines, %+v", found, stats)
		}
	}
}

// Words rank files the same with and without an index: in any spelling, as names, in files with very many words, and
// in files whose language their names tell differently.
func TestIndexedRanksAreThoseOfTexts(t *testing.T) {
	gittest.Long(t)
	r := rand.New(rand.NewPCG(23, 24))
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	parts := []string{"parse", "Parser", "parsing", "URL", "url", "read", "reader", "dying", "die", "lying", "eing", "e",
		"Kelvin", "\u212Aelvin", "Größe", "日本", "x", "HTTP2", "_", "use", "used", "skies", "early", "s"}
	word := func() string {
		text := ""
		for range 1 + r.IntN(3) {
			text += parts[r.IntN(len(parts))]
		}
		return text
	}
	var files []gittest.File
	for i := range 120 {
		var b strings.Builder
		if i%17 == 0 {
			b.WriteString("// Code generated by x. DO NOT EDIT.\n")
		}
		for range r.IntN(30) {
			fmt.Fprintf(&b, []string{"def %s(%s):\n", "func %s() { %s }\n", "%s = %s\n", "%s %s\n"}[r.IntN(4)], word(), word())
		}
		if i == 5 {
			for n := range 55_000 {
				fmt.Fprintf(&b, "w%dx ", n)
			}
		}
		path := fmt.Sprintf("%s/f%d%s", word(), i, []string{".py", ".go", ".md", ""}[r.IntN(4)])
		files = append(files, gittest.Regular(path, b.String()))
		if i%9 == 0 { // the same file in two languages
			files = append(files, gittest.Regular(path+".rb", b.String()))
		}
	}
	repo.Commit("main", files...)
	b := newBench(t, root, search.Options{})
	x := b.newIndex("")
	for _, indexed := range []bool{false, true} {
		if indexed {
			update(t, x)
		}
		with := b.with(x)
		for range gittest.Sample(gittest.Volume(60, 1000)) {
			text := word() + " " + word()
			q := search.Query{Words: [][]string{{word(), word()}, {word()}}}
			switch r.IntN(5) {
			case 0:
				q.Case = pattern.Sensitive
			case 1:
				q.Terms = []pattern.Term{{Text: word()}}
			case 2:
				q.Symbols = []string{word()}
			case 3:
				q = parse(t, text+" language:python")
			}
			limits := unlimited
			limits.Ranked = 1 + r.IntN(200)
			b.agreeOn(with, search.Request{Query: q, Order: search.ByRank, Limits: limits})
		}
	}
}

// A folder of segments of which each is damaged somewhere gives no wrong answer, whether the damage came before the
// start or after it.
func TestDamagedSegmentsGiveNoWrongAnswer(t *testing.T) {
	gittest.Long(t)
	r := rand.New(rand.NewPCG(25, 26))
	root, dir := t.TempDir(), t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	commit := repo.Commit("main", randomFiles(r)...)
	b := newBench(t, root, search.Options{})
	update(t, b.newIndex(dir))
	names, err := filepath.Glob(filepath.Join(dir, "*.segment"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%q, %v", names, err)
	}
	sound, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for at := r.IntN(40); at < len(sound); at += 1 + r.IntN(len(sound)/gittest.Volume(20, 400)) {
		for _, late := range []bool{false, true} {
			broken := slices.Clone(sound)
			broken[at] ^= 1 << r.IntN(8)
			if err := os.WriteFile(names[0], sound, 0o600); err != nil {
				t.Fatal(err)
			}
			var x *index.Index
			if late {
				x = b.newIndex(dir)
			}
			if err := os.WriteFile(names[0], broken, 0o600); err != nil {
				t.Fatal(err)
			}
			if !late {
				x = b.newIndex(dir)
			}
			b.agreeOnAll(x, repo.Dir, commit)
			if _, err := os.Stat(names[0]); err != nil {
				damaged++
			}
			update(t, x)
			b.agreeOnAll(x, repo.Dir, commit)
		}
	}
	if damaged < 10 {
		t.Errorf("damage was noticed %d times", damaged)
	}
}

// Results are right while the index is built, and branches are moved.
func TestSearchesDuringIndexing(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	var commits []string
	for i := range 6 {
		commits = append(commits, repo.Commit("main", randomFiles(r)...))
		repo.SetRef(fmt.Sprintf("refs/tags/%d", i), commits[i])
	}
	b := newBench(t, root, search.Options{})
	x := b.newIndex(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { x.Run(ctx) })
	defer running.Wait()
	defer cancel()
	for i := range gittest.Sample(gittest.Volume(6, 60)) {
		repo.SetRef("refs/heads/main", commits[i%len(commits)])
		b.agreeOnAll(x, repo.Dir, commits[r.IntN(len(commits))])
	}
}

// A server that starts takes the segments that another one has put into object storage. Where one of these is missing
// or was altered it reads the files.
func TestServersShareSegments(t *testing.T) {
	gittest.Long(t)
	r := rand.New(rand.NewPCG(29, 30))
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	commit := repo.Commit("main", randomFiles(r)...)
	b := newBench(t, root, search.Options{})
	bucket := new(cachetest.Bucket)
	first := b.openIndex(index.Options{Shared: bucket})
	update(t, first)
	names := bucket.Names()
	if len(names) != 2 {
		t.Fatalf("%q", names)
	}
	for _, dir := range []string{"", t.TempDir()} {
		second := b.openIndex(index.Options{Shared: bucket, Dir: dir})
		update(t, second)
		if got := second.Stats(); got != first.Stats() || !slices.Equal(bucket.Names(), names) {
			t.Errorf("%+v, want %+v; %q", got, first.Stats(), bucket.Names())
		}
		b.agreeOnAll(second, repo.Dir, commit)
	}
	segment := slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, ".segment") })
	object, err := bucket.Object(names[segment])
	if err != nil {
		t.Fatal(err)
	}
	object[len(object)/3] ^= 1
	bucket.Put(names[segment], object)
	third := b.openIndex(index.Options{Shared: bucket})
	update(t, third)
	b.agreeOnAll(third, repo.Dir, commit)
	if err := bucket.Delete(t.Context(), names[segment]); err != nil {
		t.Fatal(err)
	}
	fourth := b.openIndex(index.Options{Shared: bucket})
	update(t, fourth)
	b.agreeOnAll(fourth, repo.Dir, commit)
	if third.Stats() != first.Stats() || fourth.Stats() != first.Stats() {
		t.Errorf("%+v and %+v, want %+v", third.Stats(), fourth.Stats(), first.Stats())
	}
}

// A result says that every file was read because the index could not help, and only then.
func TestScansAreSaid(t *testing.T) {
	root := t.TempDir()
	hello(t, root, "repo")
	b := newBench(t, root, search.Options{})
	x := b.newIndex("")
	update(t, x)
	for _, c := range []struct {
		query string
		order search.Order
		want  bool
	}{
		{`"hello"`, search.ByPath, false}, {`"he"`, search.ByPath, true}, {`/h.l+o/`, search.ByPath, true},
		{`/h.l+o world/`, search.ByPath, false}, {`"he" hello`, search.ByPath, false}, {"he", search.ByRank, true}, // within words
		{"hello", search.ByRank, false}, {`hello "lo"`, search.ByRank, true},
	} {
		result, err := b.with(x).Search(t.Context(), search.Request{Query: parse(t, c.query), Order: c.order})
		if err != nil || result.Scanned != c.want {
			t.Errorf("%s: %v, %v; want %v", c.query, result.Scanned, err, c.want)
		}
	}
}
