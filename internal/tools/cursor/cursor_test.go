package cursor_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/tools/cursor"
)

func TestCursorsLeadBack(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		want := cursor.Cursor{
			Digest: cursor.Digest("tool", map[string]any{"a": r.Int()}), Done: r.IntN(1 << r.IntN(31)), Last: r.Uint32(),
		}
		for range r.IntN(3) {
			var pin git.ID
			for i := range pin {
				pin[i] = byte(r.IntN(256))
			}
			want.Pins = append(want.Pins, pin)
		}
		if got, ok := cursor.Parse(want.String()); !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, %t; want %+v", got, ok, want)
		}
	}
}

func TestTheDigestIsOfWhatSelects(t *testing.T) {
	t.Parallel()
	base := cursor.Digest("tool", map[string]any{"query": "a"})
	if got := cursor.Digest("tool", map[string]any{
		"query": "a", "perPage": 7.0, "cursor": "x", "page": 2.0, "ref": nil,
	}); got != base {
		t.Error("the arguments of the page count")
	}
	for name, other := range map[string][cursor.DigestBytes]byte{
		"tool": cursor.Digest("other", map[string]any{"query": "a"}),
		"more": cursor.Digest("tool", map[string]any{"query": "a", "ref": "b"}), "none": cursor.Digest("tool", nil),
	} {
		if other == base {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

// FuzzParse finds that what is no cursor is refused, and that a cursor is written in one way.
func FuzzParse(f *testing.F) {
	f.Add("")
	f.Add(cursor.Cursor{Pins: make([]git.ID, 2), Done: 300}.String())
	f.Fuzz(func(t *testing.T, text string) {
		if c, ok := cursor.Parse(text); ok && c.String() != text {
			t.Errorf("%q is written %q", text, c)
		}
	})
}
