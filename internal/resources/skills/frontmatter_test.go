package skills

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// page is a SKILL.md with the lines of a frontmatter.
func page(lines string) []byte { return []byte("---\n" + lines + "\n---\n\n# Title\n") }

const good = "name: a\ndescription: b\n"

// TestFrontmatterIsRenderedVerbatim has the scalars of YAML 1.2's core schema, and what older readers make
// something else of.
func TestFrontmatterIsRenderedVerbatim(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"x: 2026-01-02":                   `"2026-01-02"`,
		"x: 2026-01-02T03:04:05Z":         `"2026-01-02T03:04:05Z"`,
		"x: yes":                          `"yes"`,
		"x: on":                           `"on"`,
		"x: 12:30:45":                     `"12:30:45"`,
		"x: 1_000":                        `"1_000"`,
		"x: 0b11":                         `"0b11"`,
		"x: 0777":                         `777`,
		"x: 0o17":                         `15`,
		"x: 0xFf":                         `255`,
		"x: +7":                           `7`,
		"x: -0":                           `0`,
		"x: 123456789012345678901234567":  `123456789012345678901234567`,
		"x: 1.10":                         `1.1`,
		"x: .5":                           `0.5`,
		"x: 5.":                           `5`,
		"x: 1e3":                          `1000`,
		"x: 2.1.0":                        `"2.1.0"`,
		"x: '1'":                          `"1"`,
		`x: "\u00e9\n"`:                   `"é\n"`,
		"x: !!str 1":                      `"1"`,
		"x: ~":                            `null`,
		"x:":                              `null`,
		"x: TRUE":                         `true`,
		"x: False":                        `false`,
		"x: [1, a, {b: c}]":               `[1,"a",{"b":"c"}]`,
		"x: |\n  two\n  lines":            `"two\nlines\n"`,
		"x: >-\n  one\n  line":            `"one line"`,
		"x: &n {k: v}\ny: *n":             `{"k":"v"}`,
		"x: {1: a, true: b, <<: c, ? d }": `{"1":"a","true":"b","<<":"c","d":null}`,
		"x: \U0001F600 <b>&":              `"😀 <b>&"`,
	}
	for lines, want := range tests {
		f, err := parseFrontmatter(page(good + lines))
		if err != nil {
			t.Errorf("%q: %v", lines, err)
			continue
		}
		var got struct{ X json.RawMessage }
		if err := json.Unmarshal(f.object, &got); err != nil || !sameJSON(got.X, want) {
			t.Errorf("%q is %s, want %s (%v)", lines, got.X, want, err)
		}
	}
	if f, err := parseFrontmatter(page("zeta: 1\n" + good + "alpha: 2")); err != nil ||
		string(f.object) != `{"zeta":1,"name":"a","description":"b","alpha":2}` {
		t.Errorf("the members are %s, %v; want them in their order", f.object, err)
	}
}

// sameJSON compares JSON texts without their escapes. Numbers keep their digits.
func sameJSON(got json.RawMessage, want string) bool {
	read := func(text string) string {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%#v", value)
	}
	return read(string(got)) == read(want)
}

