package quoting

import (
	"encoding/json"
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

func TestNamesAreEscapedByUnicodeCategory(t *testing.T) {
	counts, category := make(map[string]int), categories()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || r == '/' || r == 0 {
			continue
		}
		if r > 0x1ffff && r>>16 != 0xe && r%64 != 0 {
			continue // all of it is Han, private or unassigned
		}
		name := "a" + string(r) + "b"
		got := Name(name)
		if back, ok := unquoted(got); !ok || back != name {
			t.Fatalf("U+%04X: %s is read as %q", r, got, back)
		}
		shown, known := shownCategories[category[r]]
		if !known && category[r] != "" {
			t.Fatalf("U+%04X is of the category %s, which the table does not have", r, category[r])
		}
		if r == ' ' {
			shown = true
		}
		if r == '"' || r == '\\' || unicode.IsOneOf(ignorable, r) || r == brailleBlank {
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
		if Name(string(r)) == string(r) {
			t.Errorf("U+%04X is not escaped", r)
		}
	}
}

func TestName(t *testing.T) {
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
		if got := Name(name); got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
}

// unquoted is the name that is shown so.
func unquoted(shown string) (name string, ok bool) {
	if !strings.HasPrefix(shown, `"`) {
		return shown, true
	}
	content, rest, ok := Cut([]byte(shown))
	return string(content), ok && len(rest) == 0
}

// git mktree reads names as git quotes them: what we write must mean to git what
// it means to us.
func TestGitReadsWhatNameWrites(t *testing.T) {
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
		fmt.Fprintf(&in, "100644 blob %s\t%s\n", blob, Name(name))
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

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"Resource not found.": "Resource not found.", `say "hi" \o/`: `say "hi" \o/`, "": "", " a ": " a ", "a\tb": "a\tb",
		"r \x1b]0;pwned\a\x1b[2J":  `r \033]0;pwned\a\033[2J`,
		"\u009b31m\u202e\u200b":    `\302\23331m\342\200\256\342\200\213`,
		"caf\xe9 \r":               `caf\351 \r`,
		"one\nrepomcp: done":       "one\n    repomcp: done",
		strings.Repeat("y\n", 100): "y" + strings.Repeat("\n    y", MaxLines-1) + "… (200 bytes)",
		strings.Repeat("x", 5e6):   strings.Repeat("x", MaxShown) + "… (5000000 bytes)",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestJSONStaysTheSame reads again what was escaped.
func TestJSONStaysTheSame(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || r > 0x1ffff && r>>16 != 0xe && r%64 != 0 {
			continue
		}
		name := "a" + string(r) + "b"
		text, err := json.Marshal(map[string]string{name: name})
		if err != nil {
			t.Fatal(err)
		}
		shown := JSON(text)
		var again map[string]string
		if err := json.Unmarshal(shown, &again); err != nil || again[name] != name ||
			strings.ContainsFunc(string(shown), Unseen) {
			t.Errorf("U+%04X: %s, %v", r, shown, err)
		}
	}
}

func TestClipCutsNoCharacter(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abc", 2, "ab…"}, {"aé", 2, "a…"}, {"aé", 3, "aé"}, {"a\U0001F600b", 4, "a…"},
		{"a\U0001F600b", 5, "a\U0001F600…"}, {"a\xff\xff", 2, "a\xff…"}, {"\x80\x80\x80\x80x", 4, "\x80\x80\x80\x80…"},
	} {
		if got := Clip(c.text, c.most); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
