package gittest_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestCommitKeepsEveryByteOfPathsAndContents(t *testing.T) {
	repo := gittest.New(t)
	first := repo.Commit("main",
		gittest.Regular("a \"q\"\\\n\xff.txt", "one\n"),
		gittest.Executable("bin/run", "#!/bin/sh\n"),
		gittest.Symlink("link", "../../etc/passwd"),
		gittest.Gitlink("sub", "1234567890123456789012345678901234567890"),
	)
	second := repo.Commit("main", gittest.Regular("b", ""))
	if parent := repo.Git("rev-parse", second+"^"); parent != first {
		t.Errorf("parent of the second commit is %s, want %s", parent, first)
	}
	entries := gittest.ReadTar(t, bytes.NewReader(repo.Archive("--format=tar", first)))
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	want := []string{"pax_global_header", "a \"q\"\\\n\xff.txt", "bin/", "bin/run", "link", "sub/"}
	if len(names) != len(want) {
		t.Fatalf("entries %q, want %q", names, want)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Errorf("entry %d is %q, want %q", i, names[i], want[i])
		}
	}
}

// TestStoreIsHashObject has git read what was written without it.
func TestStoreIsHashObject(t *testing.T) {
	repo := gittest.New(t)
	for kind, content := range map[string]string{
		"blob": "content\n", "commit": "broken", "tag": "", "tree": "100644 a\x00" + strings.Repeat("x", 20),
	} {
		id := repo.Store(kind, content)
		if want := repo.GitInput([]byte(content), "hash-object", "-t", kind, "--stdin", "--literally"); id != want {
			t.Errorf("%s %q: %s, want %s", kind, content, id, want)
		}
		if got := repo.Git("cat-file", "-t", id); got != kind {
			t.Errorf("%s: git says %s", id, got)
		}
	}
	repo.SetRef("refs/tags/v1", repo.Store("blob", "content\n"))
	if got := repo.Git("cat-file", "blob", "v1"); got != "content" {
		t.Errorf("the ref holds %q", got)
	}
}
