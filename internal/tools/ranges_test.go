package tools_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestRangesAreThoseOfGit is about base..head and base...head in words, and as
// arguments.
func TestRangesAreThoseOfGit(t *testing.T) {
	gittest.Long(t)
	s := open(t, samples)
	compared, commits := 0, 0
	for _, repository := range []string{"fork", "hello", "history", "refs", "trunk"} {
		refs := heads(t, repository)
		for i, base := range refs {
			for j, head := range refs {
				for n, c := range []struct {
					arguments args
					git       string
				}{
					{args{"ref": base + ".." + head}, base + ".." + head},
					{args{"sha": base + "..." + head, "perPage": 3}, base + "..." + head},
					{args{"ref": head, "base": base, "perPage": 2}, base + ".." + head},
					{args{"ref": base + ".."}, base + "..HEAD"},
				} {
					if (i+j+n)%gittest.Volume(2, 1) != 0 { // by turns: each ref in each form
						continue
					}
					c.arguments["repo"] = repository
					got := s.logged(c.arguments)
					want := strings.FieldsFunc(zulu(git(t, repository, "log", "--encoding=UTF-8",
						"--format=%H %cI %an <%ae>: %s", c.git)), func(r rune) bool { return r == '\n' })
					if !slices.Equal(got, want) {
						t.Errorf("%s %v:\n%q\nwant\n%q", repository, c.arguments, got, want)
					}
					compared++
					commits += len(want)
				}
			}
		}
	}
	if compared < 100 || commits < 300 {
		t.Errorf("only %d ranges of %d commits", compared, commits)
	}
	r := s.call("list_commits", args{"repo": "hello", "ref": "first..v1.0.0", "base": "main"})
	if !r.failed || !strings.Contains(r.text, "Give base or a range such as first..v1.0.0, not both.") {
		t.Errorf("%s", r.text)
	}
	r = s.call("list_commits", args{"repo": "hello", "ref": "first..v1.0.0"})
	want := fmt.Sprintf("hello at first (%s)..v1.0.0 (%s).", strings.TrimSpace(git(t, "hello", "rev-parse", "first^0")),
		strings.TrimSpace(git(t, "hello", "rev-parse", "v1.0.0^0")))
	if !strings.HasSuffix(r.text, want) {
		t.Errorf("%q does not end with %q", r.text, want)
	}
}

// TestComparisonsListTheirCommits is about what compare_commits shows by default.
func TestComparisonsListTheirCommits(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("a", "0\n"))
	repo.Git("branch", "base", "main")
	for i := range 60 {
		repo.Commit("main", gittest.Regular("a", fmt.Sprint(i)), gittest.Regular("b", fmt.Sprint(i/30)))
	}
	log := func(options ...string) []string {
		return strings.Split(repo.Git(append([]string{"log", "--abbrev=12", "--format=%h %cI %an: %s", "base..main"},
			options...)...), "\n")
	}
	r := s.call("compare_commits", args{"repo": "one", "base": "base"})
	lines := strings.Split(strings.TrimSuffix(r.content, "\n"), "\n")
	if want := log("-50"); !slices.Equal(lines[:50], strings.Split(zulu(strings.Join(want, "\n")), "\n")) {
		t.Errorf("%q, want %q", lines, want)
	}
	shown := r.content + r.text
	for _, want := range []string{"M +1 -1 a", "A +1 -0 b", "2 files differ: 2 lines added, 1 deleted.",
		"60 commits ahead", "The newest 50 of 60 commits. Go on with list_commits, base="} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in %s", want, shown)
		}
	}
	_, cursor, _ := strings.Cut(shown, "cursor=")
	cursor, _, _ = strings.Cut(cursor, "]\n")
	rest := s.call("list_commits", args{"repo": "one", "base": repo.Git("rev-parse", "base"),
		"ref": repo.Git("rev-parse", "main"), "cursor": cursor})
	if n := len(rest.data["commits"].([]any)); n != 10 {
		t.Errorf("%d commits follow: %s", n, rest.text)
	}
	if !strings.HasPrefix(lines[50], "[Cut here. The newest 50 of 60 commits. Go on with list_commits, base=") {
		t.Errorf("the list of commits does not say that it is cut: %s", r.content)
	}
	paged := s.call("compare_commits", args{"repo": "one", "base": "base", "perPage": 1})
	if !strings.Contains(paged.content, "\nM +1 -1 a\n[Cut here. Go on with cursor=") {
		t.Errorf("the list of files does not say that it is cut: %s", paged.content)
	}
	paged = s.call("compare_commits", args{"repo": "one", "base": "base", "perPage": 1, "cursor": paged.next()})
	if paged.content != "A +1 -0 b\n" {
		t.Errorf("%s", paged.content)
	}
	of := s.call("compare_commits", args{"repo": "one", "base": "base", "paths": "a", "detail": "none"})
	_, after, _ := strings.Cut(of.content, ", this path, cursor=")
	after, _, _ = strings.Cut(after, "]\n")
	rest = s.call("list_commits", args{"repo": "one", "base": "base", "path": "a", "cursor": after})
	if commits, _ := rest.data["commits"].([]any); len(commits) != 10 {
		t.Errorf("%s\n%s", of.content, rest.text)
	}
	r = s.call("compare_commits", args{"repo": "one", "base": "base", "paths": "b", "detail": "none"})
	if want := strings.Split(zulu(strings.Join(log("--", "b"), "\n")), "\n"); len(want) != 2 ||
		r.content != strings.Join(want, "\n")+"\n" || !strings.Contains(r.text, "Of 60 commits, 2 changed the paths.") {
		t.Errorf("%s %s, want %q", r.content, r.text, want)
	}
	if r = s.call("compare_commits", args{"repo": "one", "base": "base",
		"detail": "full_patch"}); r.content != repo.Git("diff", "base", "main")+"\n" {
		t.Errorf("%s", r.content)
	}
	if r = s.call("compare_commits", args{"repo": "one", "base": "main", "head": "main"}); r.failed ||
		!strings.Contains(r.text, "No file differs.") || r.content != "" {
		t.Errorf("%+v", r)
	}
}

