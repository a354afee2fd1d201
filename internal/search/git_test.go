package search_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

// grepped is what git finds in a commit, as "path:line:column", with the lines.
type grepped struct{ places, lines []string }

// gitGrep is the oracle. git is asked each question once: its answers about a commit stay the
// same, and the searches that are compared with them are many.
func (b *bench) gitGrep(dir, commit string, arguments ...string) grepped {
	b.t.Helper()
	question := fmt.Sprintf("%q", append([]string{dir, commit}, arguments...))
	answer, ok := b.grepped[question]
	if !ok {
		answer = gitGrep(b.t, dir, commit, arguments...)
		b.grepped[question] = answer
	}
	return answer
}

func gitGrep(t testing.TB, dir, commit string, arguments ...string) (answer grepped) {
	t.Helper()
	cmd := exec.Command("git", slices.Concat([]string{"grep", "-n", "-I", "-z", "--column"}, arguments,
		[]string{commit})...)
	cmd.Dir, cmd.Env = dir, gittest.Env()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1 ||
		stderr.Len() > 0) {
		t.Fatalf("git grep %v: %v\n%s", arguments, err, stderr.String())
	}
	newlines := map[string]int{} // of the files with empty lines
	for len(out) > 0 {
		fields := bytes.SplitN(out, []byte{0}, 4) // a name may have a newline
		if len(fields) != 4 {
			t.Fatalf("git grep wrote %q", out)
		}
		text, rest, _ := bytes.Cut(fields[3], []byte{'\n'})
		out = rest
		path := strings.TrimPrefix(string(fields[0]), commit+":")
		// For "^$" git also counts an empty line after the final newline, where its
		// look-ahead finds one. GNU grep does not.
		if len(text) == 0 {
			if _, ok := newlines[path]; !ok {
				newlines[path] = bytes.Count(blob(t, dir, commit, path), []byte{'\n'})
			}
			if string(fields[1]) == strconv.Itoa(newlines[path]+1) {
				continue
			}
		}
		answer.places = append(answer.places, fmt.Sprintf("%s:%s:%s", path, fields[1], fields[2]))
		answer.lines = append(answer.lines, string(text))
	}
	return answer
}

func blob(t testing.TB, dir, commit, path string) []byte {
	t.Helper()
	cmd := exec.Command("git", "cat-file", "blob", commit+":"+path)
	cmd.Dir, cmd.Env = dir, gittest.Env()
	content, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// agree compares a search of one commit with git's, and returns the lines found.
func (b *bench) agree(s *search.Searcher, dir, name, commit string, q search.Query, arguments ...string) int {
	b.t.Helper()
	q.Repositories.Any = []string{name}
	result, err := s.Search(b.t.Context(), search.Request{Query: q, Ref: commit, Limits: unlimited})
	if err != nil {
		b.t.Fatal(err)
	}
	return b.isGits(result, dir, name, commit, arguments...)
}

func (b *bench) isGits(result *search.Result, dir, name, commit string, arguments ...string) int {
	b.t.Helper()
	want := b.gitGrep(dir, commit, arguments...)
	got := summary(result)
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], name+":")
	}
	if !slices.Equal(got, want.places) {
		b.t.Fatalf("%s %v:\n got %q\nwant %q", name, arguments, got, want.places)
	}
	n := 0
	for _, f := range result.Files {
		for _, l := range f.Lines {
			stored := strings.TrimSuffix(want.lines[n], "\r")
			if l.Before == 0 && l.After == 0 && !l.Escaped && l.Text != stored || l.Before+l.After > len(stored) {
				b.t.Errorf("%s:%d: %q, git has %q", f.Path, l.Number, l.Text, stored)
			}
			n++
		}
	}
	return n
}

