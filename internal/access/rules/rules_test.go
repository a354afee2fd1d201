package rules

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/base/operatorfile/filetest"
	"github.com/repomcp/repomcp/internal/git/wildmatch"
	"github.com/repomcp/repomcp/internal/gittest"
)

// write makes a file of rules, by another file in its place.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// open loads a file in no time.
func open(t *testing.T, path string) (*Rules, error) {
	t.Helper()
	return filetest.Open(t, func() (*Rules, error) { return Load(path) })
}

func load(t *testing.T, text string) *Rules {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.yaml")
	write(t, path, text)
	r, err := open(t, path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Rules) allow(p access.Principal, name string) bool {
	return r.Visible(access.WithPrincipal(context.Background(), p))(name)
}

const sample = `# Who may read what.
rules:
  - anybody: true
    repositories: ["public/**", welcome]
  - groups: [platform, release]
    repositories: ["platform/**", shared/tools.git, "*/docs"]
  - principals: ["token:ci", "oauth:7"]
    scopes: [read]
    repositories: ["ci/*", '[ab]?/x']
  - scopes: [everything]
    repositories: ["**"]
`

func TestWhoeverFitsAllOfARuleMayReadWhatItHas(t *testing.T) {
	r := load(t, sample)
	anybody := access.Principal{}
	member := access.Principal{ID: "token:alice", Groups: []string{"others", "release"}}
	builder := access.Principal{ID: "token:ci", Scopes: []string{"read", "other"}}
	for _, c := range []struct {
		who  access.Principal
		name string
		want bool
	}{
		{anybody, "public/a", true}, {anybody, "public/a/b", true}, {anybody, "public", false},
		{anybody, "publicity/a", false}, {anybody, "welcome", true}, {anybody, "welcome/a", false},
		{anybody, "Welcome", false}, {anybody, "platform/a", false}, {anybody, "", false},
		{member, "public/a", true}, {member, "platform/a/b", true}, {member, "shared/tools", true},
		{member, "shared/tools.git", false}, {member, "x/docs", true}, {member, "x/y/docs", false},
		{member, "ci/a", false},
		{builder, "ci/a", true}, {builder, "ci/a/b", false}, {builder, "a1/x", true}, {builder, "c1/x", false},
		{builder, "platform/a", false},
		{access.Principal{ID: "token:ci"}, "ci/a", false},                            // without the scope
		{access.Principal{ID: "token:ci2", Scopes: []string{"read"}}, "ci/a", false}, // another one
		{access.Principal{Groups: []string{"token:ci"}, Scopes: []string{"read"}}, "ci/a", false},
		{access.Principal{ID: "platform", Scopes: []string{"platform"}}, "platform/a", false},
		{access.Principal{ID: "oauth:7", Scopes: []string{"everything"}}, "any/thing/at/all", true},
	} {
		if got := r.allow(c.who, c.name); got != c.want {
			t.Errorf("%+v, %q: %v", c.who, c.name, got)
		}
	}
	if none := (*Rules)(nil).Visible(t.Context()); none != nil {
		t.Error("without a file something is decided")
	}
	if r := load(t, "rules: []\n"); r.allow(builder, "public/a") {
		t.Error("no rule allows something")
	}
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "the file is empty",
		"# nothing\n":                    "the file is empty",
		"rules:\n":                       "line 1: rules is a list",
		"rules: {}\n":                    "line 1: rules is a list",
		"- anybody: true\n":              "one key, rules",
		"rule: []\n":                     "one key, rules",
		"rules: []\nmore: []\n":          "one key, rules",
		"rules: []\n---\nrules: []\n":    "more than one document",
		"rules: [a]\n":                   "a rule has keys",
		"rules: [{anybody: true}]\n":     "no repositories",
		"rules: [{repositories: [a]}]\n": "no condition",
		"rules: [{principals: [a]}]\n":   "no repositories",
		"rules:\n- groups: [a]\n  repositories: [a]\n  anybody: true\n":                          "line 2: the rule has \"anybody\" and a condition",
		"rules:\n- anybody: false\n  repositories: [a]\n":                                        "line 2: anybody is true",
		"rules:\n- anybody: [true]\n  repositories: [a]\n":                                       "line 2: anybody is true",
		"rules:\n- group: [a]\n  repositories: [a]\n":                                            `line 2: a rule has no key "group"`,
		"rules:\n- groups: a\n  repositories: [a]\n":                                             "line 2: groups is a list",
		"rules:\n- groups: []\n  repositories: [a]\n":                                            "line 2: groups is a list",
		"rules:\n- groups: [1]\n  repositories: [a]\n":                                           "line 2: groups is a list of strings",
		"rules:\n- groups: [[a]]\n  repositories: [a]\n":                                         "line 2: groups is a list of strings",
		"rules:\n- groups: ['']\n  repositories: [a]\n":                                          "line 2: \"\" is no name",
		"rules:\n- groups: [' a']\n  repositories: [a]\n":                                        `line 2: " a" is no name`,
		"rules:\n- groups: [a]\n  groups: [b]\n  repositories: [a]\n":                            `line 3: the rule has "groups" twice`,
		"rules:\n- anybody: true\n  repositories: [a/]\n":                                        `line 3: "a/" can match no repository`,
		"rules:\n- anybody: true\n  repositories: [/a]\n":                                        `line 3: "/a" can match no repository`,
		"rules:\n- anybody: true\n  repositories: [a//b]\n":                                      `line 3: "a//b" can match no repository`,
		"rules:\n- anybody: true\n  repositories: [.git]\n":                                      `line 3: ".git" can match no repository`,
		"rules:\n- anybody: true\n  repositories: ['[a']\n":                                      `line 3: "[a" is no pattern`,
		"rules:\n- anybody: true\n  repositories: ['a\\']\n":                                     `is no pattern`,
		"rules:\n- anybody: true\n  repositories: [**]\n":                                        "put patterns into quotes",
		"rules:\n- &a {anybody: true, repositories: [a]}\n- *a\n":                                "line 3: a rule has keys",
		"rules:\n- anybody: true\n  repositories: &a [a]\n- anybody: true\n  repositories: *a\n": "line 5: repositories is a list",
		"rules: [\n": "put patterns into quotes",
		"rules:\n- anybody: true\n  repositories:" + strings.Repeat("\n  - a", maxPatterns+1) +
			"\n": "more than 20000 patterns",
	} {
		list, err := parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || list != nil {
			t.Errorf("%.80q: %v, %v, want %q", text, list, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "yaml") || strings.Contains(err.Error(), "Node")) {
			t.Errorf("%.80q: %v", text, err)
		}
	}
}

func TestAFileIsFollowedAndABrokenOneChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.yaml")
	if _, err := Load(path); err == nil {
		t.Error("a file that is not there is loaded")
	}
	write(t, path, "rules:\n- anybody: true\n")
	if _, err := open(t, path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a broken file: %v", err)
	}
	write(t, path, "rules:\n- anybody: true\n  repositories: [a]\n")
	r, err := open(t, path)
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		text   string
		read   bool
		broken bool
		a, b   bool
	}{
		{"", false, false, true, false},
		{"rules:\n- anybody: true\n  repositories: [b]\n", true, false, false, true},
		{"rules:\n- anybody: true\n  repositories: [\n", false, true, false, true},
		{"", false, false, false, true}, // it has been told
		{"rules: []\n", true, false, false, false},
		{"rules:\n- anybody: true\n  repositories: [a, b]\n", true, false, true, true},
	}
	for i, step := range steps {
		held := r.Visible(t.Context())
		before := held("a")
		if step.text != "" {
			write(t, path, step.text)
			later := time.Now().Add(time.Duration(i) * time.Second)
			if err := os.Chtimes(path, later, later); err != nil {
				t.Fatal(err)
			}
		}
		read, err := filetest.Settle(t, r)
		if read != step.read || (err != nil) != step.broken {
			t.Errorf("step %d: read %v, %v", i, read, err)
		}
		if a, b := r.allow(access.Principal{}, "a"), r.allow(access.Principal{}, "b"); a != step.a || b != step.b {
			t.Errorf("step %d: a %v, b %v", i, a, b)
		}
		if held("a") != before {
			t.Errorf("step %d: what was decided for a request has changed", i)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := filetest.Settle(t, r); err == nil || !r.allow(access.Principal{}, "a") {
		t.Errorf("without the file: %v", err)
	}
}

func TestARelevantPrincipalReadsTheSame(t *testing.T) {
	r := load(t, sample)
	p := access.Principal{ID: "token:ci", Groups: []string{"x", "release", "y", "release"},
		Scopes: []string{"z", "read"}}
	got := r.Relevant(p)
	if got.ID != p.ID || !slices.Equal(got.Groups, []string{"release"}) || !slices.Equal(got.Scopes, []string{"read"}) {
		t.Errorf("%+v", got)
	}
	if none := (*Rules)(nil).Relevant(p); none.ID != p.ID || len(none.Groups)+len(none.Scopes) != 0 {
		t.Errorf("without rules: %+v", none)
	}
}

// rulePlainly is the number of the rule that allows a name, or 0, without anything that makes it quick.
func rulePlainly(list []rule, p access.Principal, name string) int {
	for i, r := range list {
		if !r.fits(p) {
			continue
		}
		for _, pattern := range r.repositories {
			if wildmatch.Match(pattern, []byte(name), wildmatch.PathName) {
				return i + 1
			}
		}
	}
	return 0
}

func allowedPlainly(list []rule, p access.Principal, name string) bool {
	return rulePlainly(list, p, name) > 0
}

func TestAnswersAreThoseOfTheRules(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	parts := []string{"a", "b", "ab", "*", "**", "?", "[ab]", "a*", `\*`, "**b"}
	words := []string{"a", "b", "ab", "*", "c"}
	made := func(from []string) string {
		joined := make([]string, 1+r.IntN(4))
		for i := range joined {
			joined[i] = pick(from)
		}
		return strings.Join(joined, "/")
	}
	sets := func() set {
		if r.IntN(2) == 0 {
			return nil
		}
		return set{pick(words): true, pick(words): true}
	}
	checked, allowed := 0, 0
	for range 400 {
		list := make([]rule, 1+r.IntN(5))
		for i := range list {
			list[i] = rule{principals: sets(), groups: sets(), scopes: sets()}
			for range 1 + r.IntN(4) {
				list[i].repositories = append(list[i].repositories, made(parts))
			}
		}
		table := newTable(list)
		for range 50 {
			p := access.Principal{ID: pick(words), Groups: []string{pick(words), "z"}, Scopes: []string{pick(words)}}
			name := made(words)
			want := allowedPlainly(list, p, name)
			for _, state := range []string{"cold", "warm"} {
				if got := table.answerFor(p).allows(name); got != want {
					t.Fatalf("%s: %+v, %+v, %q: %v", state, list, p, name, got)
				}
			}
			if got, want := table.ruleFor(p, name), rulePlainly(list, p, name); got != want {
				t.Fatalf("%+v, %+v, %q: allowed by rule %d, want %d", list, p, name, got, want)
			}
			checked++
			if want {
				allowed++
			}
		}
	}
	if checked != 20_000 || allowed < checked/10 || allowed > checked*9/10 {
		t.Errorf("%d of %d were allowed", allowed, checked)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	list := make([]rule, 100)
	for i := range list {
		for j := range 100 {
			list[i].repositories = append(list[i].repositories, fmt.Sprintf("group-%d/repository-%d", i, j))
		}
	}
	held := newTable(list)
	gittest.HeapFits(t, maxAnswerBytes, func() any {
		held.answers.Put("first", &answer{}, 1)
		for i := range 100 {
			held.answerFor(access.Principal{ID: fmt.Sprint("token:", i)})
		}
		return held
	})
	if values, cost := held.answers.Size(); values < 10 || cost < maxAnswerBytes/2 {
		t.Errorf("%d answers of %d bytes: the test does not fill them", values, cost)
	}
}

func BenchmarkNames(b *testing.B) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("group-%d/folder-%d/repository-%d", i%97, i%7, i)
	}
	for kind, pattern := range map[string]string{"folders": "group-%d/**", "globs": "group-%d/*/repository-*[0-9]"} {
		var list []rule
		for i := range 100 {
			list = append(list, rule{repositories: []string{fmt.Sprintf(pattern, i)}})
		}
		table := newTable(list)
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				answer := table.answerFor(access.Principal{ID: "token:ci"})
				for _, name := range names {
					answer.allows(name)
				}
			}
		})
	}
}
