package pattern_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

// hit is a line that was found.
type hit struct {
	Number int
	Line   string
	Spans  []pattern.Span
}

func scan(p *pattern.Pattern, text string, from pattern.Position) []hit {
	var hits []hit
	var s pattern.Scanner
	for s.Reset(p, []byte(text), from); s.Next(); {
		hits = append(hits, hit{s.Number(), string(s.Line()), append([]pattern.Span(nil), s.Spans()...)})
	}
	return hits
}

// lineByLine is the definition: each line alone, by Go's regexp.
func lineByLine(re *regexp.Regexp, text string) []hit {
	var hits []hit
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if text == "" {
			break
		}
		found := re.FindAllStringIndex(line, 32)
		if found == nil {
			continue
		}
		h := hit{Number: i + 1, Line: line}
		for _, f := range found {
			h.Spans = append(h.Spans, pattern.Span{Start: f[0], End: f[1]})
		}
		hits = append(hits, h)
	}
	return hits
}

// agree compares with the definition. Newlines in a class or a dot match none
// line by line either, as no line has one.
func agree(t *testing.T, expression, text string, c pattern.Case) (hits int, ok bool) {
	t.Helper()
	p, err := pattern.Compile([]pattern.Term{{Text: expression, Regexp: true}}, c)
	if err != nil {
		return 0, false
	}
	if c == pattern.Insensitive {
		expression = "(?i:" + expression + ")"
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return 0, false
	}
	got, want := scan(p, text, pattern.Start()), lineByLine(re, text)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q in %q:\n got %+v\nwant %+v", expression, text, got, want)
	}
	return len(want), true
}

var expressions = []string{
	`a`, `ab`, `^`, `$`, `^$`, `a*`, `^a`, `a$`, `^a$`, `.`, `.*`, `\bab\b`, `\Bb`, `\w+`, `\W`, `\s`, `\S+$`, `[^a]`,
	`[^a]*`, `\A`, `\z`, `\Aa`, `b\z`,
	`a|b`, `ab|cd`, `(ab|cd)+e`, `a.*b`, `a\s+b`, `(?s)a.b`, `(?m)^b`, `(?-m)^b$`, `x?ab`, `(?:ab){2,3}`, `k`, `(?i)k`,
	`(?i)task`, `(?i)kelvin|strasse`,
	`é`, `(?i)É`, `\x{fffd}`, `a\x{fffd}b`, `[\x{80}-\x{10ffff}]`, `\pL+`, `[[:upper:]]`, `(?i)[a-c]k`,
	`func \([a-z]+ \*?[A-Z]\w*\) Re(ad|set)\(`,
	`return (nil|err)`, `(foo|bar|)baz`, `(?:)`, `[a-z]+_[0-9]+`, `\d{2,4}`, `"[^"]*"`, `\.go\b`, `a{0}b`, `(a?){3}b`,
	`\x41`, `\x{212A}`, `ſ`, `\Qa.b\E`, `(?i)ſ`,
}

var alphabet = []string{"a", "b", "c", "d", "ab", "k", "K", "\u212a", "s", "S", "ſ", "é", "É", "\xff", "\ufffd", " ",
	"\t", "_", "1", "23", ".", "\"", "\r", "\x00",
	"\n", "\n", "\n", "\r\n", "func (r *Reader) Read(", "return nil", "task", "TASK", "ta\u017fk", "foobaz", "baz",
	"a_1", "x.go", "Kelvin", "日本"}

