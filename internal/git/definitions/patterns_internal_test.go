package definitions

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// LanguageNames returns the names of git's languages, of which each has samples.
func LanguageNames() (names []string) {
	for _, l := range languages {
		names = append(names, l.name)
	}
	return names
}

// TestPatterns holds that each language has one row, and that each expression has a group for the name.
func TestPatterns(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, row := range patterns {
		for _, name := range row.languages {
			if seen[name] {
				t.Errorf("%s has two rows", name)
			}
			seen[name] = true
			for _, e := range namers()[name].expressions() {
				if e.NumSubexp() == 0 || e.MatchString("") {
					t.Errorf("%s: %s has no group for the name, or matches nothing", name, e)
				}
			}
		}
	}
}

// Lines that are not tried do not match, and most lines that do not match are not tried.
func TestMayMatch(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(33, 34))
	pieces := strings.Split("public |static |export |const |def |func |class |struct |enum |typedef |template |create |"+
		"table |  |\t| |#|define |define(|\"|'|(|)|{|}|;|:|=|::|*|<|>|@|.|,|->|-|^|function |let |x|Größe|_a9|int |"+
		"\u212A|ſ", "|")
	margins := []string{"", "", "", "\t", "  ", " \t "}
	ends := []string{"", "x", " = 1", "(x) {", "(x)", " = object", ":"}
	matched, indented, passed := 0, 0, 0
	for range 60_000 {
		var b strings.Builder
		b.WriteString(margins[r.IntN(len(margins))])
		for range 1 + r.IntN(5) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		b.WriteString(ends[r.IntN(len(ends))])
		row := patterns[r.IntN(len(patterns))]
		line := []byte(b.String())
		for _, e := range namers()[row.languages[0]].expressions() {
			may, does := e.mayMatch(line), e.Match(line)
			if does && !may {
				t.Fatalf("%s matches %q, and is not tried", e, line)
			}
			if does {
				matched++
			}
			if does && strings.HasPrefix(e.String(), `^\s+`) {
				indented++
			}
			if !may {
				passed++
			}
		}
	}
	if matched < 1000 || indented < 20 || passed < 100_000 {
		t.Errorf("only %d matched, %d of them indented, and %d were not tried", matched, indented, passed)
	}
}
