package excerpt

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// limit is what the tests take at most.
const limit = 28 << 10

func beginning(text string) string { return text[:min(len(text), 200)] }

func TestRead(t *testing.T) {
	long := strings.Repeat("é", limit) // twice as many bytes
	many := strings.Repeat("0123456789abcde\n", limit/16+10)
	for name, c := range map[string]struct {
		text       string
		start, end int
		want       Excerpt
	}{
		"whole":            {"a\nb\n", 0, 0, Excerpt{Text: "a\nb\n", First: 1, Last: 2, Total: 2, Counted: true}},
		"no final newline": {"a\nb", 0, 0, Excerpt{Text: "a\nb", First: 1, Last: 2, Total: 2, Counted: true}},
		"empty":            {"", 0, 0, Excerpt{First: 1, Counted: true}},
		"newline":          {"\n", 0, 0, Excerpt{Text: "\n", First: 1, Last: 1, Total: 1, Counted: true}},
		"range": {"a\r\nb\r\nc\r\n", 2, 2, Excerpt{Text: "b\r\n", First: 2, Last: 2, Total: 3,
			Counted: true}},
		"after the end": {"a\nb\n", 5, 9, Excerpt{First: 5, Last: 4, Total: 2, Counted: true}},
		"end after all": {"a\nb", 2, 9, Excerpt{Text: "b", First: 2, Last: 2, Total: 2, Counted: true}},
		"binary":        {"a\x00", 0, 0, Excerpt{Binary: true}},
		"not UTF-8": {"caf\xe9\nb\n", 0, 0, Excerpt{Text: "caf\ufffd\nb\n", First: 1, Last: 2, Total: 2,
			Counted: true, Replaced: true}},
		"another encoding": {"\xcd\xd3\xd7\xc5\xd4\n", 0, 0, Excerpt{Binary: true}},
		"too many lines": {many, 0, 0, Excerpt{Text: many[:limit], First: 1, Last: limit / 16, Total: limit/16 + 10,
			Counted: true, Cut: true}},
		"the rest of them": {many, limit/16 + 1, 0, Excerpt{Text: many[limit:], First: limit/16 + 1,
			Last: limit/16 + 10, Total: limit/16 + 10, Counted: true}},
		"a long line": {"x" + long + "\nb\n", 0, 0, Excerpt{Text: ("x" + long)[:limit-1], First: 1, Last: 1,
			Total: 2, Counted: true, Cut: true, Within: limit - 1}},
		"a long last line": {"a\n" + long, 0, 0, Excerpt{Text: "a\n", First: 1, Last: 1, Total: 2, Counted: true,
			Cut: true}},
		"exactly the cap": {strings.Repeat("y", limit-1) + "\n", 0, 0,
			Excerpt{Text: strings.Repeat("y", limit-1) + "\n", First: 1, Last: 1, Total: 1, Counted: true}},
	} {
		got, err := Read(t.Context(), strings.NewReader(c.text), c.start, c.end, limit)
		if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			got.Text, c.want.Text = beginning(got.Text), beginning(c.want.Text)
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

// Excerpts that continue each other contain every line once.
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
			x, err := Read(t.Context(), iotest.HalfReader(strings.NewReader(text)), next, 0, limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(x.Text) > limit || !utf8.ValidString(x.Text) {
				t.Fatalf("%d bytes", len(x.Text))
			}
			got, next = got+x.Text, x.Last+1
			if !x.Cut {
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
	x, err := Read(t.Context(), &endless{}, 3, 4, limit)
	if err != nil || x.Counted || x.Text != endlessLine+endlessLine || x.Total != MaxReadBytes/len(endlessLine) {
		t.Errorf("%+v, %v", x, err)
	}
	if _, err := Read(t.Context(), iotest.ErrReader(iotest.ErrTimeout), 0, 0, limit); err == nil {
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