// TestFoundCommitsAreThoseOfGit is about grep, pickaxe and pickaxe_regexp.
func TestFoundCommitsAreThoseOfGit(t *testing.T) {
	s := open(t, samples)
	cases, commits := 0, 0
	for _, repository := range sampled {
		for _, c := range []struct {
			arguments args
			options   []string
		}{
			{args{"grep": "^(add|say)", "perPage": 2}, []string{"-i", "-E", "--grep=^(add|say)"}},
			{args{"grep": "THE", "author": "thor"}, []string{"-i", "--grep=THE", "--author=thor"}},
			{args{"pickaxe": "the", "perPage": 3}, []string{"-Sthe"}},
			{args{"pickaxe_regexp": "^[a-z]+ t"}, []string{"-E", "-G^[a-z]+ t"}},
			{args{"pickaxe": "e", "path": "README.md"}, []string{"-Se", "--", "README.md"}},
		} {
			c.arguments["repo"] = repository
			got := s.logged(c.arguments)
			want := strings.FieldsFunc(zulu(git(t, repository,
				append([]string{"log", "--encoding=UTF-8", "--format=%H %cI %an <%ae>: %s"}, c.options...)...)),
				func(r rune) bool { return r == '\n' })
			if !slices.Equal(got, want) {
				t.Errorf("%s %v:\n%q\nwant\n%q", repository, c.arguments, got, want)
			}
			cases++
			commits += len(want)
		}
	}
	if cases < 60 || commits < 80 {
		t.Errorf("only %d logs of %d commits", cases, commits)
	}
	for text, arguments := range map[string]args{
		"The argument grep is no regular expression of RE2: missing closing )": {"grep": "("},
		"Of pickaxe, pickaxe_regexp and follow give one.": {"pickaxe": "a", "follow": true,
			"path": "README.md"},
	} {
		arguments["repo"] = "hello"
		if r := s.call("list_commits", arguments); !r.failed || !strings.Contains(r.text, text) {
			t.Errorf("%v: %s", arguments, r.text)
		}
	}
}

