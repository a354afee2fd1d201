package tools_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// searched follows a search by its cursors, and gives its lines as git grep
// prints them, without those of context.
func (s *site) searched(arguments args) []string {
	s.t.Helper()
	arguments["sort"] = "path"
	var all []string
	for {
		r := s.call("search_code", arguments)
		if r.failed {
			s.t.Fatalf("%v: %s", arguments, r.text)
		}
		if len(r.content) > maxResult {
			s.t.Errorf("%v: %d bytes", arguments, len(r.content))
		}
		found := 0
		for _, f := range r.data["files"].([]any) {
			file := f.(map[string]any)
			for _, l := range file["lines"].([]any) {
				line := l.(map[string]any)
				if line["column"] == nil {
					continue
				}
				row := fmt.Sprint(file["path"], ":", line["line"], ":", line["column"], ":")
				if !strings.Contains(r.content, row+" "+line["text"].(string)+"\n") {
					s.t.Errorf("the text lacks %q", row)
				}
				all = append(all, row+line["text"].(string))
				found++
			}
		}
		if counts := r.data["counts"].(map[string]any); counts["lines"] != float64(found) {
			s.t.Errorf("%v: %d lines, counted %v", arguments, found, counts["lines"])
		}
		if r.data["nextCursor"] == nil {
			return all
		}
		if !strings.Contains(r.text, "cursor="+r.data["nextCursor"].(string)) ||
			!strings.Contains(r.text, "The search stopped after ") {
			s.t.Errorf("the text does not say how to go on: %s", r.text)
		}
		arguments["cursor"] = r.data["nextCursor"]
	}
}

func TestFoundLinesAreThoseOfGitGrep(t *testing.T) {
	s := open(t, samples)
	lines := 0
	for _, repository := range sampled {
		for _, c := range []struct {
			arguments args
			options   []string
		}{
			{args{"query": "the", "syntax": "text", "case": "sensitive", "perPage": 40}, []string{"-F", "-e", "the"}},
			{args{"query": "A", "syntax": "text", "case": "insensitive", "perPage": 500},
				[]string{"-F", "-i", "-e", "A"}},
			{args{"query": `[a-z]+ [0-9]+$`, "syntax": "regexp", "perPage": 300},
				[]string{"-E", "-e", "[a-z]+ [0-9]+$"}},
			{args{"query": `e path:*.md`, "case": "sensitive", "context_lines": 2},
				[]string{"-F", "-e", "e", "--", "*.md"}},
		} {
			c.arguments["repo"] = repository
			got := s.searched(c.arguments)
			var want []string
			// Like the tool, git quotes names; unlike it also those beyond ASCII.
			for line := range strings.SplitSeq(grep(t, repository, c.options...), "\n") {
				if line != "" {
					want = append(want, strings.TrimPrefix(line, "HEAD:"))
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s %v: %d lines, want %d", repository, c.arguments, len(got), len(want))
				continue
			}
			for i := range got {
				if repository != "names" && repository != "media" && strings.TrimSuffix(want[i], "\r") != got[i] {
					t.Errorf("%s: %q, want %q", repository, got[i], want[i])
				}
			}
			lines += len(want)
		}
	}
	if lines < 2000 {
		t.Errorf("only %d lines were compared", lines)
	}
}

// grep is git grep, for which nothing found is a failure.
func grep(t *testing.T, repository string, options ...string) string {
	t.Helper()
	arguments := append([]string{"grep", "-n", "--column", "-I"}, options...)
	at := slices.Index(arguments, "--")
	if at < 0 {
		at = len(arguments)
	}
	cmd := exec.CommandContext(t.Context(), "git", slices.Insert(arguments, at, "HEAD")...)
	cmd.Dir, cmd.Env = filepath.Join(samples, repository+".git"), gittest.Env()
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%q: %v", cmd.Args, err)
	}
	return string(out)
}

