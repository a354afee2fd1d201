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
	for _, c := range []struct {
		tool      string
		arguments args
		want      string // in the link
	}{
		{"search_code", args{"query": "needle"}, last + ".tar.gz"},
		{"list_commits", args{}, last + ".tar.gz"},
		{"find_files", args{"query": "file"}, last + ".manifest.json"},
		{"get_repository_tree", args{}, last + ".manifest.json"},
		{"get_file_contents", args{}, last + ".manifest.json"},
		{"compare_commits", args{"base": first, "head": last, "detail": "stats"}, first},
		{"get_commit", args{"detail": "stats"}, first},
	} {
		c.arguments["repo"] = "one"
		whole := s.call(c.tool, c.arguments)
		if len(whole.links) > 0 {
			t.Errorf("%s links to %q though nothing is missing", c.tool, whole.links)
		}
		c.arguments["perPage"] = 1
		cut := s.call(c.tool, c.arguments)
		if len(cut.links) != 1 || !strings.Contains(cut.links[0], c.want) || !strings.Contains(cut.text, "GET /archive/one/"+last) {
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
