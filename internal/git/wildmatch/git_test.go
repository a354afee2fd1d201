package wildmatch_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/wildmatch"
	"github.com/repomcp/repomcp/internal/gittest"
)

// tokens are what patterns are made of, with texts that they can match.
var tokens = []struct {
	pattern string
	texts   []string
}{
	{"a", []string{"a"}}, {"b", []string{"b"}}, {"A", []string{"A", "a"}}, {"-", []string{"-"}},
	{"/", []string{"/"}}, {"/", []string{"/"}}, {"/", []string{"/"}}, {`\/`, []string{"/"}},
	{"*", []string{"", "a", "ab", "a/b"}}, {"*", []string{"", "b"}}, {"**", []string{"", "a", "a/b"}},
	{"***", []string{"", "a/b"}}, {"**/", []string{"", "a/", "a/b/"}}, {"/**/", []string{"/", "/a/", "/a/a/"}},
	{"/**", []string{"/", "/a", "/a/b"}}, {"?", []string{"a", "/", "\xff"}},
	{"[ab]", []string{"a", "b", "A"}}, {"[!a]", []string{"b", "/"}}, {"[^b-]", []string{"a", "-"}},
	{"[a-c]", []string{"b", "B"}}, {"[A-B]", []string{"A", "a"}}, {"[AB]", []string{"A", "a"}},
	{"[]a]", []string{"]", "a"}},
	{"[!]a]", []string{"b", "]"}}, {"[a-]", []string{"-", "a"}}, {"[-a]", []string{"-"}}, {`[\a-\c]`, []string{"b"}},
	{`[\]]`, []string{"]"}}, {`[a-\]]`, []string{"^"}}, {"[*?]", []string{"*", "?"}},
	{"[[:alpha:]]", []string{"a", "1"}},
	{"[[:upper:]b]", []string{"A", "a", "b"}}, {"[[:space:]-z]", []string{" ", "-", "\v"}},
	{"[[:punct:]]", []string{"-", "*"}},
	{"[[:nope:]]", []string{"n"}}, {"[[:a]", []string{"a", ":", "["}}, {"[[:]", []string{":", "["}},
	{"[[::]]", []string{":"}},
	{"[", []string{"["}}, {"]", []string{"]"}}, {`\`, []string{`\`}}, {`\*`, []string{"*"}}, {`\A`, []string{"A", "a"}},
	{`\[a]`, []string{"[a]"}}, {"\xff", []string{"\xff"}}, {"[\x80-\xff]", []string{"\xe9", "a"}},
	{"[a/]", []string{"/", "a"}},
	{"[!-/]", []string{"0", "/"}}, {".", []string{"."}}, {" ", []string{" "}}, {"!", []string{"!"}},
	{"[a", []string{"a", "[a"}},
}

// pair makes a pattern and a text that it may match.
func pair(r *rand.Rand) (pattern, text string) {
	for range 1 + r.IntN(7) {
		token := tokens[r.IntN(len(tokens))]
		pattern += token.pattern
		text += token.texts[r.IntN(len(token.texts))]
	}
	return pattern, text
}

// ordinary reports whether a text can be a path: git cleans others up before
// it matches them.
func ordinary(text string) bool {
	for c := range strings.SplitSeq(text, "/") {
		if c == "" || c == "." || c == ".." {
			return false
		}
	}
	return true
}

// rooted reports whether the pattern is compared as a whole when it comes after
// a slash in .gitattributes. A final slash has another meaning there, and git
// before 2.52 takes "**" after a prefix for the beginning of a component.
func rooted(pattern string) bool {
	n := wildmatch.Literal(pattern)
	inside := n > 0 && pattern[n-1] != '/' && strings.HasPrefix(pattern[n:], "**")
	return pattern != "" && !inside && !strings.HasSuffix(pattern, "/")
}

// cQuote is a pattern as .gitattributes have it.
func cQuote(pattern string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(pattern) {
		fmt.Fprintf(&b, `\%03o`, c)
	}
	b.WriteByte('"')
	return b.String()
}

// Each pattern becomes an attribute, and each text a path that may have it.
func TestRealGitAgrees(t *testing.T) {
	for name, c := range map[string]struct {
		flags    wildmatch.Flags
		config   string
		usable   func(pattern string) bool
		prefix   string
		textFits func(text string) bool
	}{
		"paths":             {wildmatch.PathName, "false", rooted, "/", ordinary},
		"paths in any case": {wildmatch.PathName | wildmatch.CaseFold, "true", rooted, "/", ordinary},
		"names": {0, "false", nameOnly, "", func(text string) bool {
			return ordinary(text) && !strings.Contains(text, "/")
		}},
		"names in any case": {wildmatch.CaseFold, "true", nameOnly, "", func(text string) bool {
			return ordinary(text) && !strings.Contains(text, "/")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			patterns, texts := sample(t, c.usable, c.textFits)
			answers := askGit(t, c.config, c.prefix, patterns, texts)
			compared, matched := 0, 0
			for i, pattern := range patterns {
				for _, text := range texts {
					want := answers[[2]string{text, fmt.Sprintf("p%d", i)}]
					compared++
					if want {
						matched++
					}
					if got := wildmatch.Match(pattern, []byte(text), c.flags); got != want {
						t.Errorf("Match(%q, %q, %02b) = %v", pattern, text, c.flags, got)
					}
				}
			}
			t.Logf("%d pairs, of which %d match", compared, matched)
			if compared < 100_000 || matched < 500 {
				t.Errorf("only %d pairs, of which %d match", compared, matched)
			}
		})
	}
}

func nameOnly(pattern string) bool {
	return pattern != "" && !strings.Contains(pattern, "/") && pattern[0] != '!'
}

func sample(t *testing.T, usable, fits func(string) bool) (patterns, texts []string) {
	seen := make(map[string]bool)
	add := func(list *[]string, s string, ok func(string) bool) {
		if ok(s) && !seen[s] {
			seen[s] = true
			*list = append(*list, s)
		}
	}
	for _, c := range readCases(t) {
		add(&patterns, c.pattern, usable)
		clear(seen)
	}
	for _, c := range readCases(t) {
		add(&texts, c.text, fits)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for len(patterns) < 600 || len(texts) < 600 {
		pattern, text := pair(r)
		add(&patterns, pattern, usable)
		delete(seen, pattern)
		add(&texts, text, fits)
	}
	return patterns, texts
}

// askGit returns which texts have which attributes.
func askGit(t *testing.T, ignoreCase, prefix string, patterns, texts []string) map[[2]string]bool {
	repo := gittest.New(t)
	repo.Git("config", "core.ignorecase", ignoreCase)
	var rules strings.Builder
	for i, pattern := range patterns {
		fmt.Fprintf(&rules, "%s p%d\n", cQuote(prefix+pattern), i)
	}
	if err := os.MkdirAll(filepath.Join(repo.Dir, "info"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(repo.Dir, "info", "attributes"), []byte(rules.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	out := repo.GitInput([]byte(strings.Join(texts, "\x00")+"\x00"), "check-attr", "--cached", "-z", "--stdin", "--all")
	answers := make(map[[2]string]bool)
	fields := strings.Split(out, "\x00")
	for i := 0; i+2 < len(fields); i += 3 {
		answers[[2]string{fields[i], fields[i+1]}] = true
	}
	return answers
}
