package tools_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// heads are the branches of a repository.
func heads(t *testing.T, repository string) []string {
	t.Helper()
	return strings.Fields(git(t, repository, "for-each-ref", "--format=%(refname)", "refs/heads"))
}

// logged follows a log by its cursors, and gives its lines of data.
func (s *site) logged(arguments args) []string {
	s.t.Helper()
	var all []string
	for {
		r := s.call("list_commits", arguments)
		if r.failed {
			s.t.Fatalf("%v: %s", arguments, r.text)
		}
		for _, item := range r.data["commits"].([]any) {
			c := item.(map[string]any)
			all = append(all, fmt.Sprint(c["sha"], " ", c["date"], " ", c["author"], ": ", c["subject"]))
			name, _, _ := strings.Cut(c["author"].(string), " <")
			l := fmt.Sprint(c["sha"].(string)[:12], " ", c["date"], " ", name, ": ",
				strings.ReplaceAll(c["subject"].(string), "\t", " "))
			if !strings.Contains(strings.ReplaceAll(r.content+r.text, " (merge)", ""), l) &&
				arguments["follow"] == nil {
				s.t.Errorf("%q is not in the text:\n%s", l, r.text)
			}
		}
		if r.data["nextCursor"] == nil {
			return all
		}
		if !strings.Contains(r.text, "cursor="+r.data["nextCursor"].(string)) {
			s.t.Errorf("the text does not say how to go on: %s", r.text)
		}
		arguments["cursor"] = r.data["nextCursor"]
	}
}

// zulu writes times in UTC as RFC 3339 and newer versions of git do.
func zulu(text string) string { return strings.ReplaceAll(text, "+00:00", "Z") }

func TestLogsAreThoseOfGit(t *testing.T) {
	gittest.Long(t)
	s := open(t, samples)
	commits := 0
	for _, repository := range sampled {
		for _, ref := range heads(t, repository) {
			for _, c := range []struct {
				arguments args
				options   []string
			}{
				{args{"perPage": 7}, nil},
				{args{"perPage": 5, "first_parent": true}, []string{"--first-parent"}},
				{args{"path": "README.md"}, []string{"--", "README.md"}},
				{args{"author": "THOR", "since": "2023-11-15T00:00:00Z"},
					[]string{"-i", "--author=THOR", "--since=2023-11-15T00:00:00Z"}},
				{args{"until": "2023-11-14"}, []string{"--until=2023-11-14T23:59:59Z"}},
			} {
				c.arguments["repo"], c.arguments["ref"] = repository, ref
				got := s.logged(c.arguments)
				command := append([]string{"log", "--encoding=UTF-8", "--format=%H %cI %an <%ae>: %s", ref},
					c.options...)
				want := strings.Split(strings.TrimSuffix(zulu(git(t, repository, command...)), "\n"), "\n")
				want = slices.DeleteFunc(want, func(line string) bool { return line == "" })
				if !slices.Equal(got, want) {
					t.Errorf("%s %v:\n%q\nwant\n%q", repository, c.arguments, got, want)
				}
				commits += len(want)
			}
		}
	}
	if commits < 400 {
		t.Errorf("only %d commits were compared", commits)
	}
}

// Pages and cursors are parts of the same list.
func TestLogGoesOnByPageOrCursor(t *testing.T) {
	s := open(t, samples)
	whole := s.logged(args{"repo": "history"})
	var paged []string
	for page := 1; ; page++ {
		r := s.call("list_commits", args{"repo": "history", "perPage": 6, "page": page})
		for _, item := range r.data["commits"].([]any) {
			paged = append(paged, item.(map[string]any)["sha"].(string))
		}
		if r.data["nextCursor"] == nil {
			break
		}
	}
	if len(paged) != len(whole) {
		t.Fatalf("%d commits by page, %d by cursor", len(paged), len(whole))
	}
	for i, id := range paged {
		if !strings.HasPrefix(whole[i], id) {
			t.Errorf("commit %d is %s, want %s", i, id, whole[i])
		}
	}
}

