package gittest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Crowd makes many bare mirrors below root, all with the same history: a pack,
// packed refs, and one loose branch, in groups of a hundred. The packs are one
// file with many names, so that ten thousand take seconds. It returns the names
// of the repositories without .git.
func Crowd(t testing.TB, root string, count int) []string {
	t.Helper()
	pattern := At(t, filepath.Join(t.TempDir(), "pattern.git"))
	for i := range 20 {
		pattern.Commit("main", Regular("README.md", fmt.Sprintf("version %d\n", i)),
			Regular("src/main.go", "package main\n"))
	}
	pattern.Git("branch", "feature/one", "main~3")
	pattern.Git("tag", "v1.0", "main~2")
	pattern.Git("gc", "--quiet", "--prune=now")
	pattern.SetRef("refs/heads/feature/two", pattern.Git("rev-parse", "main~1"))
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("group-%02d/team-%d/project-%05d", i/100, i%7, i)
		if err := LinkTree(pattern.Dir, filepath.Join(root, names[i]+".git")); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// LinkTree copies folders, and gives their files one more name each. The files must not be written
// afterwards.
func LinkTree(from, to string) error {
	if err := os.MkdirAll(to, 0o750); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	for _, entry := range entries {
		source, target := filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())
		if entry.IsDir() {
			err = errors.Join(err, LinkTree(source, target))
		} else {
			err = errors.Join(err, os.Link(source, target))
		}
	}
	return err
}
