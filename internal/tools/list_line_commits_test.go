package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// The history of a function is that of git log -L, across renames, page by page.
func TestTheHistoryOfAFunctionIsThatOfGit(t *testing.T) {
	s, repo := single(t)
	file := func(name string, a, b int) gittest.File {
		return gittest.Regular(name, strings.Repeat("# head\n", b)+fmt.Sprintf("\n# f adds.\ndef f(x):\n    y = x + %d\n"+
			"    z = y\n    return z\n\ndef g(x):\n    return %d\n", a, b)+strings.Repeat("# tail\n", 20))
	}
	for i, c := range []struct {
		name string
		a, b int
	}{{"old.py", 1, 1}, {"old.py", 1, 2}, {"old.py", 2, 2}, {"old.py", 2, 5}, {"new.py", 2, 5}, {"new.py", 3, 5}, {"new.py", 3, 4},
		{"new.py", 4, 4}} {
		files := []gittest.File{file(c.name, c.a, c.b), gittest.Regular("n", fmt.Sprint(i))}
		repo.Commit("main", files...)
	}
	r := s.call("list_commits", args{"repo": "one", "path": "new.py", "symbol": "f"})
	lines := "" // of the definition at the head
	if _, after, ok := strings.Cut(r.text, "f is in lines "); ok {
		lines, _, _ = strings.Cut(after, ".")
	}
	want := strings.Fields(repo.Git("log", "-s", "--format=%H", "-L"+strings.Replace(lines, "-", ",", 1)+":new.py", "main"))
	shas := func(arguments args) (ids []string) {
		for {
			r := s.call("list_commits", arguments)
			if r.failed {
				t.Fatalf("%v: %s", arguments, r.text)
			}
			for _, item := range r.data["commits"].([]any) {
				ids = append(ids, item.(map[string]any)["sha"].(string))
			}
			if r.next() == "" {
				return ids
			}
			arguments["cursor"] = r.next()
		}
	}
	if len(want) != 4 {
		t.Fatalf("git has %q for the lines %s: %s", want, lines, r.text)
	}
	for _, perPage := range []int{1, 3, 100} {
		for _, part := range []args{{"symbol": "f"}, {"lines": lines}} {
			part["repo"], part["path"], part["perPage"] = "one", "new.py", perPage
			if got := shas(part); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v: %q, want %q", part, got, want)
			}
		}
	}
	if !strings.Contains(r.content, " (new.py:6-10) A U Thor: ") || !strings.Contains(r.content, " (old.py:3-7) A U Thor: ") {
		t.Errorf("the lines in each commit are not told: %s", r.content)
	}
	for name, c := range map[string]struct {
		arguments args
		want      string
	}{
		"no path":         {args{"symbol": "f"}, "symbol and lines need path"},
		"both":            {args{"path": "new.py", "symbol": "f", "lines": "1"}, "Give symbol or lines, not both."},
		"an author":       {args{"path": "new.py", "lines": "1", "author": "A"}, "give ref and path alone"},
		"a range":         {args{"path": "new.py", "lines": "1", "ref": "main~1..main"}, "give ref and path alone"},
		"no such lines":   {args{"path": "new.py", "lines": "900-901"}, "new.py has no lines 900-901."},
		"no such symbol":  {args{"path": "new.py", "symbol": "h"}, "does not define h."},
		"not a language":  {args{"path": "n", "symbol": "h"}, "There is no pattern for the definitions"},
		"another list's":  {args{"path": "new.py", "symbol": "f", "cursor": "AaUKFA2eeD"}, "The cursor is not one of this list."},
		"a folder":        {args{"path": ".", "symbol": "f"}, "is a folder, which has no lines."},
		"lines of a wish": {args{"path": "new.py", "lines": "ten"}, "The argument lines must be a range of lines"},
	} {
		c.arguments["repo"] = "one"
		if r := s.call("list_commits", c.arguments); !r.failed || !strings.Contains(r.text, c.want) {
			t.Errorf("%s: %s\nwant %s", name, r.text, c.want)
		}
	}
}
