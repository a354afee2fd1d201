package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// longLists is a root in which each list has 90 items with long names: a result has no room for all.
func longLists(t *testing.T) (root string, repo *gittest.Repo) {
	t.Helper()
	root = t.TempDir()
	repo = gittest.At(t, filepath.Join(root, "one.git"))
	first := repo.Commit("main", gittest.Regular("README", "1\n"))
	var files []gittest.File
	for i := range 90 {
		name := fmt.Sprintf("%03d%s", i, strings.Repeat("é", 60+i%3*25))
		files = append(files, gittest.Regular("d/"+name+strings.Repeat("ü", 40), "1\n"))
		repo.SetRef("refs/heads/b/"+name, first)
		repo.SetRef("refs/tags/t/"+name, first)
		if err := os.Symlink("one.git", filepath.Join(root, name+".git")); err != nil {
			t.Fatal(err)
		}
	}
	last := repo.Commit("main", files...)
	tree := repo.Git("rev-parse", last+"^{tree}")
	for i := range 90 {
		last = repo.Store("commit", fmt.Sprintf("tree %s\nparent %s\nauthor A <a@b> %d +0000\ncommitter A <a@b> %[3]d "+
			"+0000\n\n%03d%s\n", tree, last, 1_800_000_000+i, i, strings.Repeat("long ", 40)))
	}
	repo.SetRef("refs/heads/main", last)
	return root, repo
}

// The pages of each list, put together, are the list: nothing is lost where a page was cut for its
// size, and nothing is lost or repeated when a push comes between two pages.
func TestPagesPutTogetherAreTheWholeList(t *testing.T) {
	gittest.Long(t)
	root, repo := longLists(t)
	s := open(t, root)
	below := func(lines string) []string { return strings.Split(strings.TrimSuffix(lines, "\x00"), "\x00") }
	head := repo.Git("rev-parse", "main")
	all := below(repo.Git("ls-tree", "-r", "-t", "-z", "--name-only", head))
	files := below(repo.Git("ls-tree", "-r", "-z", "--name-only", head+":d"))
	var inFolder []string
	for _, name := range files {
		inFolder = append(inFolder, "d/"+name)
	}
	lines := func(arguments ...string) []string {
		return strings.Split(strings.TrimSuffix(repo.Git(arguments...), "\n"), "\n")
	}
	repositories, err := filepath.Glob(root + "/*.git")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range repositories {
		repositories[i] = strings.TrimSuffix(filepath.Base(name), ".git")
	}
	changed := head + "~90"
	calls, cut := 0, 0
	for _, c := range []struct {
		tool      string
		arguments args
		want      []string
		most      int
	}{
		{"search_repositories", args{}, repositories, 100},
		{"list_branches", args{"sort": "name"}, lines("branch", "--format=%(refname:short)"), 100},
		{"list_branches", args{"sort": "date"}, lines("branch", "--format=%(refname:short)", "--sort=-creatordate"), 100},
		{"list_tags", args{"sort": "version"}, lines("tag", "--sort=-version:refname"), 100},
		{"get_repository_tree", args{"recursive": true}, all, 500},
		{"get_file_contents", args{"path": "d"}, inFolder, 500},
		{"find_files", args{"glob": "d/*", "order": "path"}, inFolder, 500},
		{"list_commits", args{}, lines("log", "--format=%s", head), 100},
		{"get_commit", args{"ref": changed}, inFolder, 300},
		{"compare_commits", args{"base": changed + "^", "two_dot": true}, inFolder, 300},
	} {
		if c.tool != "search_repositories" {
			c.arguments["repo"] = "one"
		}
		for _, perPage := range []int{4, 40, c.most} {
			c.arguments["perPage"], c.arguments["cursor"] = perPage, ""
			var got []string
			pagesCut := 0
			for {
				r := s.call(c.tool, c.arguments)
				if r.failed {
					t.Fatalf("%s %v: %s", c.tool, c.arguments, r.text)
				}
				names := namesOf(c.tool, r)
				got = append(got, names...)
				calls++
				c.arguments["cursor"] = r.next()
				if r.next() == "" {
					break
				}
				if len(names) < perPage {
					pagesCut++
				}
				if len(got) < 3*perPage && c.tool != "search_repositories" { // a push between the pages
					repo.Commit("main", gittest.Regular(fmt.Sprint("a", len(got)), "1\n"))
				}
			}
			if cut += pagesCut; perPage == c.most && pagesCut == 0 {
				t.Errorf("%s: no page is cut for its size", c.tool)
			}
			if repo.SetRef("refs/heads/main", head); !slices.Equal(got, c.want) {
				t.Errorf("%s by %d: %d items, want %d\n got %.80q\nwant %.80q", c.tool, perPage, len(got), len(c.want),
					got, c.want)
			}
		}
	}
	if calls < 250 {
		t.Errorf("only %d pages", calls)
	}
	t.Logf("%d pages, %d of them cut for their size", calls, cut)
}

