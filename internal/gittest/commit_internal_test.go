package gittest

import (
	"fmt"
	"strings"
	"testing"
)

// TestCommitIsThatOfFastImport compares ids and what git finds in a repository with what
// git makes itself.
func TestCommitIsThatOfFastImport(t *testing.T) {
	Long(t)
	gitlink := strings.Repeat("0123456789", 4)
	loosely := 0
	for name, files := range map[string][]File{
		"nothing": nil,
		"one":     {Regular("a", "1")},
		"order": {Regular("a.b", ""), Regular("a/b", "x"), Regular("a0", ""), Regular("a-b/c/d", "1"),
			Executable("a/a", "x"), Regular("B", "")},
		"odd names": {Regular("new\nline", "1"), Regular("\xff\xfe/x", "2"), Regular("\"q\" ", "3"),
			Symlink("s", "a\nb"), Gitlink("d/g", gitlink)},
		"twice":         {Regular("a", "1"), Regular("a", "2")},
		"file, folder":  {Regular("a", "1"), Regular("a/b", "2")},
		"folder, file":  {Regular("a/b", "2"), Regular("a", "1")},
		"much":          {Regular("a", strings.Repeat("x", looseBytes+1))},
		"short mode":    {{"a", "644", "1"}},
		"as many loose": many(looseObjects - 2),
		"many":          many(looseObjects),
	} {
		imported, made := New(t), New(t)
		for _, branch := range []string{"main", "main", "other/x"} {
			message, date := "commit of "+branch+"\n", firstCommitTime+imported.commits
			imported.commits++
			want := imported.fastImport("refs/heads/"+branch, message, date, files)
			got, ok := made.commitLoosely("refs/heads/"+branch, message, date, files)
			if !ok {
				got = made.fastImport("refs/heads/"+branch, message, date, files)
			} else {
				loosely++
			}
			made.heads["refs/heads/"+branch] = got
			if got != want {
				t.Errorf("%s: %s, git makes %s", name, got, want)
			}
		}
		for _, question := range []string{"fsck --strict", "for-each-ref", "rev-list --all --objects"} {
			if got, want := made.Git(strings.Fields(question)...), imported.Git(
				strings.Fields(question)...); got != want {
				t.Errorf("%s: %s: %s, want %s", name, question, got, want)
			}
		}
		got, _, _ := strings.Cut(made.Git("count-objects"), ",")
		if want, _, _ := strings.Cut(imported.Git("count-objects"), ","); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if loosely != 3*5 {
		t.Errorf("%d commits were made without git", loosely)
	}
}

func many(n int) (files []File) {
	for i := range n {
		files = append(files, Regular(fmt.Sprint(i), fmt.Sprint(i)))
	}
	return files
}
