package rules

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/operatorfile/filetest"
)

// Rules before and after a change. Of the second file the beginnings that end before the last line
// allow contractors and bob more.
const (
	rulesBefore = `rules:
  - groups: [staff]
    repositories: ["team/web/docs"]
`
	rulesAfter = `# all of team, for staff
rules:
  - repositories: ["vault"]
    groups: [contractors]
    scopes: [repositories]
  - principals: ["token:bob-admin"]
    repositories:
      - team/**/docs
      - vault2
`
)

// allowed is what each of some principals may read.
func (r *Rules) allowed() string {
	var all []string
	for who, p := range map[string]access.Principal{
		"contractor": {Groups: []string{"contractors"}}, "bob": {ID: "token:bob"},
		"admin": {ID: "token:bob-admin"}, "staff": {Groups: []string{"staff"}},
		"cleared": {Groups: []string{"contractors"}, Scopes: []string{"repositories"}},
	} {
		for _, name := range []string{"vault", "vault2", "team/web/docs", "team/secret", "team/a/secret"} {
			if r.allow(p, name) {
				all = append(all, who+" reads "+name)
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// While rules are written, those before are in force, however slowly that goes and whenever SIGHUP
// comes.
func TestRulesThatAreBeingWrittenAllowNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "access.yaml")
	write(t, path, rulesAfter)
	r, err := open(t, path)
	if err != nil {
		t.Fatal(err)
	}
	after := r.allowed()
	write(t, path, rulesBefore)
	if taken, err := filetest.Settle(t, r); !taken || err != nil {
		t.Fatal(taken, err)
	}
	before := r.allowed()
	if before == after || !strings.Contains(after, "cleared reads vault") {
		t.Fatalf("before: %s\nafter: %s", before, after)
	}
	filetest.WriteSlowly(t, path, rulesAfter, r, func(written string) {
		if got := r.allowed(); got != before {
			t.Errorf("after %q:\n%s", written, got)
		}
	})
	if got := r.allowed(); got != after {
		t.Errorf("at the end:\n%s", got)
	}
}

// What is left of rules whose writer has died is refused, or allows less than the whole: at the end of
// a line that is so where the repositories of a rule come last.
func TestRulesThatWereWrittenInPartAllowNoMore(t *testing.T) {
	t.Parallel()
	_, ordered, _ := strings.Cut(rulesAfter, "repositories]\n")
	ordered = "rules:\n  - groups: [contractors]\n    scopes: [repositories]\n    repositories: [\"vault\"]\n" + ordered
	for name, text := range map[string]string{"in any order": rulesAfter, "repositories last": ordered} {
		path := filepath.Join(t.TempDir(), "access.yaml")
		write(t, path, text)
		r, err := open(t, path)
		if err != nil {
			t.Fatal(err)
		}
		most := map[string]bool{}
		for line := range strings.Lines(r.allowed() + "\n") {
			most[line] = true
		}
		write(t, path, rulesBefore)
		if _, err := filetest.Settle(t, r); err != nil {
			t.Fatal(err)
		}
		before, parts := r.allowed(), 0
		filetest.WriteInPart(t, path, rulesBefore, text, r, func(written string, taken bool) {
			whole := strings.HasSuffix(written, "\n")
			if !taken && r.allowed() != before || taken && !whole {
				t.Errorf("%s, %q: taken %v\n%s", name, written, taken, r.allowed())
			}
			if taken {
				parts++
			}
			if name == "in any order" {
				return
			}
			for line := range strings.Lines(r.allowed() + "\n") {
				if !most[line] && taken {
					t.Errorf("%s, %q: %s", name, written, line)
				}
			}
		})
		if parts < 3 {
			t.Errorf("%s: only %d beginnings were taken", name, parts)
		}
	}
}
