package gittest_test

import (
	"bytes"
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
