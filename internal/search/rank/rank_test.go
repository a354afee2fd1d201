package rank

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/search/pattern"
)

func TestIdentifiers(t *testing.T) {
	for text, want := range map[string]string{
		"parseURL":              "parse URL",
		"HTTP2ServerURL":        "HTTP2 Server URL",
		"parse_url __init__":    "parse url|init",
		"sha256Sum utf8 X":      "sha256 Sum|utf8|X",
		"a.b->c(d)":             "a|b|c|d",
		"ÉcoleMaternelle naïve": "École Maternelle|naïve",
		"日本go":                  "日 本 go",
		"__ _ - ":               "",
		"a\xffb":                "a|b",
		"don't":                 "don|t",
		"":                      "",
	} {
		var got []string
		for _, parts := range identifiers(text) {
			got = append(got, strings.Join(parts, " "))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func words(text string) (list [][]string) {
	for _, w := range strings.Fields(text) {
		list = append(list, []string{w})
	}
	return list
}

// found returns the spellings in a text that count for a query.
func found(q *Query, text string) []string {
	var s Scanner
	var list []string
	s.each(q, []byte(text), func(_, start, end int) { list = append(list, text[start:end]) })
	return list
}

func TestWhatCountsAsAWord(t *testing.T) {
	for _, c := range []struct {
		query string
		exact bool
		text  string
		want  string
	}{
		{"request", false, "Requests requesting REQUEST prequest", "Requests requesting REQUEST"},
		{"request", true, "Request request requests", "request"},
		{"parse_url", false, "parseURL ParseUrl parse_urls url x_parse_url parse", "parse URL parseURL Parse Url ParseUrl " +
			"parse urls parse_urls url parse url parse"},
		{"testclient", false, "TestClient test_client", "TestClient test_client"},
		{"dying", false, "dying dies DYING", "dying dies DYING"},
		{"école", false, "ÉCOLE Écoles ecole", "ÉCOLE Écoles"},
		{"the of", false, "the of in", "the of"},
		{"the cat", false, "the cat", "cat"},
		{"a", false, strings.Repeat("a", 100) + " a", "a"},
	} {
		q := Parse(words(c.query), Options{Exact: c.exact})
		if got := strings.Join(found(q, c.text), " "); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.query, c.text, got, c.want)
		}
	}
}

// TestScannerAgreesWithASimpleOne compares it with the definition: split, fold, cut endings, look up.
func TestScannerAgreesWithASimpleOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"need", "Need", "NEED", "le", "LE", "s", "ing", "_", "__", " ", "\n", "2", "é", "É", "日", "\xff", "-", "("}
	queries := []string{"needle", "need le", "need_les", "É 日", "needleing 2need s"}
	cases, hits := 0, 0
	for range 3000 {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		q := Parse(words(queries[r.IntN(len(queries))]), Options{})
		var want []string
		for _, parts := range identifiers(b.String()) {
			for _, text := range append(parts, strings.Join(parts, "")) {
				if _, ok := q.index[q.form(text)]; ok {
					want = append(want, q.form(text))
				}
				if len(parts) == 1 {
					break
				}
			}
		}
		var got []string
		for _, text := range found(q, b.String()) {
			got = append(got, q.form(strings.ReplaceAll(text, "_", "")))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", b.String(), got, want)
		}
		cases, hits = cases+1, hits+len(want)
	}
	if cases < 3000 || hits < 1000 {
		t.Errorf("only %d cases with %d hits", cases, hits)
	}
}

func pythonName(line []byte) (start, end int, ok bool) {
	m := regexp.MustCompile(`^\s*(?:def|class) (\w+)`).FindSubmatchIndex(line)
	if m == nil {
		return 0, 0, false
	}
	return m[2], m[3], true
}

func TestTally(t *testing.T) {
	text := "class OpenDoor:\n  def _open(self): open_door()\n# open open\n"
	q := Parse(words("open door openDoor"), Options{})
	var s Scanner
	got := s.Tally(q, Text{Content: []byte(text), Name: pythonName})
	want := "open 1 1 3, door 0 1 1, opendoor 1 0 1"
	var list []string
	for _, c := range got.Counts {
		list = append(list, fmt.Sprint(q.terms[c.Term].form, " ", c.Names, " ", c.InName, " ", c.Other))
	}
	if strings.Join(list, ", ") != want || got.Bytes != len(text) {
		t.Errorf("%q of %d bytes, want %s", list, got.Bytes, want)
	}
}