// patched puts a patch together from its parts.
func (s *site) patched(tool string, arguments args) string {
	s.t.Helper()
	var patch strings.Builder
	for {
		r := s.call(tool, arguments)
		if r.failed {
			s.t.Fatalf("%s %v: %s", tool, arguments, r.text)
		}
		if len(r.content) > maxResult {
			s.t.Errorf("%s %v: %d bytes", tool, arguments, len(r.content))
		}
		shown, next, cut := strings.Cut(r.content, "[Cut here. Go on with patch_line=")
		patch.WriteString(shown)
		if !cut {
			return patch.String()
		}
		next, _, _ = strings.Cut(next, "]")
		line, err := strconv.Atoi(next)
		if err != nil {
			s.t.Fatalf("%s: %v", r.text, err)
		}
		arguments["patch_line"] = line
	}
}

func TestPatchesAreThoseOfGit(t *testing.T) {
	s := open(t, samples)
	commits, lines := 0, 0
	for _, repository := range sampled {
		if repository == "fork" { // has the commits of history
			continue
		}
		for id := range strings.FieldsSeq(git(t, repository, "rev-list", "--all")) {
			// Thousands of the same kind.
			if repository == "large-tree" && git(t, repository, "rev-parse", id+"^@") == "" {
				continue
			}
			got := s.patched("get_commit", args{"repo": repository, "sha": id, "detail": "full_patch"})
			want := git(t, repository, "show", "--format=", "--diff-merges=first-parent", id)
			want = strings.ToValidUTF8(want, "\ufffd")
			header, patch, _ := strings.Cut(got+"\n", "\n\ndiff --git ")
			if want != "" && "diff --git "+patch != want+"\n" || want == "" && strings.Contains(got, "\ndiff ") {
				t.Errorf("%s %s:\n%s\nwant\n%s", repository, id, patch, want)
			}
			if !strings.HasPrefix(header, "commit "+id+"\n") {
				t.Errorf("%s %s begins with %s", repository, id, header)
			}
			commits++
			lines += strings.Count(want, "\n")
		}
	}
	if commits < 75 || lines < 1000 {
		t.Errorf("only %d commits with %d lines were compared", commits, lines)
	}
}

// The message is git's, indented.
func TestMessagesAreThoseOfGit(t *testing.T) {
	s := open(t, samples)
	for id := range strings.FieldsSeq(git(t, "history", "rev-list", "--all")) {
		r := s.call("get_commit", args{"repo": "history", "sha": id, "detail": "none"})
		want := zulu(git(t, "history", "show", "-s", "--encoding=UTF-8",
			"--format=commit %H%ntree %T%n(%P)%nAuthor: %an <%ae>%nAuthorDate: %aI%nCommit: %cn <%ce>%nCommitDate: "+
				"%cI%n%n%w(0,4,4)%B", id))
		head, rest, _ := strings.Cut(want, "(")
		parents, rest, _ := strings.Cut(rest, ")\n")
		for parent := range strings.FieldsSeq(parents) {
			head += "parent " + parent + "\n"
		}
		// Blank lines are not indented.
		want = strings.ReplaceAll(strings.TrimRight(head+rest, "\n "), "\n    \n", "\n\n")
		if strings.TrimRight(r.content, "\n") != want {
			t.Errorf("%s:\n%s\nwant\n%s", id, r.content, want)
		}
	}
}

func TestComparisonsAreThoseOfGit(t *testing.T) {
	gittest.Long(t)
	s := open(t, samples)
	compared := 0
	for _, repository := range []string{"hello", "history", "refs", "trunk"} {
		refs := heads(t, repository)
		for _, base := range refs {
			for _, head := range refs[:min(len(refs), 2)] {
				for _, dots := range []string{"...", ".."} {
					arguments := args{"repo": repository, "base": base, "head": head, "two_dot": dots == ".."}
					if dots == "..." && !related(t, repository, base, head) {
						if r := s.call("compare_commits", arguments); !r.failed ||
							!strings.Contains(r.text, "two_dot=true") {
							t.Errorf("%v: %s", arguments, r.text)
						}
						continue
					}
					r := s.call("compare_commits", arguments)
					counts := strings.Fields(git(t, repository, "rev-list", "--left-right", "--count", base+"..."+head))
					if want := fmt.Sprintf(" ahead of the base and %s behind.", counts[0]); !strings.Contains(r.text,
						"The head is "+counts[1]+" commit") || !strings.Contains(r.text, want) {
						t.Errorf("%v: %s, want %v", arguments, r.text, counts)
					}
					for context, option := range []string{"-U0", "-U1"} {
						arguments["context_lines"], arguments["patch_line"], arguments["detail"] = context, 1,
							"full_patch"
						want := strings.ToValidUTF8(git(t, repository, "diff", option, base+dots+head), "\ufffd")
						if got := s.patched("compare_commits", arguments); got != want {
							t.Errorf("%v:\n%s\nwant\n%s", arguments, got, want)
						}
						compared++
					}
				}
			}
		}
	}
	if compared < 90 {
		t.Errorf("only %d comparisons", compared)
	}
}

