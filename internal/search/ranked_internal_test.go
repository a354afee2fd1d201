package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/search/rank"
)

// Cursors of ranked searches are read as they were written, and parts of them and impossible ones are refused.
func TestCursorsOfSlices(t *testing.T) {
	sum := [sumBytes]byte{1, 2, 3}
	start, next := position{"a/b", git.ID{4}, "c/d", 0}, position{repository: "e"}
	for _, s := range []slice{
		{}, {start: start, shown: 10, sum: sum}, {start: start, files: 1 << 40, cut: StopTime, next: next, shown: 5},
		{start: start, files: 3, cut: StopCandidates, next: start},
	} {
		cursor := s.encode(sum)
		if got, err := decodeSlice(cursor, sum); err != nil || got != s {
			t.Errorf("%+v, %v; want %+v", got, err, s)
		}
		for n := range cursor {
			if got, err := decodeSlice(cursor[:n], sum); err == nil {
				t.Errorf("%d of %d characters: %+v", n, len(cursor), got)
			}
		}
		if _, err := decodeCursor(cursor, sum); err == nil {
			t.Error("a cursor of another order is accepted")
		}
	}
	for _, s := range []slice{{files: 3}, {cut: StopTime}} { // without a limit, and without an end
		if got, err := decodeSlice(s.encode(sum), sum); err == nil {
			t.Errorf("%+v is accepted", got)
		}
	}
}

// TestCandidatesKeepToTheirBound fills a slice with files that have all words of a long question, at long paths.
func TestCandidatesKeepToTheirBound(t *testing.T) {
	const bound = 12 << 20 // the tool reserves more
	target := &target{name: strings.Repeat("team/", 4) + "repository", commit: git.ID{1}}
	gittest.HeapFits(t, bound, func() any {
		r := newRanked()
		r.begin(target)
		for i := range maxCandidates {
			path := strings.Repeat("folder/", 8) + fmt.Sprintf("file-%d.go", i)
			r.add(target, &step{path: path, found: &tally{rank.Tally{Counts: make([]rank.Count, 15)}}})
		}
		return r
	})
}
