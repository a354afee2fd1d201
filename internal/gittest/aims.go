package gittest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Aims are the commits that attacks are about in the repositories of [BuildAims].
type Aims struct {
	Head        string // of hello's main
	Unreachable string // a commit of hello that no ref leads to
	Kept        string // a commit of hello that only a hidden ref leads to
	Ambiguous   string // four digits that several commits of many begin with
}

// BuildAims makes the repositories hello, team/app, café, empty and many below root. hello
// has files with odd names, commits that may not be served, and refs that lead nowhere.
func BuildAims(t *testing.T, root string) (a Aims) {
	t.Helper()
	hello := At(t, filepath.Join(root, "hello.git"))
	files := []File{
		Regular("README.md", "hello\n"), Regular("empty", ""),
		Regular("data.json", `{"jsonrpc":"2.0","id":1,"result":{}}`),
		Regular("page.html", "<!doctype html><script>alert(1)</script>\n"),
		Regular("dir/deep.txt", "deep\n"), Symlink("passwd", "/etc/passwd"),
		Regular("what?#.txt", "x"),
	}
	a.Unreachable = hello.Commit("secret", append(slices.Clone(files), Regular("password", "hunter2"))...)
	hello.Git("update-ref", "-d", "refs/heads/secret")
	a.Kept = hello.Commit("kept", append(slices.Clone(files), Regular("password", "hunter3"))...)
	hello.Git("update-ref", "refs/keep-around/"+a.Kept, a.Kept)
	hello.Git("update-ref", "-d", "refs/heads/kept")
	a.Head = hello.Commit("main", files...)
	hello.Git("update-ref", "refs/heads/"+strings.Repeat("ab", 20), a.Head)
	for name, content := range map[string]string{
		"loop-a": "ref: refs/heads/loop-b\n", "loop-b": "ref: refs/heads/loop-a\n",
		"outside": "ref: /etc/passwd\n", "above": "ref: refs/heads/../../config\n",
	} {
		if err := os.WriteFile(filepath.Join(hello.Dir, "refs/heads", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	At(t, filepath.Join(root, "team/app.git")).Commit("main", Regular("app", "app\n"))
	At(t, filepath.Join(root, "caf\u00e9.git")).Commit("main", Regular("composed", "x"))
	At(t, filepath.Join(root, "empty.git"))
	a.Ambiguous = manyCommits(t, At(t, filepath.Join(root, "many.git")))
	return a
}

// manyCommits makes enough commits that two ids begin with the same four
// digits, and returns those.
func manyCommits(t *testing.T, repo *Repo) string {
	t.Helper()
	var in strings.Builder
	for i := range 900 {
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter A U Thor <author@example.com> %d +0000\ndata 1\nx\n",
			1_700_000_000+i)
	}
	repo.GitInput([]byte(in.String()), "fast-import", "--quiet")
	seen := make(map[string]bool)
	for id := range strings.FieldsSeq(repo.Git("rev-list", "main")) {
		if seen[id[:4]] {
			return id[:4]
		}
		seen[id[:4]] = true
	}
	t.Fatal("no two commits share four digits")
	return ""
}

// innards are words of Go, of the file system and of the code, which tell an
// attacker much and a user nothing.
var innards = []string{"json:", "strconv", "runtime", "panic", ".go:", "cannot unmarshal", "base64", "illegal",
	"openat", "no such file", "mcp-go", "goroutine", "0xc0"}

// CheckLeaks fails the test when the reply of a server shows the folder of its mirrors, or
// words of its implementation.
func CheckLeaks(t testing.TB, root, reply string) {
	t.Helper()
	for _, word := range append([]string{root, filepath.Dir(root)}, innards...) {
		if strings.Contains(reply, word) {
			t.Errorf("the reply shows %q: %.600s", word, reply)
		}
	}
}