func randomText(r *rand.Rand, pieces int) string {
	var b strings.Builder
	for range r.IntN(pieces) {
		b.WriteString(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

func TestAgreesWithGoLineByLine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cases, hits := 0, 0
	for round := range gittest.Volume(12, 200) {
		for _, e := range expressions {
			n, ok := agree(t, e, randomText(r, 2+3*round), pattern.Case(1+round%2))
			if !ok {
				t.Fatalf("%q was refused", e)
			}
			cases, hits = cases+1, hits+n
		}
	}
	if cases < 500 || hits < 300 {
		t.Errorf("only %d cases with %d lines ran", cases, hits)
	}
}

// randomExpression nests what the grammar has.
func randomExpression(r *rand.Rand, depth int) string {
	atoms := []string{"a", "b", "ab", "k", "s", "é", ".", `\b`, `\w`, `\s`, "^", "$", "[ab]", "[^a]", "foo", "task",
		`\x{fffd}`, `\S`}
	if depth == 0 {
		return atoms[r.IntN(len(atoms))]
	}
	sub := func() string { return randomExpression(r, depth-1) }
	switch r.IntN(8) {
	case 0:
		return "(?:" + sub() + "|" + sub() + ")"
	case 1:
		return "(" + sub() + ")*"
	case 2:
		return "(?:" + sub() + ")+"
	case 3:
		return "(?:" + sub() + ")?"
	case 4:
		return "(?i:" + sub() + ")"
	case 5:
		return fmt.Sprintf("(?:%s){%d,%d}", sub(), r.IntN(2), 2+r.IntN(2))
	default:
		return sub() + sub()
	}
}

func TestAgreesOnRandomExpressions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	cases, hits := 0, 0
	for range gittest.Volume(800, 50_000) {
		n, ok := agree(t, randomExpression(r, 1+r.IntN(3)), randomText(r, 40), pattern.Case(1+r.IntN(2)))
		if ok {
			cases, hits = cases+1, hits+n
		}
	}
	if cases < 700 || hits < 700 {
		t.Errorf("only %d cases with %d lines ran", cases, hits)
	}
}

func FuzzAgreesWithGoLineByLine(f *testing.F) {
	for i, e := range expressions {
		f.Add(e, "ab\ntask TASK\nfoobaz\n\r\n\xff\u212a", i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, expression, text string, fold bool) {
		c := pattern.Sensitive
		if fold {
			c = pattern.Insensitive
		}
		agree(t, expression, text, c)
	})
}

func TestFixedTexts(t *testing.T) {
	text := "Alpha beta\nalpha\nBETA alpha alphaalpha\n(a.b)\nnaïve NAÏVE\nta\u017fk \u212aey\nx\xffy\nno end"
	tests := []struct {
		term string
		c    pattern.Case
		want []int
	}{
		{"alpha", pattern.Sensitive, []int{2, 3}},
		{"alpha", pattern.Smart, []int{1, 2, 3}},
		{"Alpha", pattern.Smart, []int{1}},
		{"ALPHA", pattern.Insensitive, []int{1, 2, 3}},
		{"(a.b)", pattern.Sensitive, []int{4}},
		{"(A.B)", pattern.Insensitive, []int{4}},
		{"Naïve", pattern.Insensitive, []int{5}},
		{"task", pattern.Insensitive, []int{6}},
		{"key", pattern.Insensitive, []int{6}},
		{"task", pattern.Sensitive, nil},
		{"x\xffy", pattern.Sensitive, []int{7}},
		{"END", pattern.Insensitive, []int{8}},
		{"d", pattern.Sensitive, []int{8}},
	}
	for _, test := range tests {
		p, err := pattern.Compile([]pattern.Term{{Text: test.term}}, test.c)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, h := range scan(p, text, pattern.Start()) {
			got = append(got, h.Number)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q, case %d: lines %v, want %v", test.term, test.c, got, test.want)
		}
	}
}

func TestFoldedTextsAgreeWithGo(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	needles := []string{"ab", "a", "k", "task", "baz", "1", ".", "func (r", "é", "foobaz", "日"}
	hits := 0
	for range 3000 {
		needle, text := needles[r.IntN(len(needles))], randomText(r, 40)
		p, err := pattern.Compile([]pattern.Term{{Text: needle}}, pattern.Insensitive)
		if err != nil {
			t.Fatal(err)
		}
		got, want := scan(p, text, pattern.Start()), lineByLine(regexp.MustCompile("(?i)"+regexp.QuoteMeta(needle)),
			text)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q in %q:\n got %+v\nwant %+v", needle, text, got, want)
		}
		hits += len(want)
	}
	if hits < 2000 {
		t.Errorf("only %d lines were found", hits)
	}
}

