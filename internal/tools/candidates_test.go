package tools_test

import (
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// versioned is a repository whose branches and tags can be named in several ways.
func versioned(t *testing.T) (*site, *gittest.Repo) {
	t.Helper()
	s, repo := single(t)
	first := repo.Commit("Main", gittest.Regular("src/app/main.go", strings.Repeat("line\n", 20)), gittest.Regular("a/doc.md", "2"),
		gittest.Regular("b/doc.md", "3"))
	for _, tag := range []string{
		"v2.45.0", "v2.45.0-rc1", "v5.11.0", "release-1.2", "one-3.4", "v1", "v1.0.0", "v7.0", "7.0.0", "x86-64",
		"REL_9_6_1", "dup-8.1", "2.0.1",
	} {
		repo.SetRef("refs/tags/"+tag, first)
	}
	repo.SetRef("refs/heads/topic/a", first)
	repo.SetRef("HEAD", "ref: refs/heads/Main")
	return s, repo
}

// A name that says the same as exactly one branch or tag is taken for it, and the result says so.
// A name that is only spelt alike is never taken: it may be of another version.
func TestTheOnlyRevisionThatSaysTheSameIsTaken(t *testing.T) {
	s, _ := versioned(t)
	for ref, want := range map[string]string{
		"2.45.0": "v2.45.0", "V2.45.0": "v2.45.0", "v2.45": "v2.45.0", "2.45.0-rc1": "v2.45.0-rc1",
		"2.45.0.rc1": "v2.45.0-rc1", "v5.11": "v5.11.0", "origin/topic/a": "topic/a", "upstream/topic/a": "topic/a",
		"refs/remotes/origin/topic/a": "topic/a", "1.2": "release-1.2", "v1.2": "release-1.2", "3.4": "one-3.4",
		"one-2.45.0": "v2.45.0", "1": "v1", "1.0.0": "v1.0.0", "9.6.1": "REL_9_6_1", "rel-9.6.1": "REL_9_6_1",
		"Topic/A": "topic/a", "2.45.0~0": "v2.45.0~0", "2.45.0^{commit}": "v2.45.0^{commit}", "v2.0.1": "2.0.1",
	} {
		r := s.call("get_repository_tree", args{"repo": "one", "ref": ref})
		if note := "There is no branch, tag or commit " + ref + "; this is of " + want + "."; r.failed ||
			!strings.Contains(r.text, note) {
			t.Errorf("%s: %s\nwant %s", ref, r.text, note)
		}
	}
	for _, ref := range []string{
		"2.45.1", "v2.45.0-rc2", "2.44.0", "86-64", "64", "refs/heads/Topic/a", "heads/main2", "origin/topic/b", "8.1",
		"v5.12", "topic/a/b", "7.0.0.0", "refs/tags/2.45.0", "5.11.1", "", "origin/",
	} {
		r := s.call("get_repository_tree", args{"repo": "one", "ref": ref})
		if !r.failed && ref != "" {
			t.Errorf("%s is taken for another revision: %s", ref, r.text)
		}
	}
	if r := s.call("get_repository_tree", args{"repo": "one", "ref": "v7"}); !r.failed ||
		!strings.Contains(r.text, "Did you mean 7.0.0 or v7.0?") {
		t.Errorf("of several tags: %s", r.text)
	}
	if r := s.call("get_tag", args{"repo": "one", "tag": "2.45.0"}); r.failed ||
		!strings.Contains(r.text, "There is no tag 2.45.0; this is v2.45.0.") {
		t.Errorf("%s", r.text)
	}
	if r := s.call("compare_commits", args{"repo": "one", "base": "origin/Main", "head": "5.11"}); r.failed ||
		!strings.Contains(r.text, "this is of Main.") || !strings.Contains(r.text, "this is of v5.11.0.") {
		t.Errorf("%s", r.text)
	}
}

// Another default branch is taken for the common ones, and for those of a clone's remote.
func TestTheDefaultBranchIsTakenForAnother(t *testing.T) {
	s, repo := single(t)
	repo.Commit("unstable", gittest.Regular("a", "1"))
	repo.SetRef("HEAD", "ref: refs/heads/unstable")
	for _, ref := range []string{"main", "master", "origin/master", "refs/remotes/upstream/main"} {
		if r := s.call("get_commit", args{"repo": "one", "ref": ref}); r.failed ||
			!strings.Contains(r.text, "There is no branch "+ref+"; this is of the default branch unstable.") {
			t.Errorf("%s: %s", ref, r.text)
		}
	}
	if r := s.call("get_commit", args{"repo": "one", "ref": "refs/heads/master"}); !r.failed {
		t.Errorf("a full name is taken for another: %s", r.text)
	}
}

func TestTheOnlyPathThatSaysTheSameIsTaken(t *testing.T) {
	s, _ := versioned(t)
	for path, want := range map[string]string{
		"main.go": "src/app/main.go", "app/main.go": "src/app/main.go", "one/src/app/main.go": "src/app/main.go",
		"src/app/main.go:12": "src/app/main.go", "app/main.go#L3-L9": "src/app/main.go",
	} {
		for _, tool := range []string{"get_file_contents", "get_file_blame"} {
			r := s.call(tool, args{"repo": "one", "path": path})
			if note := "There is no " + path + "; this is " + want + "."; r.failed || !strings.Contains(r.text, note) {
				t.Errorf("%s of %s: %s", tool, path, r.text)
			}
		}
	}
	for path, want := range map[string]string{
		"doc.md": "Did you mean a/doc.md or b/doc.md?", "c/doc.md": "Did you mean a/doc.md or b/doc.md?",
		"lib/main.go": "Did you mean src/app/main.go?", "main.c": "Look for it with find_files.",
	} {
		if r := s.call("get_file_contents", args{"repo": "one", "path": path}); !r.failed ||
			!strings.Contains(r.text, want) {
			t.Errorf("%s: %s", path, r.text)
		}
	}
	r := s.call("find_files", args{"repo": "one", "path": "app", "query": "main", "order": "path"})
	if files := strs(r.data["files"]); r.failed || len(files) != 1 || files[0] != "src/app/main.go" {
		t.Errorf("%s", r.text)
	}
	if r := s.call("get_repository_tree", args{"repo": "one", "path": "app"}); r.failed ||
		!strings.Contains(r.text, "this is src/app.") {
		t.Errorf("%s", r.text)
	}
}

// The lines after a path, as other programs write them, are those of the file.
func TestLinesAfterAPathAreThoseOfTheFile(t *testing.T) {
	s, repo := versioned(t)
	repo.Commit("Main", gittest.Regular("doc.md", "1\n2\n3\n4\n"), gittest.Regular("a/doc.md", "2"),
		gittest.Regular("odd:2", "1\n2\n"))
	for _, c := range []struct{ path, want, absent string }{
		{"doc.md:3", "Lines 3 to 4 are shown.", ""},
		{"doc.md:2-3", "Lines 2 to 3 are shown.", ""},
		{"doc.md:2:17", "Lines 2 to 4 are shown.", ""},
		{"doc.md#L1-L2", "Lines 1 to 2 are shown.", ""},
		{"doc.md:3-2", "this is doc.md.", "are shown"},
		{"odd:2", "odd:2 of one", "are shown"},
		{"doc.md:5", "doc.md has 4 lines.", ""},
		{":12", "There is no :12 in one", "this is"},
		{"doc.md:9999999999", "There is no doc.md:9999999999", "this is"},
	} {
		r := s.call("get_file_contents", args{"repo": "one", "path": c.path})
		if !strings.Contains(r.text, c.want) || c.absent != "" && strings.Contains(r.text, c.absent) {
			t.Errorf("%s: %s", c.path, r.text)
		}
	}
	r := s.call("get_file_contents", args{"repo": "one", "path": "doc.md:3", "start_line": 1, "end_line": 1})
	if !strings.Contains(r.text, "Lines 1 to 1 are shown.") {
		t.Errorf("lines that are asked for: %s", r.text)
	}
	r = s.call("get_file_contents", args{"repo": "one", "files": []any{args{"path": "doc.md:2-3"}}})
	if !strings.Contains(r.text, "lines 2 to 3 of 4") {
		t.Errorf("several files: %s", r.text)
	}
	r = s.call("get_file_blame", args{"repo": "one", "path": "doc.md:2-3"})
	if strings.Contains(r.text, "  1 1\n") || !strings.Contains(r.text, "  2 2\n") {
		t.Errorf("blame: %s", r.text)
	}
}

// A query that no path contains, but that is a pattern, is taken for one.
func TestAQueryThatIsAPatternFindsFiles(t *testing.T) {
	s, _ := versioned(t)
	for query, want := range map[string]string{
		"*.go": "these match it as glob", "src/**": "these match it as glob", "*.c": "No path fits",
		"*.go x": "No path fits", "*[": "No path fits",
	} {
		r := s.call("find_files", args{"repo": "one", "query": query})
		if r.failed || !strings.Contains(r.text, want) {
			t.Errorf("%s: %s", query, r.text)
		}
	}
}

func TestTheOnlyRepositoryThatSaysTheSameIsTaken(t *testing.T) {
	s := open(t, samples)
	for name, want := range map[string]string{
		"Hello": "hello", "builder": "team/tools/builder", "TEAM/tools": "team/tools", "Builder": "team/tools/builder",
	} {
		if r := s.call("list_branches", args{"repo": name}); r.failed ||
			!strings.Contains(r.text, "There is no repository "+name+"; this is of "+want+".") {
			t.Errorf("%s: %s", name, r.text)
		}
	}
}

// An argument that other tools have is taken for the only one that it can mean here.
func TestArgumentsOfOtherToolsAreTaken(t *testing.T) {
	s := open(t, samples)
	for _, c := range []struct {
		tool            string
		given, known    args
		unknown, meant  string
		withoutSentence bool // the argument is known, but not in the schema
	}{
		{"list_branches", args{"per_page": 1}, args{"perPage": 1}, "per_page", "perPage", false},
		{"list_commits", args{"limit": "2"}, args{"perPage": 2}, "limit", "perPage", false},
		{"list_commits", args{"offset": 2, "perPage": 2}, args{"page": 2, "perPage": 2}, "", "", true},
		{"find_files", args{"query": "e", "offset": 1, "perPage": 1}, args{"query": "e", "page": 2, "perPage": 1}, "", "",
			true},
		{"get_commit", args{"path": "docs"}, args{"paths": []string{"docs"}}, "path", "paths", false},
		{"get_commit", args{"commit_sha": "v1.0.0"}, args{"sha": "v1.0.0"}, "commit_sha", "sha", false},
		{"get_commit", args{"ref": "main", "commit_sha": "v1.0.0"}, args{"sha": "v1.0.0"}, "commit_sha", "sha", false},
		{"get_commit", args{"include_diff": true}, args{"detail": "full_patch"}, "include_diff", "detail", false},
		{"get_commit", args{"include_diff": false}, args{}, "include_diff", "detail", false},
		{"list_commits", args{"paths": []string{"docs"}}, args{"path": "docs"}, "paths", "path", false},
		{"get_file_contents", args{"file_path": "README.md"}, args{"path": "README.md"}, "file_path", "path", false},
		{"get_file_contents", args{"path": "README.md", "view_range": []int{2, 3}},
			args{"path": "README.md", "start_line": 2, "end_line": 3}, "view_range", "lines", false},
		{"list_commits", args{"max_count": 1}, args{"perPage": 1}, "max_count", "perPage", false},
		{"get_file_blame", args{"path": "README.md", "line_start": 2, "end_line": 2},
			args{"path": "README.md", "start_line": 2, "end_line": 2}, "line_start", "start_line", false},
		{"get_file_contents", args{"path": "README.md", "start_line": 2, "line_end": 2},
			args{"path": "README.md", "start_line": 2, "end_line": 2}, "line_end", "end_line", false},
		{"get_file_contents", args{"paths": []string{"README.md", "bin/hello"}},
			args{"files": []string{"README.md", "bin/hello"}}, "paths", "files", false},
		{"search_code", args{"query": "hello", "glob": "*.md"}, args{"query": "hello", "path": "*.md"}, "glob",
			"path", false},
		{"list_commits", args{"path": "README.md", "function": "hello"}, args{"path": "README.md", "symbol": "hello"},
			"function", "symbol", false},
		{"get_file_contents", args{"path": "README.md", "lines": "L2-L3"},
			args{"path": "README.md", "start_line": 2, "end_line": 3}, "", "", true},
		{"get_file_blame", args{"path": "README.md", "offset": 2, "limit": 2},
			args{"path": "README.md", "start_line": 2, "end_line": 3}, "", "", true},
	} {
		c.given["repo"], c.known["repo"] = "hello", "hello"
		got, want := s.call(c.tool, c.given), s.call(c.tool, c.known)
		if got.failed || got.content != want.content && !c.withoutSentence {
			t.Errorf("%s %v: %s\nwant %s", c.tool, c.given, got.text, want.text)
		}
		if note := "There is no argument " + c.unknown + "; it is taken as " + c.meant + "."; !c.withoutSentence &&
			!strings.Contains(got.text, note) {
			t.Errorf("%s %v does not say %q: %s", c.tool, c.given, note, got.text)
		}
	}
	for _, c := range []struct {
		tool  string
		given args
		want  string
	}{
		{"find_files", args{"pattern": "x"}, "There is no argument pattern. Did you mean glob or query?"},
		{"list_branches", args{"per_page": 1000}, "There is no argument per_page. Did you mean perPage?"},
		{"list_branches", args{"per_page": 1, "perPage": 2}, "There is no argument per_page."},
		{"get_commit", args{"pathz": "docs"}, "There is no argument pathz. Did you mean paths?"},
		{"list_commits", args{"paths": []string{"a", "b"}}, "There is no argument paths. Did you mean path?"},
		{"get_file_contents", args{"path": "README.md", "lines": "x"}, "The argument lines must be a range of lines"},
		{"list_branches", args{"offset": 5}, "offset leaves out 5 items, and the list has 2."},
	} {
		c.given["repo"] = "hello"
		if r := s.call(c.tool, c.given); !r.failed || !strings.Contains(r.text, c.want) {
			t.Errorf("%s %v: %s\nwant %s", c.tool, c.given, r.text, c.want)
		}
	}
}
