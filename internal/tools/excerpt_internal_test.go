package tools

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func TestReadLines(t *testing.T) {
	long := strings.Repeat("é", maxListedBytes) // twice as many bytes
	many := strings.Repeat("0123456789abcde\n", maxListedBytes/16+10)
	for name, c := range map[string]struct {
		text       string
		start, end int
		want       excerpt
	}{
		"whole":            {"a\nb\n", 0, 0, excerpt{text: "a\nb\n", first: 1, last: 2, total: 2, counted: true}},
		"no final newline": {"a\nb", 0, 0, excerpt{text: "a\nb", first: 1, last: 2, total: 2, counted: true}},
		"empty":            {"", 0, 0, excerpt{first: 1, counted: true}},
		"newline":          {"\n", 0, 0, excerpt{text: "\n", first: 1, last: 1, total: 1, counted: true}},
		"range":            {"a\r\nb\r\nc\r\n", 2, 2, excerpt{text: "b\r\n", first: 2, last: 2, total: 3, counted: true}},
		"after the end":    {"a\nb\n", 5, 9, excerpt{first: 5, last: 4, total: 2, counted: true}},
		"end after all":    {"a\nb", 2, 9, excerpt{text: "b", first: 2, last: 2, total: 2, counted: true}},
		"binary":           {"a\x00", 0, 0, excerpt{binary: true}},
		"not UTF-8":        {"caf\xe9\nb\n", 0, 0, excerpt{text: "caf\ufffd\nb\n", first: 1, last: 2, total: 2, counted: true, replaced: true}},
		"another encoding": {"\xcd\xd3\xd7\xc5\xd4\n", 0, 0, excerpt{binary: true}},
		"too many lines":   {many, 0, 0, excerpt{text: many[:maxListedBytes], first: 1, last: maxListedBytes / 16, total: maxListedBytes/16 + 10, counted: true, cut: true}},
		"the rest of them": {many, maxListedBytes/16 + 1, 0, excerpt{text: many[maxListedBytes:], first: maxListedBytes/16 + 1, last: maxListedBytes/16 + 10, total: maxListedBytes/16 + 10, counted: true}},
		"a long line":      {"x" + long + "\nb\n", 0, 0, excerpt{text: ("x" + long)[:maxListedBytes-1], first: 1, last: 1, total: 2, counted: true, cut: true, within: maxListedBytes - 1}},
		"a long last line": {"a\n" + long, 0, 0, excerpt{text: "a\n", first: 1, last: 1, total: 2, counted: true, cut: true}},
		"exactly the cap":  {strings.Repeat("y", maxListedBytes-1) + "\n", 0, 0, excerpt{text: strings.Repeat("y", maxListedBytes-1) + "\n", first: 1, last: 1, total: 1, counted: true}},
	} {
		got, err := readLines(t.Context(), strings.NewReader(c.text), c.start, c.end)
		if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			got.text, c.want.text = clip(got.text), clip(c.want.text)
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

// Whoever goes on where the last excerpt says gets every line once.
func TestExcerptsPutTogetherAreTheText(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	cuts := 0
	for range 60 {
		var b strings.Builder
		for range r.IntN(400) {
			b.WriteString(strings.Repeat("line é ", r.IntN(80)))
			b.WriteString([]string{"\n", "\n", "\r\n"}[r.IntN(3)])
		}
		if r.IntN(2) == 0 {
			b.WriteString("unfinished")
		}
		text, got, next := b.String(), "", 1
		for {
			x, err := readLines(t.Context(), iotest.HalfReader(strings.NewReader(text)), next, 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(x.text) > maxListedBytes || !utf8.ValidString(x.text) {
				t.Fatalf("%d bytes", len(x.text))
			}
			got, next = got+x.text, x.last+1
			if !x.cut {
				break
			}
			cuts++
		}
		if got != text {
			t.Fatal("the parts are not the whole")
		}
	}
	if cuts < 30 {
		t.Errorf("only %d cuts were made", cuts)
	}
}

func TestAFileIsReadUpToABound(t *testing.T) {
	x, err := readLines(t.Context(), &endless{}, 3, 4)
	if err != nil || x.counted || x.text != endlessLine+endlessLine || x.total != maxReadBytes/len(endlessLine) {
		t.Errorf("%+v, %v", x, err)
	}
	if _, err := readLines(t.Context(), iotest.ErrReader(iotest.ErrTimeout), 0, 0); err == nil {
		t.Error("a failed read is no end")
	}
}

var endlessLine = strings.Repeat("x", 1023) + "\n"

// endless is a file without an end. It is read in whole lines.
type endless struct{}

func (e *endless) Read(p []byte) (n int, err error) {
	for len(p)-n >= len(endlessLine) {
		n += copy(p[n:], endlessLine)
	}
	return n, nil
}
