package filenames_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/base/filenames"
	"github.com/repomcp/repomcp/internal/gittest"
)

// Every name that the real git refuses to add to an index, since some system takes it for .git, is refused. Git
// looks at the parts between backslashes by itself.
func TestNamesThatGitRefusesStandForGit(t *testing.T) {
	gittest.Long(t)
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
				if err == nil {
					continue
				}
				refused++
				if !slices.ContainsFunc(strings.Split(name, `\`), filenames.StandsForGit) {
					t.Errorf("%q does not stand for .git, and git refuses it: %v", name, err)
				}
			}
		}
	}
	if refused < 20 {
		t.Errorf("git refused %d names", refused)
	}
}
