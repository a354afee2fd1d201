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
	"github.com/repomcp/repomcp/internal/repos"
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

// Segments are merged, and make room for others within the bounds of bytes and of documents.
func TestIndexKeepsToItsBounds(t *testing.T) {
	gittest.Long(t)
	r := rand.New(rand.NewPCG(33, 34))
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	b := newBench(t, root, search.Options{})
	const bound, documents = 1 << 20, 600
	type kept struct {
		*index.Index
		options index.Options
		most    int // segments
	}
	indexes := []*kept{{options: index.Options{Dir: t.TempDir(), DirBytes: bound}},
		{options: index.Options{Dir: t.TempDir(), Memory: 4 * 90 * documents}}}
	for _, x := range indexes {
		x.Index = b.openIndex(x.options)
	}
	for range 40 {
		commit := repo.Commit("main", randomTexts(r, 40)...)
		for i, x := range indexes {
			update(t, x.Index)
			stats := x.Stats()
			x.most = max(x.most, stats.Segments)
			if size, files := sizeOf(t, x.options.Dir); size != stats.Bytes || files != stats.Segments ||
				stats.Documents == 0 || i == 0 && size > bound || i == 1 && stats.Documents > documents {
				t.Fatalf("%d: %+v, %d bytes in %d files", i, stats, size, files)
			}
			q := words("needle")
			q.Repositories.Any = []string{"repo"}
			b.agreeOn(b.with(x.Index), search.Request{Query: q, Ref: commit, Limits: unlimited})
		}
	}
	for i, x := range indexes {
		if x.most < 3 || x.most > 12 {
			t.Errorf("%d: there were up to %d segments", i, x.most)
		}
	}
	before := indexes[0].Stats()
	most := before.Documents - 1
	again := b.openIndex(index.Options{Dir: indexes[0].options.Dir, Memory: int64(4 * 90 * most)})
	if got := again.Stats(); got.Documents == 0 || got.Documents > most {
		t.Errorf("%+v, and in a server with less memory %+v", before, got)
	}
}

// sizeOf returns the size and number of the files in a folder.
func sizeOf(t *testing.T, dir string) (bytes int64, files int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes, len(entries)
}

// randomTexts are files whose words are in no others.
func randomTexts(r *rand.Rand, n int) (files []gittest.File) {
	for i := range n {
		var text strings.Builder
		for range 40 {
			fmt.Fprintf(&text, "w%x needle\n", r.Uint64())
		}
		files = append(files, gittest.Regular(fmt.Sprint(i), text.String()))
	}
	return files
}

// A push of a branch takes no more room in a full index than its own: the other branches of its repository, which had
// none, still have none.
func TestPushTakesItsOwnRoomInAFullIndex(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(37, 38))
	root, dir := t.TempDir(), t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	for branch := range 40 {
		repo.Commit(fmt.Sprint("branch", branch), randomTexts(r, 40)...)
	}
	b := newBench(t, root, search.Options{})
	x := b.openIndex(index.Options{Dir: dir, DirBytes: 1 << 20})
	segments := func() (names []string) {
		t.Helper()
		update(t, x)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	before := segments()
	stats := x.Stats()
	if stats.Documents == 0 || stats.Documents > 40*30 {
		t.Fatalf("not a part of the branches is in the index: %+v", stats)
	}
	repo.Commit("branch7", randomTexts(r, 40)...)
	after := segments()
	for _, name := range before { // there is room enough for one more
		if !slices.Contains(after, name) {
			t.Errorf("segment %s was replaced", name)
		}
	}
	if got := x.Stats().Documents - stats.Documents; got != 40 || len(after) != len(before)+1 {
		t.Errorf("%d files were added, in %d segments", got, len(after)-len(before))
	}

	late := gittest.At(t, filepath.Join(root, "late.git"))
	late.Commit("other", randomTexts(r, 40)...)
	late.Commit("main", randomTexts(r, 5)...)
	gittest.Await(t, "the catalogue notices the repository", func() bool {
		_, err := b.catalogue.Get("late")
		return err == nil
	})
	if came := segments(); !slices.Equal(came, after) {
		t.Errorf("a repository that came late was indexed: %d segments, then %d", len(after), len(came))
	}
	stats = x.Stats()
	late.Commit("main", randomTexts(r, 5)...)
	if update(t, x); x.Stats().Documents != stats.Documents+5 {
		t.Errorf("a push to it: %+v, then %+v", stats, x.Stats())
	}
}

// An index in memory, with what searches learn of folders, keeps to its bound.
func TestIndexInMemoryKeepsToItsBound(t *testing.T) {
	gittest.Long(t)
	r := rand.New(rand.NewPCG(35, 36))
	const bound = 8 << 20
	root := t.TempDir()
	b := newBench(t, root, search.Options{})
	for i := range 5 {
		var files []gittest.File
		for n := range 250 {
			var text strings.Builder
			for range 500 {
				fmt.Fprintf(&text, "w%x needle\n", r.Uint32())
			}
			files = append(files, gittest.Regular(fmt.Sprintf("folder-%d/%d", n%50, n), text.String()))
		}
		gittest.At(t, filepath.Join(root, fmt.Sprintf("repo%d.git", i))).Commit("main", files...)
	}
	again, err := repos.Open(root, repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	b.catalogue = again
	b.find(search.Request{Query: words("needle"), Limits: unlimited}) // what is read of the repositories stays
	gittest.HeapFits(t, bound/4*3, func() any {                       // a part is for more folders than there are
		x := b.openIndex(index.Options{Memory: bound})
		update(t, x)
		s := search.New(again, b.scheduler, search.Options{Index: x, TextBytes: 1, CacheBytes: 1})
		for range 2 {
			if _, err := s.Search(t.Context(), search.Request{Query: words("absent")}); err != nil {
				t.Fatal(err)
			}
			update(t, x)
		}
		if stats := x.Stats(); stats.Bytes > bound/2 || stats.Documents == 0 {
			t.Errorf("%+v", stats)
		}
		return x
	})
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
