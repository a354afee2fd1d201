package tools_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// A branch at a time is the newest of its first parents that was committed until then.
func TestABranchAtATimeIsThatOfGit(t *testing.T) {
	gittest.Long(t)
	s := open(t, samples)
	compared := 0
	for _, repository := range []string{"history", "hello", "large-tree"} {
		branch := strings.TrimSpace(git(t, repository, "symbolic-ref", "--short", "HEAD"))
		for row := range strings.Lines(git(t, repository, "log", "--first-parent", "--format=%ct")) {
			var seconds int64
			if _, err := fmt.Sscan(row, &seconds); err != nil {
				t.Fatal(err)
			}
			for _, at := range []int64{seconds - 1, seconds, seconds + 1} {
				date := time.Unix(at, 0).UTC().Format(time.RFC3339)
				want := strings.TrimSpace(git(t, repository, "rev-list", "-1", "--first-parent", "--until="+date, branch))
				for _, name := range []string{branch, ""} {
					r := s.call("get_commit", args{"repo": repository, "ref": name + "@{" + date + "}", "detail": "none"})
					if want == "" && !strings.Contains(r.text, "has no commit until ") ||
						want != "" && !strings.HasPrefix(r.content, "commit "+want+"\n") {
						t.Errorf("%s@{%s} of %s: %s\nwant %s", name, date, repository, r.text, want)
					}
					compared++
				}
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d were compared", compared)
	}
	for ref, want := range map[string]string{
		"main@{2023-11-15}": "until 2023-11-15T23:59:59Z", "main@{November 2023}": "until 2023-11-30T23:59:59Z",
		"main@{1}": "reflog", "@{upstream}": "reflog", "main@{2020}": "reflog", "main@{soon}": "reflog",
		"none@{2023-11-15}": "There is no branch, tag or commit none",
	} {
		if r := s.call("get_commit", args{"repo": "hello", "ref": ref}); !strings.Contains(r.text, want) {
			t.Errorf("%s: %s\nwant %s", ref, r.text, want)
		}
	}
}

// The pages of a log since a relative time are those of one list, however long the client waits.
func TestPagesHaveTheTimesOfTheFirst(t *testing.T) {
	s, repo := single(t)
	tree := repo.Store("tree", "")
	parent := ""
	for i := range 6 {
		at := time.Now().Add(time.Duration(i-5) * 24 * time.Hour).Unix()
		parent = repo.Store("commit", fmt.Sprintf("tree %s\n%sauthor A <a@b> %d +0000\ncommitter A <a@b> %[3]d +0000\n\n%d\n",
			tree, parent, at, i))
		repo.SetRef("refs/heads/main", parent)
		parent = "parent " + parent + "\n"
	}
	arguments, commits := args{"repo": "one", "since": "84 hours ago", "perPage": 1}, 0
	for {
		r := s.call("list_commits", arguments)
		if r.failed {
			t.Fatal(r.text)
		}
		commits += len(r.data["commits"].([]any))
		if r.next() == "" {
			break
		}
		// What follows is asked later: an hour stands for that.
		arguments["cursor"], arguments["since"] = r.next(), "85 hours ago"
	}
	if commits != 4 {
		t.Errorf("%d commits, want 4", commits)
	}
	cursor, _, _ := strings.Cut(arguments["cursor"].(string), ".")
	r := s.call("list_commits", args{"repo": "one", "since": "84 hours ago", "perPage": 1, "cursor": cursor + ".1.2"})
	if !r.failed || !strings.Contains(r.text, "The cursor does not belong to this list") {
		t.Errorf("other times in the cursor: %s", r.text)
	}
	if r := s.call("list_commits", args{"repo": "one", "since": "soon"}); !strings.Contains(r.text,
		"The argument since is no time such as 2026-01-31, 2026-01-31T12:00:00Z, May 2026 or 3 months ago.") {
		t.Errorf("%s", r.text)
	}
}
