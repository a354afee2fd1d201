package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// What has no room in a result is to be had as a whole: the first page links to
// it and says how to download it, and the pages after that do not again.
func TestACutPageLinksToADownload(t *testing.T) {
	s, repo := single(t)
	first := repo.Commit("main", gittest.Regular("readme", "one needle\n"))
	var files []gittest.File
	for i := range 7 {
		files = append(files, gittest.Regular(fmt.Sprint("file", i), "a needle\n"))
	}
	last := repo.Commit("main", files...)
	for _, name := range []string{"refs/heads/side", "refs/tags/v1", "refs/tags/v2"} {
		repo.Git("update-ref", name, first)
	}
	ofLast, refs := "GET /archive/one/"+last, "GET /refs/one"
	for _, c := range []struct {
		tool        string
		arguments   args
		want, route string // in the link and in the text
	}{
		{"search_code", args{"query": "needle"}, last + ".tar.gz", ofLast},
		{"find_files", args{"query": "file"}, last + ".manifest.json", ofLast},
		{"get_repository_tree", args{}, last + ".manifest.json", ofLast},
		{"get_file_contents", args{}, last + ".manifest.json", ofLast},
		{"compare_commits", args{"base": first, "head": last, "detail": "stats"}, first, ofLast},
		{"get_commit", args{"detail": "stats"}, first, ofLast},
		{"list_branches", args{}, "repo://one/refs", refs},
		{"list_tags", args{}, "repo://one/refs", refs},
	} {
		c.arguments["repo"] = "one"
		whole := s.call(c.tool, c.arguments)
		if len(whole.links) > 0 {
			t.Errorf("%s links to %q though nothing is missing", c.tool, whole.links)
		}
		c.arguments["perPage"] = 1
		cut := s.call(c.tool, c.arguments)
		if len(cut.links) != 1 || !strings.Contains(cut.links[0], c.want) || !strings.Contains(cut.text, c.route) {
			t.Errorf("%s links to %q, and says %s", c.tool, cut.links, cut.text)
		}
		if next, ok := cut.data["nextCursor"]; ok {
			c.arguments["cursor"] = next
		} else {
			c.arguments["page"] = 2
		}
		if next := s.call(c.tool, c.arguments); next.failed || len(next.links) > 0 {
			t.Errorf("%s links again: %q", c.tool, next.links)
		}
	}
}

func TestACutListOfRepositoriesLinksToAll(t *testing.T) {
	s := open(t, samples)
	for _, c := range []struct {
		arguments args
		links     int
	}{
		{args{}, 0},
		{args{"query": "tools"}, 0},
		{args{"perPage": 2}, 1},
		{args{"query": "tools", "perPage": 1}, 1},
		{args{"perPage": 2, "page": 2}, 0},
	} {
		r := s.call("search_repositories", c.arguments)
		if len(r.links) != c.links || strings.Contains(r.text, "GET /repositories") != (c.links > 0) {
			t.Errorf("%v links to %q, and says %s", c.arguments, r.links, r.text)
		}
	}
}

// Of many repositories the first few are linked.
func TestASearchLinksToWhatItFound(t *testing.T) {
	s := open(t, samples)
	r := s.call("search_code", args{"query": "a", "perPage": 1})
	if len(r.links) != 1 {
		t.Errorf("one line of one repository, and links to %q", r.links)
	}
	repositories := make(map[string]bool)
	r = s.call("search_code", args{"query": "a", "perPage": 200})
	for _, file := range r.data["files"].([]any) {
		repositories[file.(map[string]any)["repository"].(string)] = true
	}
	if want := min(len(repositories), 3); len(r.links) != want || want < 2 {
		t.Errorf("%d repositories, and links to %q", len(repositories), r.links)
	}
}
