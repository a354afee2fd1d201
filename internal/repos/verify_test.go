package repos_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

func TestVerifyNamesDamagedRepositoriesOnly(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"sound", "damaged", "empty"} {
		repo := gittest.At(t, filepath.Join(root, name+".git"))
		if name == "empty" {
			continue
		}
		repo.Commit("main", gittest.Regular("a", gittest.Noise(100_000)))
		repo.Git("repack", "-adq")
	}
	packs, err := filepath.Glob(filepath.Join(root, "damaged.git/objects/pack/*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	content, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.Chmod(packs[0], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(packs[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	catalogue := repostest.Open(t, root, repos.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	catalogue.Verify(t.Context())
	if text := log.String(); strings.Count(text, "run git fsck") != 1 ||
		!strings.Contains(text, "repository=damaged") || !strings.Contains(text, "damaged=1") {
		t.Errorf("the log says %s", text)
	}
}

// Verify finds what no request has noticed.
func TestVerifyComparesCommitGraphs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"sound", "lying"} {
		repo := gittest.At(t, filepath.Join(root, name+".git"))
		for i := range 4 {
			repo.Commit("main", gittest.Regular("a", strings.Repeat("a", i)))
		}
		repo.Git("repack", "-adq")
		repo.WriteCommitGraph(1)
		if name == "lying" {
			repo.ChangeCommitGraph(repo.Git("rev-parse", "main~2"), gittest.GraphTree, strings.Repeat("12", 20))
		}
	}
	var log strings.Builder
	catalogue := repostest.Open(t, root, repos.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	catalogue.Verify(t.Context())
	if text := log.String(); !strings.Contains(text, "repository=lying") || !strings.Contains(text, "damaged=1") ||
		strings.Contains(text, "repository=sound") {
		t.Errorf("the log says %s", text)
	}
	if repostest.Snapshot(t, catalogue, "lying").CommitGraph() != nil || repostest.Snapshot(t, catalogue, "sound").CommitGraph() == nil {
		t.Error("the wrong graph is used")
	}
}
