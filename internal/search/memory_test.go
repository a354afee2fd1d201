package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/search"
)

// TestAnswersKeepToTheirBound asks many different things, so that several times
// the bound is to be remembered: of files and folders without lines, of those with
// some, of folders by their paths, and of long lines.
func TestAnswersKeepToTheirBound(t *testing.T) {
	gittest.Long(t)
	const bound = 1 << 20
	root := t.TempDir()
	var files []gittest.File
	for i := range 1500 {
		text := fmt.Sprintf("file %d\nin every file\n%s\n", i, strings.Repeat("long ", 60))
		files = append(files, gittest.Regular(fmt.Sprintf("folder-%03d/deeper-%d/name-of-file-%04d.txt", i%150, i%3, i),
			text))
	}
	gittest.At(t, root+"/repo.git").Commit("main", files...)
	b := newBench(t, root, search.Options{})
	for name, ask := range map[string]struct {
		query  func(i int) search.Query
		number int
	}{
		"nothing":         {func(i int) search.Query { return words(fmt.Sprintf("nothing-%d", i)) }, 40},
		"a line in each":  {func(i int) search.Query { return expression(fmt.Sprintf("in every|other %d", i)) }, 6},
		"some lines":      {func(i int) search.Query { return words(fmt.Sprintf("file %d", i)) }, 40},
		"folders by path": {func(i int) search.Query { return parse(t, fmt.Sprintf("every -path:nowhere-%d", i)) }, 25},
		"long lines":      {func(i int) search.Query { return expression(fmt.Sprintf("long (long ){%d}", i)) }, 15},
		"long queries":    {func(i int) search.Query { return words(strings.Repeat("q", 1900) + fmt.Sprint(i)) }, 25},
	} {
		t.Run(name, func(t *testing.T) {
			b.find(search.Request{Query: ask.query(0), Limits: unlimited}) // what is read of the repository stays
			gittest.HeapFits(t, bound, func() any {
				searcher := search.New(b.catalogue, b.scheduler, search.Options{CacheBytes: bound, TextBytes: 1})
				for i := range ask.number {
					if _, err := searcher.Search(t.Context(), search.Request{Query: ask.query(i),
						Limits: unlimited}); err != nil {
						t.Fatal(err)
					}
				}
				return searcher
			})
		})
	}
}
