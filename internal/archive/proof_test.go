package archive_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

var errFull = errors.New("no room")

// narrow fails once so many bytes were written.
type narrow struct{ room int }

func (w *narrow) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestProofsEndWithTheirArchive breaks archives of large files off at several places,
// and looks at whether a file stays open.
func TestProofsEndWithTheirArchive(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	const size = 4<<20 + 3*archive.ProofSlice + 5
	var files []gittest.File
	for i, name := range []string{"a", "b", "c"} {
		files = append(files, gittest.Regular(name, gittest.SeededNoise(uint64(i+1), size)))
	}
	repo.Commit("main", files...)
	name := strings.TrimSuffix(filepath.Base(repo.Dir), ".git")
	engine, err := sharedEngine()
	if err != nil {
		t.Fatal(err)
	}
	const all = 1 << 40
	for _, room := range []int{0, 1000, size / 2, size + 3000, 2*size + 1<<20, all} {
		// A catalogue each: nothing is remembered as compared.
		catalogue := repostest.Open(t, filepath.Dir(repo.Dir), repos.Options{})
		snapshot := repostest.Snapshot(t, catalogue, name)
		commit, err := snapshot.ResolveTreeish(t.Context(), "main")
		if err != nil {
			t.Fatal(err)
		}
		plan, err := engine.Plan(t.Context(), snapshot, commit, archive.Options{Format: archive.Tar})
		if err != nil {
			t.Fatal(err)
		}
		var want error
		if room != all {
			want = errFull
		}
		if err := plan.WriteTo(t.Context(), &narrow{room}); !errors.Is(err, want) {
			t.Errorf("an archive with room for %d bytes ended with %v, want %v", room, err, want)
		}
		if err := snapshot.Close(); err != nil {
			t.Error(err)
		}
		if open := catalogue.Usage().Snapshots; open != 0 {
			t.Errorf("an archive with room for %d bytes left a file open", room)
		}
	}
}
