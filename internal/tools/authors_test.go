package tools_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// The authors of a log are those of git shortlog, with their first and last commits.
func TestAuthorsAreThoseOfGit(t *testing.T) {
	lists, authors := 0, 0
	for seed := range uint64(gittest.Sample(gittest.Volume(3, 40))) {
		s, repo := single(t)
		r := rand.New(rand.NewPCG(seed, 4))
		repo.Commit("main", gittest.Regular(".mailmap", "A One <one@x> <a1@x>\nB Two <two@x> b <B0@x>\n"))
		tree, parent := repo.Git("rev-parse", "main^{tree}"), repo.Git("rev-parse", "main")
		for i := range 40 {
			person := fmt.Sprintf("%c <%[1]c%d@x> %d +0%d00", 'a'+rune(r.IntN(4)), r.IntN(3), 1_700_000_000+r.IntN(9_000_000),
				r.IntN(9))
			if i%3 == 0 {
				tree = repo.GitInput([]byte(fmt.Sprintf("100644 blob %s\tf\n", repo.Store("blob", fmt.Sprint(i)))), "mktree")
			}
			parent = repo.Store("commit", fmt.Sprintf("tree %s\nparent %s\nauthor %s\ncommitter %[3]s\n\n%d\n", tree, parent,
				person, i))
		}
		repo.SetRef("refs/heads/main", repo.Git("commit-tree", "-p", parent, "-m", "last", "main^{tree}"))
		for _, c := range []struct {
			arguments args
			options   []string
		}{
			{args{}, []string{"main"}}, {args{"perPage": 2}, []string{"main"}},
			{args{"path": "f"}, []string{"main", "--", "f"}}, {args{"ref": "main~9..main"}, []string{"main~9..main"}},
			{args{"first_parent": true, "author": "b"}, []string{"-i", "--author=b", "--first-parent", "main"}},
			{args{"mailmap": false, "perPage": 100}, []string{"main"}},
		} {
			names := "%aN <%aE>"
			if c.arguments["mailmap"] == false {
				names = "%an <%ae>"
			}
			want := countedByGit(t, repo, names, c.options)
			c.arguments["repo"], c.arguments["authors"] = "one", true
			var got []string
			for {
				r := s.call("list_commits", c.arguments)
				if r.failed {
					t.Fatalf("%v: %s", c.arguments, r.text)
				}
				for _, item := range r.data["authors"].([]any) {
					a := item.(map[string]any)
					got = append(got, fmt.Sprint(a["author"], " ", a["commits"], " ", a["first"], " ", a["last"]))
				}
				if r.next() == "" {
					break
				}
				c.arguments["cursor"] = r.next()
			}
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, %v:\n%q\nwant\n%q", seed, c.arguments, got, want)
			}
			lists, authors = lists+1, authors+len(want)
		}
	}
	if lists < gittest.Sample(18) || authors < gittest.Sample(120) {
		t.Errorf("only %d lists of %d authors were compared", lists, authors)
	}
	t.Logf("%d lists, %d authors", lists, authors)
}

// countedByGit counts the rows of git log, in the order of git shortlog -sne.
func countedByGit(t *testing.T, repo *gittest.Repo, names string, options []string) (rows []string) {
	t.Helper()
	dates := make(map[string][]string)
	for row := range strings.Lines(zulu(repo.Git(append([]string{"log", "--format=" + names + "%x09%aI"}, options...)...))) {
		who, date, _ := strings.Cut(strings.TrimSuffix(row, "\n"), "\t")
		dates[who] = append(dates[who], date)
	}
	byTime := func(a, b string) int { return parsedTime(t, a).Compare(parsedTime(t, b)) }
	order := slices.SortedFunc(maps.Keys(dates), func(a, b string) int {
		return cmp.Or(len(dates[b])-len(dates[a]), strings.Compare(a, b))
	})
	if names == "%aN <%aE>" {
		order = nil
		for row := range strings.Lines(repo.Git(append([]string{"shortlog", "-sne"}, options...)...)) {
			_, who, _ := strings.Cut(strings.TrimSpace(row), "\t")
			order = append(order, who)
		}
	}
	for _, who := range order {
		rows = append(rows, fmt.Sprint(who, " ", len(dates[who]), " ", slices.MinFunc(dates[who], byTime), " ",
			slices.MaxFunc(dates[who], byTime)))
	}
	return rows
}

func parsedTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
