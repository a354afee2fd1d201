package archive_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// extract unpacks a tar with the tar command.
func extract(t *testing.T, archived []byte, flags ...string) *gittest.Repo {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "checkout")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "tar", append(flags, "-xf", "-", "-C", dir)...)
	cmd.Stdin = bytes.NewReader(archived)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	return gittest.Existing(t, dir)
}

// checkClean asks git about a checkout.
func checkClean(t *testing.T, name string, repo *gittest.Repo) {
	t.Helper()
	for _, command := range [][]string{
		{"status", "--porcelain"}, {"fsck", "--strict", "--no-progress"}, {"update-index", "--really-refresh"},
		{"status", "--porcelain"}, {"diff", "--stat", "HEAD"},
	} {
		if out := repo.Git(command...); out != "" {
			t.Errorf("%s: git %q says %s", name, command, out)
		}
	}
}

func TestCheckoutsAreCleanClones(t *testing.T) {
	t.Parallel()
	for name, files := range trees() {
		repo := gittest.New(t)
		repo.Commit("main", gittest.Regular("before", "1"))
		commit := repo.Commit("main", files...)
		for _, objects := range []archive.Objects{archive.ObjectsAll, archive.ObjectsBlobless} {
			p := plan(t, repo, "main", archive.Options{Format: archive.Tar, Profile: archive.ProfileCheckout,
				Objects: objects, Ref: "HEAD:refs/heads/main", Origin: "https://git.example/a.git"})
			clone := extract(t, write(t, p))
			if got := clone.Git("rev-parse", "HEAD"); got != commit {
				t.Errorf("%s: HEAD is %s, want %s", name, got, commit)
			}
			checkClean(t, name, clone)
		}
	}
}
