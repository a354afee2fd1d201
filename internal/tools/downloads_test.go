package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// Content that exceeds a result can be downloaded whole: the first page says
// where and how to download it, and the pages after that do not again. It is said
// in the text: frameworks read each link, or fail on it.
func TestACutPagePointsAtADownload(t *testing.T) {
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
		{"search_code", args{"query": "needle", "sort": "path"}, last + ".tar.gz", ofLast},
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
		if strings.Contains(whole.text, c.route) || strings.Contains(whole.content, "[Cut here.") {
			t.Errorf("%s says where the rest is though nothing is missing: %s", c.tool, whole.text)
		}
		c.arguments["perPage"] = 1
		cut := s.call(c.tool, c.arguments)
		if len(cut.links) > 0 || !strings.Contains(cut.text, c.want) || !strings.Contains(cut.text, c.route) {
			t.Errorf("%s links to %q, and says %s", c.tool, cut.links, cut.text)
		}
		// Some clients show the first block alone.
		if next, ok := cut.data["nextCursor"]; cut.next() == "" || ok && next != cut.next() {
			t.Errorf("%s does not say in its first block how to go on: %s", c.tool, cut.content)
		}
		c.arguments["cursor"] = cut.next()
		if next := s.call(c.tool, c.arguments); next.failed || strings.Contains(next.text, c.route) {
			t.Errorf("%s says it again: %q", c.tool, next.text)
		}
	}
}

func TestACutListOfRepositoriesPointsAtAll(t *testing.T) {
	s := open(t, samples)
	for _, c := range []struct {
		arguments args
		points    bool
	}{
		{args{}, false},
		{args{"query": "tools"}, false},
		{args{"perPage": 2}, true},
		{args{"query": "tools", "perPage": 1}, true},
		{args{"perPage": 2, "page": 2}, false},
	} {
		r := s.call("search_repositories", c.arguments)
		if len(r.links) > 0 || strings.Contains(r.text, "GET /repositories") != c.points {
			t.Errorf("%v links to %q, and says %s", c.arguments, r.links, r.text)
		}
	}
}

// The error lists the first few of many repositories.
func TestASearchPointsAtWhatItFoundIn(t *testing.T) {
	s := open(t, samples)
	const archives = "All files of the commit are in its archive"
	r := s.call("search_code", args{"query": "a", "perPage": 1, "sort": "path"})
	if n := strings.Count(r.text, archives); n != 1 || len(r.links) > 0 {
		t.Errorf("one line of one repository, and %d archives", n)
	}
	repositories := make(map[string]bool)
	r = s.call("search_code", args{"query": "a", "perPage": 200, "sort": "path"})
	for _, file := range r.data["files"].([]any) {
		repositories[file.(map[string]any)["repository"].(string)] = true
	}
	if n, want := strings.Count(r.text, archives), min(len(repositories), 3); n != want || want < 2 {
		t.Errorf("%d repositories, and %d archives", len(repositories), n)
	}
}
