package rank_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/search/rank"
)

// The counts of an indexer are those of the tallies of queries, for words of all shapes.
func TestFormsAreThoseOfTallies(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(31, 32))
	pieces := []string{"parse", "Parse", "URL", "dying", "die", "lie", "lying", "tying", "tie", "eing", "eed", "e", "a", "ing",
		"Größe", "日本", "İx", "\u212Aelvin", "\u017Fet", "HTTP2", "_", "__", "skies", "idly", "ied", "y", "yes", "9", "\xff", " ", "(",
		strings.Repeat("x", 63), strings.Repeat("Ab", 70)}
	x, cases := rank.NewIndexer(), 0
	for range gittest.Volume(2000, 50_000) {
		var b strings.Builder
		for range 3 + r.IntN(20) {
			if r.IntN(6) == 0 {
				b.WriteString("\ndef ")
			}
			b.WriteString(pieces[r.IntN(len(pieces))])
			if r.IntN(3) == 0 {
				b.WriteByte(' ')
			}
		}
		text := rank.Text{Content: []byte(b.String())}
		if r.IntN(2) == 0 {
			text.Name = definitions.NamerOf("Python").Name
		}
		counts := make(map[string]rank.Count)
		x.Count(text, func(form string, c rank.Count) { counts[form] = c })
		piece := func() string { return pieces[r.IntN(len(pieces))] }
		q := rank.Parse([][]string{{piece() + piece(), piece()}}, rank.Options{})
		forms, exact := q.Forms()
		var of []rank.Count
		for _, form := range forms {
			of = append(of, counts[form])
		}
		got := rank.IndexedTally(len(text.Content), false, of)
		want := new(rank.Scanner).Tally(q, text)
		if exact || len(got.Counts) != len(want.Counts) {
			t.Fatalf("%q in %q: %+v, want %+v", forms, text.Content, got, want)
		}
		for i := range got.Counts {
			if cases++; got.Counts[i] != want.Counts[i] {
				t.Fatalf("%q in %q: %+v, want %+v", forms, text.Content, got, want)
			}
		}
	}
	if cases < 200 {
		t.Errorf("only %d counts", cases)
	}
}
