package history

import (
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestContainingIsThatOfGit(t *testing.T) {
	gittest.Long(t)
	yes, no := 0, 0
	for seed := range uint64(gittest.Volume(8, 100)) {
		repo, commits := crossed(t, seed, 60, seed%2 == 0)
		snapshot := open(t, repo.Dir)
		ids := make([]git.ID, len(commits))
		for i, hex := range commits {
			ids[i] = id(t, hex)
		}
		for range 10 {
			wanted := commits[newRand(seed+uint64(yes)).IntN(len(commits))]
			got, err := Containing(t.Context(), snapshot, nil, id(t, wanted), ids)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Fields(repo.Git("for-each-ref", "--contains="+wanted, "--format=%(objectname)"))
			for i, hex := range commits {
				if got[i] != slices.Contains(want, hex) {
					t.Fatalf("seed %d: %s leads to %s: %v", seed, hex, wanted, got[i])
				}
				if got[i] {
					yes++
				} else {
					no++
				}
			}
		}
	}
	if yes < 500 || no < 500 {
		t.Errorf("%d commits led to the wanted one, %d did not", yes, no)
	}
}
