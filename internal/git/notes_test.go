package git_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestNotesAreThoseOfGit has few notes, which git keeps in one folder, and many,
// which it spreads.
func TestNotesAreThoseOfGit(t *testing.T) {
	gittest.Long(t)
	const notes = "refs/notes/signatures/tar"
	repo, take := one(t)
	repo.Commit("main", gittest.Regular("a", "1"))
	var ids []string
	for i := range 120 {
		ids = append(ids, repo.GitInput(fmt.Append(nil, i), "hash-object", "-w", "--stdin"))
		if i != 0 {
			repo.Git("notes", "--ref="+notes, "add", "-m", "note of "+ids[i], ids[i])
		}
		if i == 3 {
			compareNotes(t, take(), notes, ids)
		}
	}
	spread := repo.Git("ls-tree", "-d", notes)
	if spread == "" {
		t.Error("git has not spread the notes over folders")
	}
	compareNotes(t, take(), notes, ids)
	if _, err := take().Note("refs/notes/others", git.ID{1}); !errors.Is(err, git.ErrNotFound) {
		t.Errorf("no such notes: %v", err)
	}
}

// compareNotes expects a note of each object but the first.
func compareNotes(t *testing.T, s *git.Snapshot, notes string, ids []string) {
	t.Helper()
	for i, hex := range ids {
		id, err := git.ParseID(hex)
		if err != nil {
			t.Fatal(err)
		}
		note, err := s.Note(notes, id)
		if i == 0 && !errors.Is(err, git.ErrNotFound) || i > 0 && (err != nil || string(note) != "note of "+hex+
			"\n") {
			t.Errorf("note %d of %d: %q, %v", i, len(ids), note, err)
		}
	}
}
