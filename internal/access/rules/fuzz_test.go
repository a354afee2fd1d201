package rules

import (
	"maps"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/repomcp/repomcp/internal/access"
)

// FuzzRules parses any string as a file of rules. In accepted files every rule has principals and
// repositories, decisions equal those of the single rules, principals without a rule may read
// nothing, and formatting and parsing again does not change the meaning.
func FuzzRules(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("rules: []"))
	f.Add([]byte("rules:\n- anybody: true\n  repositories: ['**']\n"))
	f.Add([]byte("rules:\n- {groups: [a, b], scopes: [\"c\\nd\"], repositories: ['a/**/b', '[[:alpha:]]*', a.git]}\n"))
	f.Add([]byte("rules:\n- &x {principals: [!!str 1], repositories: ['\\*']}\n- *x\n"))
	f.Add([]byte("rules: [{anybody: yes, repositories: [a]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parse(text)
		if err != nil {
			return
		}
		again, err := parse(written(t, list))
		if err != nil {
			t.Fatalf("what was written again: %v", err)
		}
		first, second := newTable(list), newTable(again)
		principals := []access.Principal{{}, {ID: "\x00nobody", Groups: []string{"\x00none"},
			Scopes: []string{"\x00none"}}}
		names := []string{"a", "a/b", "a/b/c", "*", ""}
		public := false
		for _, r := range list {
			who := access.Principal{Groups: sorted(r.groups), Scopes: sorted(r.scopes)}
			if r.principals != nil {
				who.ID = sorted(r.principals)[0]
			}
			if len(r.repositories) == 0 || r.anybody == (r.principals != nil || r.groups != nil || r.scopes != nil) {
				t.Fatalf("a rule that is none: %+v", r)
			}
			public = public || r.anybody
			if len(principals) < 10 {
				principals, names = append(principals, who), append(names, r.repositories[0], r.repositories[0]+"/x")
			}
		}
		for _, p := range principals {
			for _, name := range names {
				want := allowedPlainly(list, p, name)
				if got := first.answerFor(p).allows(name); got != want || second.answerFor(p).allows(name) != want {
					t.Errorf("%+v, %q: %v, want %v", p, name, got, want)
				}
			}
		}
		if stranger := first.answerFor(principals[1]); !public && slices.ContainsFunc(names, stranger.allows) {
			t.Error("a principal without a matching rule may read")
		}
	})
}

// sorted has the names in one order: a target that does not always do the same keeps the
// fuzzer busy with what it takes for interesting.
func sorted(names set) []string { return slices.Sorted(maps.Keys(names)) }

func written(t *testing.T, list []rule) []byte {
	t.Helper()
	file := map[string][]map[string]any{"rules": {}}
	for _, r := range list {
		one := map[string]any{"repositories": r.repositories}
		for key, names := range map[string]set{"principals": r.principals, "groups": r.groups, "scopes": r.scopes} {
			if names != nil {
				one[key] = sorted(names)
			}
		}
		if r.anybody {
			one["anybody"] = true
		}
		file["rules"] = append(file["rules"], one)
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