func TestSearchSaysWhatItLeavesOut(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main",
		gittest.Regular("binary", "needle\x00"), gittest.Regular("large", strings.Repeat("needle\n", fileBytes/7+1)),
		gittest.Regular("text", "a\nneedle\nb\n"),
		gittest.Regular("long", strings.Repeat("y", 5000)+"needle"+strings.Repeat("z", 5000)+"\n"))
	r := s.call("search_code", args{"query": "needle", "sort": "path"})
	for _, want := range []string{"2 lines found; 2 files of 1 repository searched.",
		"Not searched: 1 file (not text).", "Not searched: 1 file (too large)."} {
		if !strings.Contains(r.text, want) {
			t.Errorf("%q is not in %s", want, r.text)
		}
	}
	if counts := r.data["counts"].(map[string]any); counts["binary"] != 1.0 || counts["large"] != 1.0 ||
		counts["files"] != 2.0 {
		t.Errorf("%v", counts)
	}
	if !strings.Contains(r.content, "long:1:5001: …y") || len(r.content) > 2000 {
		t.Errorf("%d bytes: %s", len(r.content), r.content)
	}
	const cut = "Long lines are cut"
	if !strings.Contains(r.text, cut) {
		t.Errorf("%q is not in %s", cut, r.text)
	}
	if r := s.call("search_code", args{"query": "needle path:text", "sort": "path"}); strings.Contains(r.text, cut) {
		t.Errorf("no line is: %s", r.text)
	}
}

// TestSearchNamesWhatItCannotSearch has sound repositories beside some that cannot
// be searched, alone and together.
func TestSearchNamesWhatItCannotSearch(t *testing.T) {
	root := t.TempDir()
	damage := func(name, revision string) {
		repo := gittest.At(t, filepath.Join(root, name+".git"))
		repo.Commit("main", gittest.Regular("a/b", "hello a "+name+"\n"), gittest.Regular("c", "hello c "+name+"\n"))
		if revision == "" {
			return
		}
		id := repo.Git("rev-parse", revision)
		if err := os.Remove(filepath.Join(repo.Dir, "objects", id[:2], id[2:])); err != nil {
			t.Fatal(err)
		}
	}
	damage("team/fine", "")
	damage("team/no-commit", "main")
	damage("team/no-root", "main^{tree}")
	damage("team/no-folder", "main:a")
	damage("team/no-file", "main:c")
	gittest.At(t, filepath.Join(root, "empty.git"))
	deep := gittest.At(t, filepath.Join(root, "deep.git"))
	deep.Commit("main", gittest.Regular(strings.Repeat("d/", 1023)+"f", "hello at the bottom\n"))
	deep.Commit("deeper", gittest.Regular(strings.Repeat("d/", 1024)+"f", "hello below\n"))
	s := open(t, root)
	const damaged, fewer = "data is damaged", "Nothing fits. Try"
	for _, c := range []struct {
		query, ref string
		failed     bool
		lines      int
		broken     int
		damaged    int
		says       []string
	}{
		{"hello repo:team/no-commit", "", true, 0, 0, 0, []string{damaged}},
		{"hello repo:team/no-comm*", "", true, 0, 0, 0, []string{damaged}},
		{"hello repo:team/no-root", "", true, 0, 0, 0, []string{damaged}},
		{"hello repo:team/no-folder", "", true, 0, 0, 0, []string{damaged}},
		{"hello repo:team/no-root repo:team/no-commit", "", true, 0, 0, 0, []string{damaged, "2 repositories cannot be",
			"team/no-root", "team/no-commit"}},
		{"hello repo:team/no-file", "", false, 1, 0, 1, []string{damaged, "team/no-file /c"}},
		{"nowhere repo:team/no-file", "", false, 0, 0, 1, []string{damaged, "Nothing fits in what could be searched."}},
		{"hello repo:team/*", "", false, 3, 3, 1, []string{damaged, "team/no-commit /", "team/no-folder /",
			"team/no-file /c"}},
		{"nowhere repo:team/fine repo:team/no-root", "", false, 0, 1, 0, []string{damaged, "team/no-root /",
			"Nothing fits in what could be searched."}},
		{"nowhere repo:team/fine", "", false, 0, 0, 0, []string{fewer}},
		{"hello repo:empty", "", true, 0, 0, 0, []string{"no commits yet"}},
		{"hello repo:emp*", "", false, 0, 0, 0, []string{"No repository was searched"}},
		{"hello repo:deep", "", false, 1, 0, 0, nil},
		{"hello repo:deep", "deeper", true, 0, 0, 0, []string{"nested deeper than is searched"}},
	} {
		r := s.call("search_code", args{"query": c.query, "ref": c.ref})
		for _, want := range c.says {
			if !strings.Contains(r.text, want) {
				t.Errorf("%s: %q is not in %s", c.query, want, r.text)
			}
		}
		if r.failed != c.failed {
			t.Errorf("%s: failed %v: %s", c.query, r.failed, r.text)
		}
		if r.failed || c.failed {
			continue
		}
		counts := r.data["counts"].(map[string]any)
		if counts["lines"] != float64(c.lines) || counts["broken"] != float64(c.broken) ||
			counts["damaged"] != float64(c.damaged) {
			t.Errorf("%s: %v", c.query, counts)
		}
		if strings.Contains(r.text, fewer) != slices.Contains(c.says, fewer) {
			t.Errorf("%s: %s", c.query, r.text)
		}
	}
}