// patterns are written the same for RE2 and for the regular expressions of git.
var patterns = []struct {
	text      string
	regexp    bool
	arguments []string
	c         pattern.Case
}{
	{"a", false, []string{"-F", "-e", "a"}, pattern.Sensitive},
	{"needle", false, []string{"-F", "-e", "needle"}, pattern.Sensitive},
	{"NEEDLE", false, []string{"-F", "-i", "-e", "NEEDLE"}, pattern.Insensitive},
	{"task", false, []string{"-F", "-i", "-e", "task"}, pattern.Insensitive},
	{"a.b", false, []string{"-F", "-e", "a.b"}, pattern.Sensitive},
	{"absent in all", false, []string{"-F", "-e", "absent in all"}, pattern.Sensitive},
	{"a.b", true, []string{"-E", "-e", "a.b"}, pattern.Sensitive},
	{"^needle", true, []string{"-E", "-e", "^needle"}, pattern.Sensitive},
	{"(hay|need)[a-z]+ *$", true, []string{"-E", "-e", "(hay|need)[a-z]+ *$"}, pattern.Sensitive},
	{"^$", true, []string{"-E", "-e", "^$"}, pattern.Sensitive},
	{"[^a-z]+", true, []string{"-E", "-e", "[^a-z]+"}, pattern.Sensitive},
	{"x{2,3}", true, []string{"-E", "-e", "x{2,3}"}, pattern.Sensitive},
	{"ne+dle (a|b)", true, []string{"-E", "-i", "-e", "ne+dle (a|b)"}, pattern.Insensitive},
	{"[0-9]+_[a-z]", true, []string{"-E", "-e", "[0-9]+_[a-z]"}, pattern.Sensitive},
	{`\bhay\b`, true, []string{"-P", "-e", `\bhay\b`}, pattern.Sensitive},
	{`\w+\s\d`, true, []string{"-P", "-e", `\w+\s\d`}, pattern.Sensitive},
	{`(?i)need\S*`, true, []string{"-P", "-e", `(?i)need\S*`}, pattern.Sensitive},
}

// randomFiles has what a content can be like.
func randomFiles(r *rand.Rand) []gittest.File {
	pieces := []string{"needle", "Needle", "NEEDLE a", "hay", "hayneed", "a.b", "aXb", "a", " ", "  ", "\t", "xx",
		"12_a", "task", "TASK", "é", "日本", "3", "_", "$", "^"}
	ends := []string{"\n", "\n", "\n", "\r\n", "\n\n", ""}
	var files []gittest.File
	folders := []string{"", "dir/", "dir/inner/", "dir-a/", "dir.b/", "z/", "é/"}
	for i := range 12 + r.IntN(30) {
		var b strings.Builder
		for range r.IntN(12) {
			for range r.IntN(6) {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
			b.WriteString(ends[r.IntN(len(ends))])
		}
		content := b.String()
		switch r.IntN(14) {
		case 0:
			content = "needle\x00" + content
		case 1:
			content = strings.Repeat("x", 7990+r.IntN(20)) + "\x00needle a\n" + content
		case 2:
			content = strings.Repeat("hay needle ", 300+r.IntN(300)) + content
		case 3:
			content += "\xff\xfeneedle \x80 a.b\n"
		case 4:
			content = ""
		}
		path := fmt.Sprintf("%sfile%02d", folders[r.IntN(len(folders))], i)
		switch r.IntN(15) {
		case 0:
			files = append(files, gittest.Symlink(path, "needle"))
		case 1:
			files = append(files, gittest.Gitlink(path, strings.Repeat("a1", 20)))
		case 2:
			files = append(files, gittest.Executable(path, content))
		default:
			files = append(files, gittest.Regular(path, content))
		}
	}
	return files
}

func TestAgreesWithGitGrep(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	b := newBench(t, root, search.Options{})
	cases, found := 0, 0
	for range gittest.Sample(gittest.Volume(3, 100)) {
		commit := repo.Commit("main", randomFiles(r)...)
		for _, p := range patterns {
			q := search.Query{Terms: []pattern.Term{{Text: p.text, Regexp: p.regexp}}, Case: p.c}
			// Here with cached answers of earlier commits.
			found += b.agree(b.Searcher, repo.Dir, "repo", commit, q, p.arguments...)
			found += b.agree(b.fresh(), repo.Dir, "repo", commit, q, p.arguments...)
			cases += 2
		}
	}
	if cases < gittest.Sample(100) || found < gittest.Sample(2000) {
		t.Errorf("only %d cases with %d lines", cases, found)
	}
}

func TestAgreesWithGitGrepOnTheSampleMirrors(t *testing.T) {
	root := filepath.Join("..", "..", "testrepos")
	b := newBench(t, root, search.Options{})
	cases, found := 0, 0
	for _, name := range b.catalogue.Names() {
		dir := filepath.Join(root, name+".git")
		if _, err := os.Stat(dir); err != nil {
			dir = filepath.Join(root, name)
		}
		cmd := exec.Command("git", "rev-parse", "HEAD^{commit}")
		cmd.Dir, cmd.Env = dir, gittest.Env()
		head, err := cmd.Output()
		if err != nil {
			continue // it is empty
		}
		for _, text := range []string{"a", "the", "e", "[a-z]+[0-9]", "^.", "o *$"} {
			cases++
			found += b.agree(b.Searcher, dir, name, strings.TrimSpace(string(head)), expression(text), "-E", "-e",
				text)
		}
	}
	if cases < 60 || found < 500 {
		t.Errorf("only %d cases with %d lines", cases, found)
	}
}