func TestFrontmatterHasEitherLineEnd(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"CRLF": "---\r\nname: a\r\ndescription: b\r\n---\r\nText\r\n", "a byte order mark": byteOrderMark + "---\n" + good + "---\n",
		"blanks after the fences": "--- \nname: a\ndescription: b\n---\t\n", "no text": "---\n" + good + "---",
	} {
		f, err := parseFrontmatter([]byte(text))
		if err != nil || f.name != "a" || f.description != "b" || string(f.object) != `{"name":"a","description":"b"}` {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// TestHostileFrontmatterIsRefused has what makes readers of YAML slow, large or of different opinions.
func TestHostileFrontmatterIsRefused(t *testing.T) {
	t.Parallel()
	laughs := "l0: &l0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
	for i := 1; i < 12; i++ {
		laughs += fmt.Sprintf("l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 9), ", "))
	}
	tests := []struct{ name, text, want string }{
		{"no frontmatter", "# Title\n", "does not begin"},
		{"nothing", "", "does not begin"},
		{"no end", "---\n" + good, "no line --- ends"},
		{"an end too late", "---\n" + good + "x: " + strings.Repeat("y", maxFrontmatter) + "\n---\n", "does not end within"},
		{"a key of a megabyte", "---\n" + strings.Repeat("k", 1<<20) + ": 1\n" + good + "---\n", "does not end within"},
		{"a list", string(page("- a\n- b")), "no YAML map"},
		{"a string", string(page("text")), "no YAML map"},
		{"no value", string(page("# a comment")), "frontmatter"},
		{"two documents", string(page(good + "...\n%YAML 1.2\nname: c")), "YAML"},
		{"broken YAML", string(page(good + "x: [")), "no valid YAML"},
		{"a tab", string(page(good + "x:\n\t- a")), "no valid YAML"},
		{"invalid UTF-8", string(page(good + "x: \xff")), "no valid YAML"},
		{"a NUL", string(page(good + "x: \x00")), "no valid YAML"},
		{"a key twice", string(page(good + "name: c")), `the key "name" twice`},
		{"a nested key twice", string(page(good + "x: {a: 1, 'a': 2}")), `the key "a" twice`},
		{"a map as a key", string(page(good + "? {a: b}\n: c")), "no plain string"},
		{"an alias as a key", string(page(good + "x: &x y\n*x : z")), "no plain string"},
		{"a tagged key", string(page(good + "!!int 1: z")), "no plain string"},
		{"a tag", string(page(good + "x: !ruby/object:Gem {}")), "the tag"},
		{"a timestamp", string(page(good + "x: !!timestamp 2026-01-02")), "the tag"},
		{"binary", string(page(good + "x: !!binary aGk=")), "the tag"},
		{"a number of another tag", string(page(good + "x: !!int '3'")), "the tag"},
		{"no number", string(page(good + "x: .nan")), "JSON does not have"},
		{"infinity", string(page(good + "x: -.inf")), "JSON does not have"},
		{"a number too large", string(page(good + "x: 1e999")), "too large"},
		{"too many digits", string(page(good + "x: " + strings.Repeat("9", maxDigits+1))), "too large"},
		{"laughs", string(page(good + laughs)), "larger than"},
		{"an end after blanks", "---\n" + strings.Repeat(" ", maxFrontmatter) + "\n---\n", "does not end within"},
		{"an alias of itself", string(page(good + "x: &x [*x]")), "larger than"},
		{"long aliases", string(page(good + "x: &x " + strings.Repeat("y", 40_000) + "\nz: [*x, *x, *x, *x, *x]")), "larger than"},
		{"depth", string(page(good + "x: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000))), "frontmatter"},
		{"levels", string(page(good + "x: " + strings.Repeat("[", 40) + strings.Repeat("]", 40))), "larger than"},
		{"values", string(page(good + "x: [" + strings.Repeat("1,", 20_000) + "1]")), "larger than"},
		{"an unknown alias", string(page(good + "x: *y")), "no valid YAML"},
		{"no name", string(page("description: b")), "no name that is a string"},
		{"a number for a name", string(page("name: 1\ndescription: b")), "no name that is a string"},
		{"a name in another case", string(page("Name: a\ndescription: b")), "no name that is a string"},
		{"a name of capitals", string(page("name: Refunds\ndescription: b")), "the name"},
		{"two hyphens", string(page("name: a--b\ndescription: b")), "the name"},
		{"a hyphen at the end", string(page("name: a-\ndescription: b")), "the name"},
		{"a path for a name", string(page("name: a/b\ndescription: b")), "the name"},
		{"a long name", string(page("name: " + strings.Repeat("a", maxName+1) + "\ndescription: b")), "the name"},
		{"no description", string(page("name: a")), "no description"},
		{"an empty description", string(page("name: a\ndescription: ' '")), "no description"},
		{"a date for a description", string(page("name: a\ndescription: [b]")), "no description"},
		{"a long description", string(page("name: a\ndescription: " + strings.Repeat("é", maxDescription+1))), "1025 characters"},
	}
	for _, test := range tests {
		f, err := parseFrontmatter([]byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %.80s, %v; want an error with %q", test.name, f.object, err, test.want)
			continue
		}
		if len(err.Error()) > 400 || strings.Contains(err.Error(), "goroutine") {
			t.Errorf("%s: the reason is %.400q", test.name, err)
		}
	}
	if len(tests) < 40 {
		t.Errorf("%d texts were tried", len(tests))
	}
}

// FuzzFrontmatter looks for a text that makes no JSON object.
func FuzzFrontmatter(f *testing.F) {
	f.Add("name: a\ndescription: b\nx: [1, {y: *z}]")
	f.Add("name: a\ndescription: >\n  b\nx: &a !!str 0x1F\n? c\n: d")
	f.Fuzz(func(t *testing.T, lines string) {
		front, err := parseFrontmatter(page(lines))
		if err != nil {
			return
		}
		var members map[string]any
		if err := json.Unmarshal(front.object, &members); err != nil || members["name"] != front.name ||
			members["description"] != front.description || !IsName(front.name) {
			t.Errorf("%q is %s: %v", lines, front.object, err)
		}
	})
}
