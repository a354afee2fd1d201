package tools_test

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/gittest"
)

// sampled are the repositories that have commits.
var sampled = []string{
	"attributes", "detached", "fork", "hello", "history", "large-tree", "loose", "media", "modes", "names", "refs",
	"team/tools", "team/tools/builder", "trunk",
}

func git(t *testing.T, repository string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", arguments...)
	cmd.Dir, cmd.Env = filepath.Join(samples, repository+".git"), gittest.Env()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v", arguments, err)
	}
	return string(out)
}

// pages calls a tool until there is no next page, and returns the items of all.
func (s *site) pages(name, list string, arguments args) []any {
	s.t.Helper()
	var items []any
	for {
		r := s.call(name, arguments)
		if r.failed {
			s.t.Fatalf("%s %v: %s", name, arguments, r.text)
		}
		items = append(items, r.data[list].([]any)...)
		if r.next() == "" {
			return items
		}
		arguments["cursor"] = r.next()
	}
}

func TestTreesAreThoseOfGit(t *testing.T) {
	s := open(t, samples)
	entries := 0
	for _, repository := range sampled {
		for _, recursive := range []bool{false, true} {
			command := []string{"ls-tree", "-t", "-l", "-z", "HEAD"}
			if recursive {
				command = append(command, "-r")
			}
			var want []string
			for line := range strings.SplitSeq(strings.TrimSuffix(git(t, repository, command...), "\x00"), "\x00") {
				facts, path, _ := strings.Cut(line, "\t")
				want = append(want, strings.Join(append(strings.Fields(facts), path), " "))
			}
			got := s.pages("get_repository_tree", "tree", args{"repo": repository, "recursive": recursive,
				"perPage": 90})
			if len(got) != len(want) {
				t.Fatalf("%s: %d entries, want %d", repository, len(got), len(want))
			}
			for i, item := range got {
				entry := item.(map[string]any)
				size := "-"
				if n, ok := entry["size"].(float64); ok {
					size = strconv.Itoa(int(n))
				}
				path, err := unquoted(t, entry["path"].(string))
				if line := fmt.Sprint(entry["mode"], " ", entry["type"], " ", entry["sha"], " ", size, " ",
					path); err != nil || line != want[i] {
					t.Errorf("%s: %q, want %q", repository, line, want[i])
				}
				entries++
			}
		}
	}
	if entries < 2400 {
		t.Errorf("only %d entries were compared", entries)
	}
}

// unquoted is what git makes of a quoted name.
func unquoted(t *testing.T, name string) (string, error) {
	t.Helper()
	if !strings.HasPrefix(name, `"`) {
		return name, nil
	}
	return strconv.Unquote(name) // C's escapes that git uses are Go's as well
}

func TestFilesAreThoseOfGit(t *testing.T) {
	s := openPublic(t, samples)
	texts, binaries, others := 0, 0, 0
	for _, repository := range sampled {
		if repository == "large-tree" { // thousands of the same kind
			continue
		}
		for _, item := range s.pages("get_repository_tree", "tree", args{"repo": repository, "recursive": true}) {
			entry := item.(map[string]any)
			if entry["type"] != "blob" {
				continue
			}
			want := git(t, repository, "cat-file", "blob", entry["sha"].(string))
			r := s.call("get_file_contents", args{"repo": repository, "path": entry["path"]})
			switch {
			case r.failed:
				t.Errorf("%s %s: %s", repository, entry["path"], r.text)
			case entry["mode"] == "120000":
				others++
				if r.content != "" || !strings.Contains(r.text, " is a symbolic link to "+want[:min(len(want), 50)]) {
					t.Errorf("%s %s: %s", repository, entry["path"], r.text)
				}
			case strings.Contains(want, "\x00"):
				binaries++
				if r.content != "" || len(r.links) != 1 || !strings.Contains(r.text, "It is not a text file") {
					t.Errorf("%s %s: %+v", repository, entry["path"], r)
				}
			case !utf8.ValidString(want): // Latin-1, with one accent
				others++
				if r.content != strings.ToValidUTF8(want, "\ufffd") || len(r.links) != 0 ||
					!strings.Contains(r.text, "Download it with: curl ") {
					t.Errorf("%s %s: %+v", repository, entry["path"], r)
				}
			default:
				texts++
				if r.content != want || len(r.links) != 0 || strings.Contains(r.text, "Truncated") {
					t.Errorf("%s %s: %q", repository, entry["path"], r.content)
				}
			}
		}
	}
	if texts < 100 || binaries < 4 || others < 8 {
		t.Errorf("%d texts, %d binaries and %d others were compared", texts, binaries, others)
	}
}

