package spelling_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/tools/spelling"
)

// TestVersionsAreInTheOrderOfGit compares the order of random names with that of git tag.
func TestVersionsAreInTheOrderOfGit(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	commit := repo.Commit("main", gittest.Regular("a", "1"))
	r := rand.New(rand.NewPCG(1, 2))
	names := map[string]bool{"v1.00": true, "v1.001": true, "v1.01a": true, "v1.012": true}
	for len(names) < 500 {
		name := make([]byte, 1+r.IntN(6))
		for i := range name {
			name[i] = "0001129.a"[r.IntN(9)]
		}
		if text := "v" + string(name); !strings.Contains(text, "..") && !strings.HasSuffix(text, ".") {
			names[text] = true
		}
	}
	var refs strings.Builder
	list := make([]string, 0, len(names))
	for name := range names {
		refs.WriteString("create refs/tags/" + name + " " + commit + "\n")
		list = append(list, name)
	}
	repo.GitInput([]byte(refs.String()), "update-ref", "--stdin")
	slices.Sort(list)
	slices.SortStableFunc(list, spelling.CompareVersions)
	want := strings.Split(repo.Git("-c", "versionsort.suffix=-", "tag", "--sort=version:refname"), "\n")
	for i := range want {
		if list[i] != want[i] {
			t.Fatalf("%d of %d: %s, and git has %s", i, len(want), list[max(i-3, 0):i+1], want[max(i-3, 0):i+1])
		}
	}
}
