package git_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// The real git refuses to add exactly these names to an index.
func TestIsDotGitAgreesWithGit(t *testing.T) {
	t.Parallel()
	repo := gittest.At(t, t.TempDir()+"/r.git")
	repo.Commit("main", gittest.Regular("a", "1"))
	blob := repo.Git("rev-parse", "main:a")
	refused := 0
	for _, base := range []string{".git", "git~1", "git", ".gi", "git~2", ".gitt", "git~11", "a.git", ".gitmodules"} {
		for _, suffix := range []string{"", " ", ".", " . .", "::$INDEX_ALLOCATION", ":x", " .:x", ". x", "x", `\a`, `.\a`, `x\.git`, "\t", "~1"} {
			for _, name := range []string{base + suffix, strings.ToUpper(base) + suffix} {
				add := exec.CommandContext(t.Context(), "git", "--git-dir", repo.Dir, "update-index", "--add",
					"--cacheinfo", "100644,"+blob+","+name+"/f")
				add.Env = append(gittest.Env(), "GIT_INDEX_FILE="+filepath.Join(t.TempDir(), "index"))
				err := add.Run()
				if got := git.IsDotGit(name); got != (err != nil) {
					t.Errorf("%q: %t, git says %v", name, got, err)
				}
				if err != nil {
					refused++
				}
			}
		}
	}
	if refused < 20 {
		t.Errorf("git refused %d names", refused)
	}
}
