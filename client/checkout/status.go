package checkout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The states of a file, in a [Status].
const (
	FileKept      = "kept"      // the commit has another version than the user's
	FileMine      = "mine"      // the same, and Options.Mine wants it so
	FilePostponed = "postponed" // the version of the commit comes with the next run
	FileSkipped   = "skipped"   // a link of the commit that leads outside
	FileEdited    = "edited"    // since the last run
	FileMissing   = "missing"   // likewise
)

// Status is what a folder has, as far as that is known without a server.
type Status struct {
	Followed
	// Commit is the folder's commit; "" during a run, and after an interrupted one.
	Commit string    `json:"commit"`
	Synced time.Time `json:"synced"` // the end of the last run with changes
	// Interrupted says that a run is in progress, or was interrupted.
	Interrupted bool `json:"interrupted"`
	// Files are those that differ from the commit, in the order of their paths; at most 1,000.
	Files []File `json:"files"`
	// FileCount is the number of these files.
	FileCount int `json:"fileCount"`
}

// File is a file that differs from the commit.
type File struct {
	Path  string `json:"path"`
	State string `json:"state"`
}

// StatusOf examines a synced folder. It compares files with the notes of the last run, and reads
// those whose times are inconclusive. A run may be in progress.
func StatusOf(dir string) (Status, error) {
	f := &folder{options: Options{Dir: dir}, state: filepath.Join(dir, stateFolder)}
	s, err := f.readState()
	if err != nil {
		return Status{}, err
	}
	defer s.close()
	_, journal := os.Lstat(f.path(journalName))
	if s.file == nil && isAbsent(journal) {
		return Status{}, fmt.Errorf("%w: no sync has brought anything into %s", errArguments, dir)
	}
	h := s.header
	now := Status{
		Followed: h.Followed, Commit: h.Commit, Synced: time.Unix(0, h.Written).UTC(), Interrupted: journal == nil,
		Files: []File{},
	}
	d := newDisk(dir)
	err = merge(s, none{}, func(w, _ *record) error {
		state, err := d.stateOf(*w, h.Written)
		if state == "" || err != nil {
			return err
		}
		if now.FileCount++; len(now.Files) < mostNamed {
			now.Files = append(now.Files, File{w.name(), state})
		}
		return nil
	})
	if !isAbsent(journal) {
		err = errors.Join(err, journal)
	}
	return now, err
}

// stateOf returns the state of a file, or "" if it matches its record.
func (d *disk) stateOf(w record, written int64) (string, error) {
	switch w.flag {
	case skipped:
		return FileSkipped, nil
	case postponed, leaving:
		return FilePostponed, nil
	}
	there, err := d.look(w.name())
	if err != nil {
		return "", err
	}
	if w.kind == directory && w.flag == brought {
		return "", nil // its contents decide
	}
	has, err := d.has(w, there, written)
	switch {
	case has || err != nil:
		return "", err
	case w.flag == kept:
		return FileKept, nil
	case w.flag == accepted:
		return FileMine, nil
	case there.info == nil && !there.obstructed:
		return FileMissing, nil
	default:
		return FileEdited, nil
	}
}
