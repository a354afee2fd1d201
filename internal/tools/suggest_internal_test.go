package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/tools/spelling"
)

func toolNames() []string {
	var names []string
	for _, d := range table {
		names = append(names, d.name)
	}
	return names
}

// The errors for misspelt names and names of other servers' tools suggest existing tools.
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

// The errors for names of other tools' arguments suggest existing arguments.
func TestAnUnknownArgumentIsTakenForTheOneThatIsMeant(t *testing.T) {
	all := make(map[string]bool)
	for _, d := range table {
		declared, _ := d.bind()
		for _, name := range declared.Names() {
			all[name] = true
		}
	}
	for name, meant := range synonyms {
		if name != spelling.Fold(name) {
			t.Errorf("%s is never looked up: it is %s when it is folded", name, spelling.Fold(name))
		}
		for _, m := range strings.Fields(meant) {
			if !all[m] {
				t.Errorf("%s: no tool has the argument %s", name, m)
			}
		}
	}
}
