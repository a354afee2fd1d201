package tools

import (
	"slices"
	"strings"
	"testing"
)

func toolNames() []string {
	var names []string
	for _, d := range table {
		names = append(names, d.name)
	}
	return names
}

// Names of other servers' tools, and misspelt ones, lead to what there is.
func TestAnUnknownToolIsTakenForTheOneThatIsMeant(t *testing.T) {
	offered := toolNames()
	for name, want := range map[string][]string{
		"read_file":          {"get_file_contents"},
		"get_file_content":   {"get_file_contents"},
		"getFileContents":    {"get_file_contents"},
		"get_tag":            {"get_tag", "list_tags"},
		"get_latest_release": {"list_tags"},
		"list_releases":      {"list_tags"},
		"git_log":            {"list_commits"},
		"git_diff":           {"compare_commits"},
		"git_show":           {"get_commit"},
		"search_files":       {"find_files"},
		"list_directory":     {"get_repository_tree"},
		"grep":               {"search_code"},
		"serach_code":        {"search_code"},
		"list_repositories":  {"search_repositories"},
		"download_archive":   {"get_archive_link"},
	} {
		got := Unknown("tool", name, offered)
		if !slices.ContainsFunc(want, func(w string) bool {
			return strings.Contains(got, "Did you mean "+w+"?") || slices.Contains(offered, name)
		}) {
			t.Errorf("%s: %s", name, got)
		}
	}
	got := Unknown("tool", "frobnicate\u202e", []string{"a", "b"})
	if want := `There is no tool "frobnicate\342\200\256". There are: a, b.`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// What is not offered is not suggested.
	if got := Unknown("tool", "read_file", []string{"list_tags"}); strings.Contains(got, "mean") {
		t.Error(got)
	}
	for _, s := range subjects {
		if !slices.Contains(offered, s.tool) {
			t.Errorf("there is no tool %s for %q", s.tool, s.word)
		}
	}
}

func TestClosest(t *testing.T) {
	for _, c := range []struct {
		name  string
		known string
		want  string
	}{
		{"gti", "git go-git", "git"},
		{"git/git", "git go-git", "git"},
		{"Git", "go-git git", "git"},
		{"git", "github-mcp-server go-git", "go-git github-mcp-server"},
		{"2.45.0", "v2.4.5 v2.45.0 v2.45.0-rc0", "v2.45.0"},
		{"v2.45", "v2.44.0 v2.45.0-rc1 v2.45.1 v2.45.0 v2.5.5", "v2.45.1 v2.45.0 v2.45.0-rc1"},
		{"origin/master", "maint master next", "master"},
		{"entirely-different", "maint master next", ""},
		{"", "maint", ""},
	} {
		if got := strings.Join(closest(c.name, strings.Fields(c.known), 3), " "); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.name, c.known, got, c.want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"gti", "git", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}, {"abcd", "bacd", 1}, {"same", "same", 0}} {
		if got := editDistance(c.a, c.b); got != c.want || editDistance(c.b, c.a) != c.want {
			t.Errorf("%s and %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