func TestFoundFilesAreThoseOfGit(t *testing.T) {
	s := open(t, samples)
	matches := 0
	for _, c := range []struct {
		repository, pathspec string
		arguments            args
	}{
		{"large-tree", ":(glob)**/*1*", args{"query": "1", "glob": "*1*"}},
		{"large-tree", ":(icase)*FILE*", args{"query": "FILE"}},
		{"large-tree", ":(glob)*", args{"glob": "/*"}},
		{"names", ":(icase)*.TXT*", args{"query": ".TXT"}},
		{"names", "*.TXT", args{"query": ".TXT", "case_sensitive": true}},
		{"names", ":(glob)**/*é*", args{"glob": "*é*"}},
		{"hello", ":(glob)src/*", args{"glob": "*", "path": "src"}},
		{"large-tree", ":(glob)packages/package-02/*/file-0?.txt",
			args{"glob": "*/file-0?.txt", "path": "/packages/package-02/"}},
		{"hello", ":(glob)src/*s*", args{"query": "s", "path": "src"}},
		{"hello", ":(glob)**/*.js", args{"glob": "**/*.js"}},
		{"hello", "*.nothing", args{"glob": "*.nothing"}},
	} {
		want := make(map[string]bool)
		for path := range strings.SplitSeq(strings.TrimSuffix(gitFiles(t, c.repository, c.pathspec), "\x00"), "\x00") {
			if path != "" {
				want[path] = true
			}
		}
		c.arguments["repo"], c.arguments["order"] = c.repository, "path"
		got := s.pages("find_files", "files", c.arguments)
		for _, item := range got {
			path, err := unquoted(t, item.(string))
			if err != nil || !want[path] {
				t.Errorf("%v: %s is not found by git", c.arguments, path)
			}
			matches++
		}
		if len(got) != len(want) {
			t.Errorf("%v: %d paths, git has %d", c.arguments, len(got), len(want))
		}
	}
	if matches < 500 {
		t.Errorf("only %d matches were compared", matches)
	}
}

// All words of a query are in the path, in any order.
func TestWordsOfAQueryAreInTheirPaths(t *testing.T) {
	s := open(t, samples)
	matches := 0
	for _, c := range []struct {
		repository string
		words      []string
		more       args
	}{
		{"large-tree", []string{"txt", "package-02"}, nil}, {"large-tree", []string{"file-01", "PACKAGE-1", "txt"}, nil},
		{"hello", []string{"js", "test"}, nil}, {"hello", []string{"md", "docs"}, nil},
		{"names", []string{"txt", "e"}, args{"case_sensitive": true}}, {"hello", []string{"test", "nothing"}, nil},
	} {
		count := make(map[string]int)
		for _, word := range c.words {
			magic := ":(icase)"
			if c.more != nil {
				magic = ""
			}
			for path := range strings.SplitSeq(gitFiles(t, c.repository, magic+"*"+word+"*"), "\x00") {
				count[path]++
			}
		}
		arguments := args{"repo": c.repository, "query": strings.Join(c.words, " ")}
		maps.Copy(arguments, c.more)
		found := 0
		for _, item := range s.pages("find_files", "files", arguments) {
			path, err := unquoted(t, item.(string))
			if err != nil || count[path] != len(c.words) {
				t.Errorf("%q: git does not find %s", c.words, path)
			}
			found++
		}
		for path, words := range count {
			if words == len(c.words) && path != "" {
				found--
			}
		}
		if matches += len(count); found != 0 {
			t.Errorf("%q: %d paths more than git", c.words, found)
		}
	}
	if matches < 300 {
		t.Errorf("only %d paths were compared", matches)
	}
	r := s.call("find_files", args{"repo": "hello", "query": "js greeting"})
	if files := strs(r.data["files"]); len(files) != 2 || files[0] != "src/greeting.js" {
		t.Errorf("the shortest name that has both does not come first: %s", r.text)
	}
}

// Parts of a tree are those of git: some levels, folders alone, names alone.
func TestPartsOfTreesAreThoseOfGit(t *testing.T) {
	s := open(t, samples)
	lists, entries := 0, 0
	for _, repository := range sampled {
		var all []string // of git: "TYPE PATH"
		for row := range strings.SplitSeq(strings.TrimSuffix(git(t, repository, "ls-tree", "-r", "-t", "-z", "HEAD"),
			"\x00"), "\x00") {
			facts, path, _ := strings.Cut(row, "\t")
			all = append(all, strings.Fields(facts)[1]+" "+path)
		}
		for depth := range 5 {
			for _, folders := range []bool{false, true} {
				var want []string
				for _, e := range all {
					kind, path, _ := strings.Cut(e, " ")
					if folders && kind != "tree" || depth > 0 && strings.Count(path, "/") >= depth {
						continue
					}
					if kind == "tree" {
						path += "/"
					}
					want = append(want, path)
				}
				arguments := args{"repo": repository, "names": true, "folders": folders, "recursive": depth == 0,
					"perPage": 500}
				if depth > 0 {
					arguments["depth"] = depth
				}
				var got []string
				for _, item := range s.pages("get_repository_tree", "tree", arguments) {
					e := item.(map[string]any)
					path, err := unquoted(t, e["path"].(string))
					if err != nil || len(e) != 1 {
						t.Errorf("%s: %v, %v", repository, e, err)
					}
					got = append(got, path)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, depth %d, folders %t: %d entries, want %d", repository, depth, folders, len(got), len(want))
				}
				lists, entries = lists+1, entries+len(want)
			}
		}
	}
	if lists < 100 || entries < 2000 {
		t.Errorf("only %d lists of %d entries were compared", lists, entries)
	}
	t.Logf("%d lists, %d entries", lists, entries)
}

// gitFiles asks git for the files that a pathspec selects. An index is made for
// it elsewhere: ls-tree knows no magic.
func gitFiles(t *testing.T, repository, pathspec string) string {
	t.Helper()
	index := filepath.Join(t.TempDir(), "index")
	run := func(arguments ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", arguments...)
		cmd.Dir, cmd.Env = filepath.Join(samples, repository+".git"), append(gittest.Env(), "GIT_INDEX_FILE="+index)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %q: %v", arguments, err)
		}
		return string(out)
	}
	run("read-tree", "HEAD")
	return run("ls-files", "-z", "--cached", "--", pathspec)
}