func related(t *testing.T, repository, a, b string) bool {
	t.Helper()
	roots := func(ref string) string { return git(t, repository, "rev-list", "--max-parents=0", ref) }
	return roots(a) == roots(b)
}

// The listed files are those of git diff, with the same letters and numbers.
func TestStatsAreThoseOfGit(t *testing.T) {
	s := open(t, samples)
	files := 0
	for id := range strings.FieldsSeq(git(t, "history", "rev-list", "--all")) {
		parents := strings.Fields(git(t, "history", "rev-parse", id+"^@"))
		if len(parents) == 0 {
			continue
		}
		var got, want []string
		for cursor := ""; ; {
			r := s.call("get_commit", args{"repo": "history", "sha": id, "perPage": 3, "cursor": cursor})
			for line := range strings.Lines(r.text) {
				if letter := line[0]; strings.IndexByte("ADMRCT", letter) >= 0 &&
					(strings.Contains(line, " +") || strings.Contains(line, " binary ")) {
					got = append(got, strings.TrimSuffix(line, "\n"))
				}
			}
			if cursor = r.next(); cursor == "" {
				break
			}
		}
		names := strings.Split(strings.TrimSuffix(git(t, "history", "diff", "-z", "--name-status", parents[0], id),
			"\x00"), "\x00")
		counts := strings.Split(git(t, "history", "diff", "--numstat", parents[0], id), "\n")
		for n := 0; len(names) > 1; n++ {
			count := strings.Fields(counts[n])
			change := fmt.Sprintf(" +%s -%s ", count[0], count[1])
			if count[0] == "-" {
				change = " binary "
			}
			if names[0][0] == 'R' {
				score, _ := strconv.Atoi(names[0][1:])
				want = append(want, fmt.Sprintf("R%d%s%s => %s", score, change, names[1], names[2]))
				names = names[3:]
				continue
			}
			want = append(want, names[0]+change+names[1])
			names = names[2:]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
		files += len(want)
	}
	if files < 40 {
		t.Errorf("only %d files", files)
	}
}

func TestBlamesAreThoseOfGit(t *testing.T) {
	s := open(t, samples)
	lines := 0
	for _, repository := range []string{"hello", "history", "fork", "trunk", "loose"} {
		for path := range strings.SplitSeq(strings.TrimSuffix(git(t, repository, "ls-tree", "-r", "-z", "--name-only",
			"HEAD"), "\x00"), "\x00") {
			if strings.HasPrefix(git(t, repository, "ls-tree", "HEAD", "--", ":(literal)"+path), "160000") {
				continue
			}
			porcelain := git(t, repository, "blame", "--line-porcelain", "HEAD", "--", path)
			if porcelain == "" || strings.Contains(porcelain, "\x00") {
				continue
			}
			var want, got []string
			id := ""
			for line := range strings.SplitSeq(porcelain, "\n") {
				if text, isText := strings.CutPrefix(line, "\t"); isText {
					want = append(want, id+" "+strings.TrimSuffix(text, "\r"))
				} else if word, _, _ := strings.Cut(line, " "); len(word) == 40 {
					id = word
				}
			}
			for start := 1; start <= len(want); {
				r := s.call("get_file_blame", args{"repo": repository, "path": path, "start_line": start})
				if r.failed {
					t.Fatalf("%s %s: %s", repository, path, r.text)
				}
				for _, item := range r.data["ranges"].([]any) {
					run := item.(map[string]any)
					if run["start"] != float64(start) {
						t.Errorf("%s %s: a range begins with %v, want %d", repository, path, run["start"], start)
					}
					for _, text := range strs(run["lines"]) {
						got = append(got, run["sha"].(string)+" "+text)
						row := fmt.Sprintf("\n  %d %s\n", start, text)
						if !strings.Contains(r.content, row) ||
							!strings.Contains("\n"+r.content, "\n"+run["sha"].(string)[:12]) {
							t.Errorf("%s %s: the text lacks %q", repository, path, row)
						}
						start++
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s %s:\n%q\nwant\n%q", repository, path, got, want)
			}
			lines += len(want)
		}
	}
	if lines < 150 {
		t.Errorf("only %d lines", lines)
	}
}

// A long patch, a long line in it and a long message are cut, and go on.
func TestLongChangesGoOn(t *testing.T) {
	s, repo := single(t)
	long := strings.Repeat("x", maxResult+5000) + "\n"
	repo.Commit("main", gittest.Regular("a", "1\n"))
	first := repo.Git("rev-parse", "main")
	repo.Commit("main", gittest.Regular("a", strings.Repeat("some line\n", 9000)), gittest.Regular("b", long+"end\n"))
	want := repo.Git("diff", "main~", "main")
	got := s.patched("compare_commits", args{"repo": "one", "base": first, "head": "main", "detail": "full_patch"})
	if a := repo.Git("diff", "main~", "main", "--", "a") + "\n"; s.patched("compare_commits",
		args{"repo": "one", "base": first, "paths": "a", "detail": "full_patch"}) != a {
		t.Error("the parts are not the whole")
	}
	// A line that is too long is cut, with a note.
	if len(got) >= len(want) || !strings.HasSuffix(got, "+end\n") || strings.Count(got, "+some line\n") != 9000 {
		t.Errorf("%d bytes of %d", len(got), len(want))
	}
	r := s.call("get_commit", args{"repo": "one", "detail": "full_patch"})
	if !strings.Contains(r.text, "Truncated after line ") || len(r.links) != 0 ||
		!strings.Contains(r.text, "The whole patch is repo://one/compare/"+first+"..") || len(r.content) > maxResult {
		t.Errorf("%d bytes, %s", len(r.content), r.text)
	}
	r = s.call("compare_commits", args{"repo": "one", "base": first, "head": "main", "paths": []string{"b"},
		"patch_line": 7, "detail": "full_patch"})
	if !strings.Contains(r.text, "Truncated in line 7 of the patch, which is long, in file 1 of 1, b. Go on with "+
		"patch_line=8") {
		t.Errorf("%s", r.text)
	}
	if r = s.call("get_commit", args{"repo": "one", "patch_line": 5}); !strings.HasPrefix(r.content, "commit ") {
		t.Errorf("only a patch goes on: %s", r.content)
	}
	tree := repo.Git("rev-parse", "main^{tree}")
	message := repo.Git("commit-tree", "-m", strings.Repeat("a\n\n", 16_666)+"ab", tree)
	repo.SetRef("refs/heads/wordy", message)
	r = s.call("get_commit", args{"repo": "one", "ref": "wordy"})
	if !strings.Contains(r.text, "The message has 50001 bytes; only its beginning is shown.") ||
		len(r.content) > maxResult*2/3 {
		t.Errorf("%d bytes: %s", len(r.content), r.text)
	}
}

// A log whose lines are long has a cursor of the last line that is shown.
func TestLongLogsGoOn(t *testing.T) {
	s, repo := single(t)
	tree, parent := repo.Store("tree", ""), ""
	for i := range 40 {
		arguments := []string{"commit-tree", "-m", fmt.Sprint(i, strings.Repeat(" word", 700)), tree}
		if parent != "" {
			arguments = append(arguments, "-p", parent)
		}
		parent = repo.Git(arguments...)
	}
	repo.SetRef("refs/heads/main", parent)
	if got := s.logged(args{"repo": "one"}); len(got) != 40 {
		t.Errorf("%d commits", len(got))
	}
	if r := s.call("list_commits", args{"repo": "one"}); len(r.text) > maxResult+1000 || r.data["nextCursor"] == nil {
		t.Errorf("%d bytes", len(r.text))
	}
}

func TestAnEmptyFileHasNoBlame(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("nothing", ""))
	if r := s.call("get_file_blame", args{"repo": "one", "path": "nothing"}); !r.failed ||
		r.text != "nothing is empty." {
		t.Errorf("%+v", r)
	}
}

// single is a site with one empty repository, called one.
func single(t *testing.T) (*site, *gittest.Repo) {
	t.Helper()
	root := t.TempDir()
	repo := gittest.At(t, root+"/one.git")
	return open(t, root), repo
}
