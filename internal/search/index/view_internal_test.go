package index

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/repomcp/repomcp/internal/search/pattern"
	"github.com/repomcp/repomcp/internal/search/rank"
)

// countingReader counts how often a segment is read.
type countingReader struct {
	io.ReaderAt
	reads int
}

func (r *countingReader) ReadAt(b []byte, offset int64) (int, error) {
	r.reads++
	return r.ReaderAt.ReadAt(b, offset)
}

// A query that is asked again reads no segment until there is another one, whose documents it then has as well.
func TestViewsAreThoseOfPresentSegments(t *testing.T) {
	p, err := pattern.Compile([]pattern.Term{{Text: "needle"}}, pattern.Smart)
	if err != nil {
		t.Fatal(err)
	}
	words := rank.Parse([][]string{{"needle"}, {"parse"}}, rank.Options{})
	for name, q := range map[string]Query{"pattern": {Need: NeedOf(p)}, "words": {Words: words}} {
		r := rand.New(rand.NewPCG(5, 6))
		x, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			m := makeSegment(t, r, 50)
			s, err := x.add(nil, func(to io.Writer) (string, error) {
				_, err := to.Write(m.content)
				return fmt.Sprint(i), err
			})
			if err != nil {
				t.Fatal(err)
			}
			counting := &countingReader{ReaderAt: s.from}
			s.from = counting
			first := x.View(q)
			reads := counting.reads
			second := x.View(q)
			if counting.reads != reads || reads == 0 {
				t.Errorf("%s: the segment was read %d times, and then %d times", name, reads, counting.reads-reads)
			}
			fresh := &View{state: x.now()}
			if failed := fresh.collect(q); failed != nil {
				t.Fatal(failed)
			}
			if !second.searched.Equals(fresh.searched) || !first.searched.Equals(fresh.searched) {
				t.Errorf("%s: %v and %v are searched, want %v", name, first.searched, second.searched, fresh.searched)
			}
			if n := len(first.given); n > 0 && &first.given[0] == &second.given[0] {
				t.Errorf("%s: two searches share the memory of counts", name)
			}
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}