func TestTheBestLines(t *testing.T) {
	text := strings.Repeat("door\n", 100) + "open door\nopen\nopen door\n\ndef door():\nlock\n"
	for _, c := range []struct {
		query   string
		pattern string
		count   int
		want    string
		all     int
	}{
		{"open door lock", "", 3, "101: 105= 106:", 105},
		{"open door lock", "", 1, "105=", 105},
		{"door", "", 2, "1: 105=", 103},
		{"lock", "open", 3, "101: 102: 103:", 3},
		{"", `d..r\(`, 3, "105=", 1},
		{"", "d.f", 3, "105:", 1},
		{"absent", "", 3, "", 0},
	} {
		text := Text{Content: []byte(text), Name: pythonName}
		if c.pattern != "" {
			var err error
			text.Pattern, err = pattern.Compile([]pattern.Term{{Text: c.pattern, Regexp: true}}, pattern.Smart)
			if err != nil {
				t.Fatal(err)
			}
		}
		q := Parse(words(c.query), Options{Pattern: c.pattern != ""})
		statistics := q.Statistics()
		statistics.Files = 10
		var s Scanner
		reading := s.Read(q, statistics, text, c.count)
		var got []string
		for _, l := range reading.Lines {
			sign := ":"
			if l.Definition {
				sign = "="
			}
			got = append(got, fmt.Sprint(l.Number, sign))
		}
		if strings.Join(got, " ") != c.want || reading.Matching != c.all {
			t.Errorf("%s/%s: %q of %d, want %s of %d", c.query, c.pattern, got, reading.Matching, c.want, c.all)
		}
	}
}

func TestClasses(t *testing.T) {
	for name, want := range map[string]class{
		"src/app.py": code, "src/test_app.py": test, "app_test.go": test, "a/tests/x.py": test, "x.spec.ts": test,
		"contest.py": code, "latest/x.go": code, "README": prose, "docs/x.py": prose, "a.md": prose, "Makefile": code,
		"vendor/x/y.go": vendored, "a.min.js": generated, "x.pb.go": generated, "testdata/x.md": prose, "CHANGES.rst": prose,
		"RELEASE-NOTES": prose, "pkg/BUILD": code, "install": code, "src/testdir/a.vim": test, "fuzz/corpora/x/blob": test,
		".yarn/releases/yarn.cjs": vendored, "js/__snapshots__/a.test.js.snap": generated, "deps/a/b.c": vendored,
	} {
		if got := classOf(name, false, nil); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]class{
		"deps/a/b.c": code, "deps/vendor/b.c": vendored, "deps/README.md": prose, "deps/test/b.c": test,
	} {
		if got := classOf(name, false, []string{"deps", "test"}); got != want {
			t.Errorf("%s for a query about deps: %d, want %d", name, got, want)
		}
	}
	for text, want := range map[string]bool{
		"// Code generated by stringer. DO NOT EDIT.\n": true, "/* @generated */": true, "# Code generated\n": false,
		strings.Repeat("x", markBytes) + "@generated":                           false,
		"#! /bin/sh\n# Guess values\n# Generated by GNU Autoconf 2.72 for x.\n": true,
	} {
		if got := isGenerated([]byte(text)); got != want {
			t.Errorf("%.40s: %v", text, got)
		}
	}
}

func TestPaths(t *testing.T) {
	const within, stem = "within", "stem"
	for _, c := range []struct{ query, path, want, folders string }{
		{"eval", "src/eval.c", stem, ""},
		{"eval", "src/vim9_eval.c", within, ""},
		{"eval", "eval/vim.c", within, "eval"},
		{"eval", "Evals/eval/x.c", within, "evals eval"},
		{"socks_gssapi", "lib/socks_gssapi.c", stem, ""},
		{"socks gssapi", "lib/socks_gssapi.c", within, ""},
		{"gitignore", ".gitignore", stem, ""},
		{"init", "a/__init__.py", stem, ""},
		{"format", "format.test.js", stem, ""},
		{"js", "format.test.js", within, ""},
		{"gemfile", "Gemfile", stem, ""},
		{"absent", "a/b.c", "", ""},
		{"a", "a", stem, ""},
		{"a", "...", "", ""},
	} {
		q := Parse(words(c.query), Options{})
		var s Scanner
		in := s.inPath(q, c.path)
		if got := []string{"", within, stem}[slices.Max(in.terms)]; got != c.want ||
			strings.Join(in.folders, " ") != c.folders {
			t.Errorf("%s in %s: %q in folders %q, want %q in %q", c.query, c.path, got, in.folders, c.want, c.folders)
		}
	}
}

func TestNamesOfFilesInAQuery(t *testing.T) {
	for _, c := range []struct {
		query, path string
		want        bool
	}{
		{"comment in eval.c", "src/eval.c", true},
		{"comment in EVAL.c.", "src/Eval.C", true},
		{"(eval.c:120)", "src/eval.c", true},
		{"src/eval.c:120:5: error", "a/src/eval.c", true},
		{"./src/eval.c", "src/eval.c", true},
		{"/src/eval.c", "src/eval.c", true},
		{"add it to .gitignore", ".gitignore", true},
		{"`eval.c`,", "eval.c", true},
		{"val.c", "src/eval.c", false},
		{"src/eval.c", "eval.c", false},
		{"eval", "src/eval.c", false},
		{"src/", "src/eval.c", false},
		{". / ... ./ : eval", "src/eval.c", false},
	} {
		if got := Parse(words(c.query), Options{}).names(c.path); got != c.want {
			t.Errorf("%s names %s: %v", c.query, c.path, got)
		}
	}
}
