package git

import (
	"errors"
	"fmt"
)

const (
	// maxNoteBytes bounds a note: detached signatures have a kilobyte.
	maxNoteBytes = 64 << 10
	// maxFanout is how many folders deep git spreads many notes: one for each
	// byte of an id but the last.
	maxFanout = 19
)

// Note reads the note about an object in a notes ref such as refs/notes/commits (git-notes(1)). It
// is [ErrNotFound] if there is no note.
func (s *Snapshot) Note(notes string, id ID) ([]byte, error) {
	ref, err := s.Ref(notes)
	if err != nil {
		return nil, err
	}
	commit, err := s.Commit(ref.Commit)
	if err != nil {
		return nil, MustExist(ref.Commit, err)
	}
	tree, rest := commit.Tree, id.String()
	for range maxFanout {
		entries, err := s.Tree(tree)
		if err != nil {
			return nil, MustExist(tree, err)
		}
		if entry, err := find(entries, rest); err == nil && entry.Mode.IsRegular() {
			content, err := s.ReadBlob(entry.ID, maxNoteBytes, nil)
			return content, MustExist(entry.ID, err)
		}
		folder, err := find(entries, rest[:2])
		if err != nil || !folder.Mode.IsDir() {
			return nil, fmt.Errorf("note: %w", errors.Join(ErrNotFound, err))
		}
		tree, rest = folder.ID, rest[2:]
	}
	return nil, fmt.Errorf("note: %w", ErrNotFound)
}
