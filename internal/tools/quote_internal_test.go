package tools

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/gittest"
)

// shownCategories are what a reader sees, by Unicode's general category; of all
// others every character must be escaped.
var shownCategories = map[string]bool{
	"Lu": true, "Ll": true, "Lt": true, "Lm": true, "Lo": true, "Mn": true, "Mc": true, "Me": true, "Nd": true,
	"Nl": true, "No": true,
	"Pc": true, "Pd": true, "Ps": true, "Pe": true, "Pi": true, "Pf": true, "Po": true, "Sm": true, "Sc": true,
	"Sk": true, "So": true,
	"Cc": false, "Cf": false, "Co": false, "Cs": false, "Zl": false, "Zp": false, "Zs": false, "Cn": false,
}

// exceptions are characters of a shown category that are not seen.
var exceptions = []rune{'\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u180b', '\u180f', '\u3164', '\ufe00',
	'\ufe0f', '\uffa0', '\U000e0100', '\u2800'}

// categories are those of all characters. What no table has is unassigned.
func categories() []string {
	of := make([]string, unicode.MaxRune+1)
	for name, table := range unicode.Categories {
		if len(name) != 2 || name == "LC" {
			continue
		}
		for _, r := range table.R16 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				of[c] = name
			}
		}
		for _, r := range table.R32 {
			for c := r.Lo; c <= r.Hi; c += r.Stride {
				of[c] = name
			}
		}
	}
	return of
}

func TestQuoteEscapesByUnicodeCategory(t *testing.T) {
	counts, category := make(map[string]int), categories()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || r == '/' || r == 0 {
			continue
		}
		if r > 0x1ffff && r>>16 != 0xe && r%64 != 0 {
			continue // all of it is Han, private or unassigned
		}
		name := "a" + string(r) + "b"
		got := quote(name)
		if back, ok := unquote(got); !ok || back != name {
			t.Fatalf("U+%04X: %s is read as %q", r, got, back)
		}
		shown, known := shownCategories[category[r]]
		if !known && category[r] != "" {
			t.Fatalf("U+%04X is of the category %s, which the table does not have", r, category[r])
		}
		if r == ' ' {
			shown = true
		}
		if r == '"' || r == '\\' || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
			r == '\u2800' {
			shown = false
		}
		if (got == name) != shown {
			t.Errorf("U+%04X of %s: quoted as %s", r, category[r], got)
		}
		counts[category[r]]++
	}
	for name := range shownCategories {
		if counts[name] == 0 && name != "Cs" && name != "Cn" { // surrogates are no UTF-8
			t.Errorf("no character of %s was looked at", name)
		}
	}
	for _, r := range exceptions {
		if quote(string(r)) == string(r) {
			t.Errorf("U+%04X is not escaped", r)
		}
	}
}

func TestQuote(t *testing.T) {
	for name, want := range map[string]string{
		"README.md":                 `README.md`,
		"a b":                       `a b`,
		" a":                        `" a"`,
		"a ":                        `"a "`,
		"":                          `""`,
		"new\nline":                 `"new\nline"`,
		"\a\b\t\n\v\f\r\x1b":        `"\a\b\t\n\v\f\r\033"`,
		`say "hi"`:                  `"say \"hi\""`,
		`back\slash`:                `"back\\slash"`,
		"caf\xe9":                   `"caf\351"`,
		"café":                      `café`,
		"a\u202etxt.exe":            `"a\342\200\256txt.exe"`,
		"a\u200bb":                  `"a\342\200\213b"`,
		"\ufeffbom":                 `"\357\273\277bom"`,
		"a\u00a0b":                  `"a\302\240b"`,
		"日本/ファイル":                   `日本/ファイル`,
		strings.Repeat("x", 5e3):    strings.Repeat("x", 4096) + "… (5000 bytes)",
		strings.Repeat("\x01", 5e3): `"` + strings.Repeat(`\001`, 1024) + `"… (5000 bytes)`,
	} {
		if got := quote(name); got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
	for _, broken := range []string{`"`, `"a`, `"a"b"`, `"\"`, `"\x41"`, `"\400"`, `"\08"`, `"\12"`, `""`} {
		if name, ok := unquote(broken); ok {
			t.Errorf("%s was read as %q", broken, name)
		}
	}
}

// git mktree reads names as git quotes them: what we write must mean to git what
// it means to us.
func TestGitReadsWhatQuoteWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	names := make(map[string]bool)
	for len(names) < 3000 {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			switch r.IntN(4) {
			case 0:
				b.WriteByte(byte(1 + r.IntN(255)))
			case 1:
				b.WriteRune(rune(r.IntN(unicode.MaxRune)))
			case 2:
				b.WriteString([]string{`"`, `\`, "\n", " ", "\u202e", "\u200b", "é", "\\001"}[r.IntN(8)])
			default:
				b.WriteByte(byte('a' + r.IntN(26)))
			}
		}
		if name := b.String(); !strings.ContainsAny(name, "/\x00") && name != "." && name != ".." &&
			!strings.EqualFold(name, ".git") {
			names[name] = true
		}
	}
	repo := gittest.New(t)
	blob := repo.Store("blob", "")
	var in strings.Builder
	for name := range names {
		fmt.Fprintf(&in, "100644 blob %s\t%s\n", blob, quote(name))
	}
	tree := repo.GitInput([]byte(in.String()), "mktree")
	got := strings.Split(strings.TrimSuffix(repo.Git("ls-tree", "-z", "--name-only", tree), "\x00"), "\x00")
	for _, name := range got {
		delete(names, name)
	}
	if len(got) != 3000 || len(names) != 0 {
		t.Errorf("git made %d names, and did not understand %q", len(got), slices.Collect(maps.Keys(names)))
	}
}

func TestLineShowsNothingUnseen(t *testing.T) {
	for text, want := range map[string]string{
		"Fix \"it\"":             "Fix \"it\"",
		"a\nb\tc":                "a\ufffdb c",
		"\u202eevil\u200b":       "\ufffdevil\ufffd",
		"caf\xe9":                "caf\ufffd",
		strings.Repeat("é", 3e3): strings.Repeat("é", 500) + "…",
	} {
		if got := line(text); got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
	if got := clean("a\tb\n"); got != "a\tb\ufffd" {
		t.Errorf("data has %q", got)
	}
}
