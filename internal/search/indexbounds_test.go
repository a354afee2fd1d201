package search_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/index"
)

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
	x := b.openIndex(index.Options{Dir: dir, DirBytes: 1_000_000})
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

	come := func(names ...string) {
		t.Helper()
		for _, name := range names {
			late := gittest.At(t, filepath.Join(root, name+".git"))
			late.Commit("other", randomTexts(r, 40)...)
			late.Commit("main", randomTexts(r, 5)...)
		}
		gittest.Await(t, "the catalogue notices the repositories", func() bool {
			return !slices.ContainsFunc(names, func(name string) bool {
				_, err := b.catalogue.Get(name)
				return err != nil
			})
		})
	}
	come("late")
	if got := segments(); !slices.Equal(got, after) {
		t.Errorf("a repository that came late was indexed: %d segments, then %d", len(after), len(got))
	}
	// The next push to it makes room, but not for others that come at the same time.
	come("1", "2", "3", "4", "5", "6")
	gittest.Existing(t, filepath.Join(root, "late.git")).Commit("main", randomTexts(r, 36)...)
	got := segments()
	if slices.Equal(got, after) || x.Stats().Documents != 40+36 {
		t.Errorf("a push to it: %d segments, then %d, with %+v", len(after), len(got), x.Stats())
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
