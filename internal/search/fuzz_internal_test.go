package search

import (
	"encoding/base64"
	"errors"
	"testing"
)

// FuzzCursor: a cursor that is accepted means the same when it is written again, and
// none is for another query.
func FuzzCursor(f *testing.F) {
	f.Add(
		[]byte(
			"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x05helloREADME.md"))
	f.Fuzz(func(t *testing.T, rest []byte) {
		sum := [sumBytes]byte{1, 2, 3}
		text := base64.RawURLEncoding.EncodeToString(append(append([]byte{cursorVersion}, sum[:]...), rest...))
		p, err := decodeCursor(text, sum)
		if err != nil {
			if !errors.Is(err, ErrCursor) {
				t.Fatalf("not a typed error: %v", err)
			}
			return
		}
		if same, err := decodeCursor(p.encode(sum), sum); err != nil || same != p || p.lines < 0 {
			t.Fatalf("%+v, then %+v, %v", p, same, err)
		}
		if _, err := decodeCursor(text, [sumBytes]byte{3, 2, 1}); err == nil {
			t.Fatal("it is good for another query")
		}
	})
}