// TestRegexpQueriesKeepTheirSpaces holds them against git grep.
func TestRegexpQueriesKeepTheirSpaces(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("f", "name\nname \n name\n  name  \na name here\n\tname\n"))
	for _, query := range []string{"name ", " name", "  name  ", " name ", "name", "\tname"} {
		got := s.searched(args{"query": query, "syntax": "regexp"})
		want := strings.Split(repo.Git("grep", "-c", "-P", query, "main"), ":")
		if fmt.Sprint(len(got)) != want[len(want)-1] {
			t.Errorf("%q: %d lines, git grep has %s", query, len(got), want)
		}
	}
}

// Lines that take more room as data than as text still fit, and none is lost.
func TestLargeSearchesGoOn(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("controls", strings.Repeat(strings.Repeat("\x01", 100)+"needle\n", 400)))
	if got := s.searched(args{"query": "needle", "perPage": 500}); len(got) != 400 {
		t.Errorf("%d lines", len(got))
	}
	r := s.call("search_code", args{"query": "needle", "perPage": 500, "sort": "path"})
	if size := len(roundTrip[rawText](t, r.data)); size > maxResult+2000 {
		t.Errorf("%d bytes of data", size)
	}
}

// rawText is JSON as it is written.
type rawText []byte

func (r *rawText) UnmarshalJSON(raw []byte) error {
	*r = append((*r)[:0], raw...)
	return nil
}

func TestSearchChoosesRepositories(t *testing.T) {
	s := open(t, samples)
	for _, c := range []struct {
		arguments args
		want      string // in text or content
	}{
		{args{"query": "hello", "owner": "team"}, "of 2 repositories searched."},
		{args{"query": "hello repo:team/*"}, "of 2 repositories searched."},
		{args{"query": "hello", "repo": "tools", "owner": "team"}, "of 1 repository searched."},
		{args{"query": "hello", "repo": "hello.git"}, "hello at 3ff53e025c901ee7c1c5ff8497c213584a8b4958:"},
		{args{"query": "hello", "repo": "hello", "ref": "heads/main"},
			"hello at 3ff53e025c901ee7c1c5ff8497c213584a8b4958:"},
		{args{"query": "hello", "repo": "hello", "ref": "main", "sha": "v1.0.0"},
			"hello at 19b9248c133ae0140f98b38043dc86d27a25c080:"},
		{args{"query": "a", "repo": "trunk", "ref": "main"},
			"There is no branch main; this is of the default branch trunk."},
		{args{"query": "hello", "ref": "feature/login"}, "of 1 repository searched."},
		{args{"query": "HELLO", "repo": "hello", "syntax": "text"}, "Nothing fits."},
		{args{"query": "HELLO", "repo": "hello", "sort": "path"}, "Nothing fits."},
		{args{"query": "HELLO", "repo": "hello"}, "hello at 3ff53e025c901ee7c1c5ff8497c213584a8b4958:"},
		{args{"query": "hello user:team"}, "of 2 repositories searched."},
		{args{"query": "hello repo:github/hello"}, "There is no repository github/hello; this is of hello."},
		{args{"query": "hello repo:github/hello repo:trunk"}, "of 2 repositories searched."},
		{args{"query": "hello repo:trunk OR repo:hello"}, "of 2 repositories searched."},
		{args{"query": "HELLO", "repo": "hello", "case": "insensitive", "path": "/docs"}, "Nothing fits."},
	} {
		r := s.call("search_code", c.arguments)
		if r.failed || !strings.Contains(r.content+r.text, c.want) {
			t.Errorf("%v: %s%s", c.arguments, r.content, r.text)
		}
	}
}
