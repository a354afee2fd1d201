package checkout

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// claim refuses a folder that is probably a mistake: one with files that no run has written, the
// home folder, and the root of a disk. It accepts a folder in which a run has begun, and a clone that is to be one.
func (f *folder) claim() error {
	if f.options.IntoExisting {
		return nil
	}
	for _, name := range []string{stateName, journalName} {
		if _, err := os.Lstat(f.path(name)); err == nil || !isAbsent(err) {
			return err
		}
	}
	dir := f.options.Dir
	if what := special(dir); what != "" {
		return fmt.Errorf("%s is %s: %w", dir, what, ErrOccupied)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return notAbsent(err)
	}
	if f.options.isCheckout() && isClone(entries) {
		return nil // a run harms nothing there
	}
	for _, e := range entries {
		if e.Name() != stateFolder {
			return fmt.Errorf("%s has files that no sync has brought: %w", dir, ErrOccupied)
		}
	}
	return nil
}

func isClone(entries []os.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == gitFolder })
}

// special returns what a folder is besides a place for files, or "".
func special(dir string) string {
	there, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	home, _ := os.UserHomeDir() // "" if unknown
	for _, place := range []struct{ at, what string }{
		{filepath.VolumeName(at) + string(filepath.Separator), "the root of a disk"},
		{home, "your home folder"},
	} {
		if info, err := os.Stat(place.at); err == nil && os.SameFile(info, there) {
			return place.what
		}
	}
	return ""
}