// TestStatsAreThoseOfThePatch has files whose lines match in more than one way:
// without context git counts others.
func TestStatsAreThoseOfThePatch(t *testing.T) {
	gittest.Long(t)
	s, repo := single(t)
	r := rand.New(rand.NewPCG(3, 4))
	differing, files := 0, 0
	// Of a short part that is rewritten before a long one that stays, other lines
	// count as frequent when the long part is left out.
	text, tail := gittest.Text(r, 40), gittest.Text(r, 500)
	for i := range gittest.Volume(60, 3000) {
		if i%2 == 0 {
			text, tail = gittest.Text(r, 40), gittest.Text(r, 500)
		} else {
			text = gittest.Edit(r, text, 100)
		}
		repo.Commit("main", gittest.Regular("a", text+"\n"+tail), gittest.Regular("b", tail))
	}
	for id := range strings.FieldsSeq(repo.Git("rev-list", "main")) {
		for context, option := range map[int]string{3: "diff.context=3", 0: "diff.context=0"} {
			var want []string
			for line := range strings.Lines(repo.Git("-c", option, "show", "--format=", "--numstat", id)) {
				if f := strings.Fields(line); len(f) > 0 {
					want = append(want, fmt.Sprintf("+%s -%s %s", f[0], f[1], f[2]))
				}
			}
			reply := s.call("get_commit", args{"repo": "one", "sha": id, "context_lines": context})
			for _, line := range want {
				if !strings.Contains(reply.content+reply.text, line) {
					t.Errorf("%s with %d lines of context: %q is not in %s", id, context, line, reply.text)
				}
				files++
			}
		}
		if repo.Git("show", "--format=", "--numstat", id) != repo.Git("-c", "diff.context=0", "show", "--format=",
			"--numstat", id) {
			differing++
		}
	}
	if files < 180 || differing < 2 {
		t.Errorf("%d files were compared, of which context changed the numbers in %d commits", files, differing)
	}
}

// TestPeopleAreThoseOfTheMailmap is about .mailmap of HEAD, as git's log.mailmap is.
func TestPeopleAreThoseOfTheMailmap(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("a", "1\n2\n"),
		gittest.Regular(".mailmap", "Proper\tName <proper@example.com> <author@example.com>\n"))
	repo.Commit("main", gittest.Regular("a", "1\n3\n"),
		gittest.Regular(".mailmap", "Proper Name <proper@example.com> <author@example.com>\n"))
	first := strings.Fields(repo.Git("rev-list", "main"))[1]
	for _, c := range []struct {
		tool      string
		arguments args
	}{
		{"list_commits", args{"author": "PROPER@"}},
		{"get_commit", args{"sha": first}},
		{"compare_commits", args{"base": first, "head": "main"}},
		{"get_file_blame", args{"path": "a"}},
	} {
		c.arguments["repo"] = "one"
		r := s.call(c.tool, c.arguments)
		if text := fmt.Sprint(r.content, r.text, r.data); r.failed || !strings.Contains(text, "Proper Name") ||
			strings.Contains(text, "A U Thor") {
			t.Errorf("%s: %s", c.tool, text)
		}
		c.arguments["mailmap"] = false
		delete(c.arguments, "author")
		r = s.call(c.tool, c.arguments)
		if text := fmt.Sprint(r.content, r.text, r.data); r.failed || strings.Contains(text, "Proper Name") ||
			!strings.Contains(text, "A U Thor") {
			t.Errorf("%s without: %s", c.tool, text)
		}
	}
	if r := s.call("list_commits", args{"repo": "one", "author": "PROPER@", "mailmap": false}); len(
		r.data["commits"].([]any)) != 0 {
		t.Errorf("%s", r.text)
	}
	repo.Commit("main", gittest.Regular(".mailmap", strings.Repeat("# a long comment\n", 1<<16)))
	if r := s.call("list_commits", args{"repo": "one"}); r.failed ||
		!strings.Contains(r.text, "The .mailmap is larger than 1048576 bytes: names are as in the commits.") {
		t.Errorf("%s", r.text)
	}
}

// A tab of a subject is a space in lines and itself in data.
func TestTabsOfSubjectsStay(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("a", "1\n"))
	repo.SetRef("refs/heads/main", repo.Git("commit-tree", "-m", "one\ttab", repo.Git("rev-parse", "main^{tree}")))
	r := s.call("list_commits", args{"repo": "one"})
	if got := r.data["commits"].([]any)[0].(map[string]any)["subject"]; got != "one\ttab" ||
		!strings.Contains(r.content+r.text, ": one tab\n") {
		t.Errorf("%q, %q", got, r.content+r.text)
	}
}