// namesOf returns what the items of a list are called.
func namesOf(tool string, r reply) (names []string) {
	field := func(list, member string) {
		items, _ := r.data[list].([]any)
		for _, item := range items {
			names = append(names, item.(map[string]any)[member].(string))
		}
	}
	switch tool {
	case "search_repositories":
		names = strs(r.data["repositories"])
	case "find_files":
		names = strs(r.data["files"])
	case "list_branches", "list_tags":
		field("refs", "name")
	case "get_repository_tree":
		field("tree", "path")
	case "list_commits":
		field("commits", "subject")
	default: // lines of text that end with a path
		for line := range strings.Lines(r.content) {
			if at := strings.Index(line, " d/"); at > 0 {
				names = append(names, strings.TrimSuffix(line[at+1:], "\n"))
			}
		}
	}
	return names
}

// A cursor is refused where it does not belong, and never answers another question.
func TestForeignCursorsAreRefused(t *testing.T) {
	root, repo := longLists(t)
	s := open(t, root)
	first := s.call("list_branches", args{"repo": "one", "perPage": 5, "query": "b/", "sort": "name"})
	of := func(more args) args {
		given := args{"repo": "one", "perPage": 5, "query": "b/", "sort": "name", "cursor": first.next()}
		for name, value := range more {
			given[name] = value
		}
		return given
	}
	if r := s.call("list_branches", of(args{"perPage": 9, "contains": nil})); r.failed ||
		len(r.data["refs"].([]any)) != 9 {
		t.Errorf("another size of the page: %s", r.text)
	}
	const foreign = "The cursor is not one of this list."
	for name, c := range map[string]struct {
		tool      string
		arguments args
	}{
		"another tool":     {"list_tags", of(nil)},
		"other arguments":  {"list_branches", of(args{"query": "b"})},
		"another order":    {"list_branches", of(args{"sort": "date"})},
		"no cursor":        {"list_branches", of(args{"cursor": "2"})},
		"of a log":         {"list_branches", of(args{"cursor": s.call("list_commits", args{"repo": "one"}).next()})},
		"its beginning":    {"list_branches", of(args{"cursor": first.next()[:12]})},
		"more than it had": {"list_branches", of(args{"cursor": first.next() + "AA"})},
	} {
		if r := s.call(c.tool, c.arguments); !r.failed || !strings.Contains(r.text, foreign) {
			t.Errorf("%s: %s", name, r.text)
		}
	}
	names := namesOf("list_branches", first)
	repo.Git("update-ref", "-d", "refs/heads/"+names[0])
	if r := s.call("list_branches", of(nil)); r.failed || namesOf("list_branches", r)[0] == names[4] ||
		!strings.HasPrefix(namesOf("list_branches", r)[0], "b/005") {
		t.Errorf("after a branch before the cursor went: %s", r.text)
	}
	repo.Git("update-ref", "-d", "refs/heads/"+names[4])
	if r := s.call("list_branches", of(nil)); !r.failed || !strings.Contains(r.text, "The list has changed") {
		t.Errorf("after the branch of the cursor went: %s", r.text)
	}
}