func TestAllTermsMustBeInTheText(t *testing.T) {
	p, err := pattern.Compile([]pattern.Term{{Text: "open"}, {Text: "clo[sz]e", Regexp: true}, {Text: "pen"}},
		pattern.Sensitive)
	if err != nil {
		t.Fatal(err)
	}
	if hits := scan(p, "open\nopening\n", pattern.Start()); hits != nil {
		t.Errorf("found %v without the second term", hits)
	}
	got := scan(p, "x\nreopen close\n\ncloze open\nclose\n", pattern.Start())
	want := []hit{
		{2, "reopen close", []pattern.Span{{Start: 2, End: 6}, {Start: 7, End: 12}}},
		{4, "cloze open", []pattern.Span{{Start: 0, End: 5}, {Start: 6, End: 10}}},
		{5, "close", []pattern.Span{{Start: 0, End: 5}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAScanGoesOnWhereItStopped(t *testing.T) {
	text := strings.Repeat("needle\nhay\n\nhay needle needle\n", 50) + "needle"
	p, err := pattern.Compile([]pattern.Term{{Text: "needle"}, {Text: "h.y", Regexp: true}}, pattern.Sensitive)
	if err != nil {
		t.Fatal(err)
	}
	whole := scan(p, text, pattern.Start())
	for stop := range whole {
		var s pattern.Scanner
		s.Reset(p, []byte(text), pattern.Start())
		for range stop + 1 {
			s.Next()
		}
		if rest := scan(p, text, s.Position()); len(rest)+stop+1 != len(whole) || len(rest) > 0 &&
			!reflect.DeepEqual(rest, whole[stop+1:]) {
			t.Fatalf("after %d of %d lines: %d", stop+1, len(whole), len(rest))
		}
	}
}

func TestMistakesNameTheirPlace(t *testing.T) {
	tests := []struct {
		term   string
		regexp bool
		offset int
		says   string
	}{
		{`func(`, true, 0, "missing closing )"},
		{`ok [a`, true, 3, "missing closing ]"},
		{`a**`, true, 1, "invalid nested repetition"},
		{`(?<=a)b`, true, 0, "RE2"},
		{`a\nb`, true, 1, "separate terms"},
		{"a\nb", false, 1, "separate terms"},
		{"", false, 0, "nothing to search for"},
		{strings.Repeat("x", pattern.MaxBytes+1), false, pattern.MaxBytes, "too long"},
		{`((a|bcd|efg){30}){30}`, true, 0, "too large"},
	}
	for _, test := range tests {
		_, err := pattern.Compile([]pattern.Term{{Text: "fine"}, {Text: test.term, Regexp: test.regexp}}, pattern.Smart)
		wrong, ok := err.(*pattern.Error) //nolint:errorlint // it is what Compile promises
		if !ok || wrong.Term != 1 || wrong.Offset != test.offset || !strings.Contains(wrong.Text, test.says) {
			t.Errorf("%q: %#v", test.term, err)
		}
	}
}

func TestSmartCaseLooksAtLettersThatAreMeant(t *testing.T) {
	tests := []struct {
		expression string
		finds      bool // text in the other case
	}{{`\S+b`, true}, {`\bab\B?`, true}, {`aB`, false}, {`[A-Z]`, false}, {`\pLb`, true}, {`[a-z]b`, true}}
	for _, test := range tests {
		p, err := pattern.Compile([]pattern.Term{{Text: test.expression, Regexp: true}}, pattern.Smart)
		if err != nil {
			t.Fatal(err)
		}
		text := "AB"
		if !test.finds {
			text = "ab"
		}
		if hits := scan(p, text, pattern.Start()); (len(hits) > 0) != test.finds {
			t.Errorf("%s in %q: %v", test.expression, text, hits)
		}
	}
}

// An expression with many states must not take memory without end.
func TestManyStatesAreForgotten(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	text := make([]byte, 1<<16)
	for i := range text {
		text[i] = "ab"[r.IntN(2)]
	}
	text = append(text, "\nabbbbbbbbbbbbbbbc\n"...)
	p, err := pattern.Compile([]pattern.Term{{Text: `a[ab]{13}[bc][ab]?c`, Regexp: true}}, pattern.Sensitive)
	if err != nil {
		t.Fatal(err)
	}
	if hits := scan(p, string(text), pattern.Start()); len(hits) != 1 || hits[0].Number != 2 {
		t.Errorf("found %d lines", len(hits))
	}
}

var source = bytes.Repeat([]byte("// Read implements [io.Reader]. It gives exactly Size bytes and then io.EOF, "+
	"or\nfunc (b *Blob) Read(p []byte) (int, error) {\n\tn, err := b.object.Read(p)\n\tif err != nil {\n\t\treturn "+
	"n, err\n\t}\n}\n\n"), 2000)

func BenchmarkScan(b *testing.B) {
	for _, term := range []struct {
		name   string
		term   pattern.Term
		c      pattern.Case
		absent string
	}{
		{"rare text", pattern.Term{Text: "descriptorLimit"}, pattern.Sensitive, ""},
		{"common text", pattern.Term{Text: "return"}, pattern.Sensitive, ""},
		{"rare text in any case", pattern.Term{Text: "descriptorlimit"}, pattern.Insensitive, ""},
		{"expression with a text", pattern.Term{Text: `func \(\w+ \*Tree\) \w+\(`, Regexp: true}, pattern.Sensitive,
			""},
		{"expression without", pattern.Term{Text: `[a-z]+_[0-9]+\b`, Regexp: true}, pattern.Sensitive, ""},
	} {
		b.Run(term.name, func(b *testing.B) {
			p, err := pattern.Compile([]pattern.Term{term.term}, term.c)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(source)))
			var s pattern.Scanner
			for b.Loop() {
				for s.Reset(p, source, pattern.Start()); s.Next(); {
				}
			}
		})
	}
}
