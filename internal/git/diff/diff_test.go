package diff_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/gittest"
)

// apply makes the second text out of the first one and the changes, and checks
// what Lines promises about them.
func apply(t *testing.T, a, b []byte, changes []diff.Change) []byte {
	t.Helper()
	from, to := bytes.SplitAfter(a, []byte("\n")), bytes.SplitAfter(b, []byte("\n"))
	var out []byte
	line := 0
	for i, c := range changes {
		if c.ALines < 0 || c.BLines < 0 || c.ALines+c.BLines == 0 || c.A < line || i > 0 && c.A == line {
			t.Fatalf("change %d is %+v after line %d", i, c, line)
		}
		for ; line < c.A; line++ {
			out = append(out, from[line]...)
		}
		line += c.ALines
		for _, added := range to[c.B : c.B+c.BLines] {
			out = append(out, added...)
		}
	}
	for ; line < len(from); line++ {
		out = append(out, from[line]...)
	}
	return out
}

func checkLines(t *testing.T, a, b []byte) {
	t.Helper()
	for _, o := range []diff.Options{{}, {TrimTail: true}} {
		changes, err := diff.Lines(t.Context(), a, b, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := apply(t, a, b, changes); !bytes.Equal(got, b) {
			t.Fatalf("%+v: the changes %v make %q of %q, not %q", o, changes, got, a, b)
		}
		var out strings.Builder
		if err := diff.Unified(&out, a, b, changes, 2); err != nil {
			t.Fatal(err)
		}
		added, deleted := diff.Count(changes)
		if plus, minus := strings.Count("\n"+out.String(), "\n+"), strings.Count("\n"+out.String(),
			"\n-"); plus != added || minus != deleted {
			t.Fatalf("%d lines are added and %d deleted; the hunks have %d and %d", added, deleted, plus, minus)
		}
	}
}

func TestChangesMakeTheSecondText(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range gittest.Volume(1000, 50_000) {
		a := gittest.Text(r, r.IntN(60))
		checkLines(t, []byte(a), []byte(gittest.Edit(r, a, r.IntN(20))))
		checkLines(t, []byte(a), []byte(gittest.Text(r, r.IntN(60))))
	}
}

func FuzzLines(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		a := gittest.Text(r, 20)
		f.Add([]byte(a), []byte(gittest.Edit(r, a, 5)))
	}
	f.Add([]byte("a\nb\na\nb\n"), []byte("b\na\nb\na"))
	f.Add([]byte(""), []byte("\n\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		checkLines(t, a, b)
		// Short lines, of which many are equal, are where paths branch.
		checkLines(t, spread(a), spread(b))
	})
}

// spread makes a line of two bits of each byte.
func spread(text []byte) []byte {
	lines := make([]byte, 0, 2*len(text))
	for _, c := range text {
		lines = append(lines, 'a'+c&3, '\n')
	}
	return lines
}

// Texts for which a search without limits would take the square of their size.
func TestHostileTextsEnd(t *testing.T) {
	const lines = 30_000
	r := rand.New(rand.NewPCG(9, 10))
	var numbers, shuffled, noise strings.Builder
	for i := range lines {
		numbers.WriteString(strings.Repeat("n", i%7) + string(rune('a'+i%26)) + strings.Repeat("x", i%11) + "\n")
	}
	words := strings.SplitAfter(numbers.String(), "\n")
	r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	shuffled.WriteString(strings.Join(words, ""))
	for range lines {
		noise.WriteString(string(rune('a'+r.IntN(20))) + "\n")
	}
	for name, c := range map[string]texts{
		"equal lines": {strings.Repeat("\n", lines), strings.Repeat("\n", lines/2) + "x\n" + strings.Repeat("\n",
			lines)},
		"two periods": {strings.Repeat("a\nb\n", lines/2), strings.Repeat("a\nb\nb\n", lines/3)},
		"shuffled":    {numbers.String(), shuffled.String()},
		"few lines":   {noise.String(), numbers.String() + noise.String()},
		"blank columns": {strings.Repeat(strings.Repeat("\r", 1<<20)+"\n", 20),
			strings.Repeat(strings.Repeat("\r", 1<<20)+"\n", 25)},
		"one line": {strings.Repeat("a", 4<<20), strings.Repeat("a", 4<<20) + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			changes, err := diff.Lines(t.Context(), []byte(c.a), []byte(c.b), diff.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := apply(t, []byte(c.a), []byte(c.b), changes); string(got) != c.b {
				t.Error("the changes do not make the second text")
			}
		})
	}
}

func TestAnEndedContextEndsTheComparison(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := diff.Lines(ctx, []byte("a\nb\n"), []byte("b\na\n"), diff.Options{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestAFailingWriterIsReported(t *testing.T) {
	a, b := []byte(strings.Repeat("a\n", 9000)), []byte(strings.Repeat("b\n", 9000))
	changes, err := diff.Lines(t.Context(), a, b, diff.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := diff.Unified(failingWriter{}, a, b, changes, 3); !errors.Is(err, errFull) {
		t.Errorf("the error is %v", err)
	}
}

var errFull = errors.New("full")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

func BenchmarkLines(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	old := gittest.Text(r, 5000)
	changed := gittest.Edit(r, old, 100)
	b.SetBytes(int64(len(old) + len(changed)))
	for b.Loop() {
		if _, err := diff.Lines(b.Context(), []byte(old), []byte(changed), diff.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
