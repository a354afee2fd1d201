package dotgit

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Examine takes the Stat of all files in a folder that no other program changes.
func (x *Index) Examine(dir string) error {
	for i := range x.Entries {
		e := &x.Entries[i]
		if e.Mode.IsGitlink() {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(e.Path)))
		if err == nil {
			e.Stat = StatOf(info)
		} else if !os.IsNotExist(err) { // such as a link that was left out
			return err
		}
	}
	return nil
}

// Moved takes the new times of the files that were renamed with the entries of the folder, and whose
// change of status is later than before therefore. A file that was changed meanwhile keeps no Stat, so that git
// compares it.
func (x *Index) Moved(dir string) {
	for i := range x.Entries {
		e := &x.Entries[i]
		if strings.Contains(e.Path, "/") || e.Stat == (Stat{}) {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, e.Path))
		if err != nil {
			e.Stat = Stat{}
			continue
		}
		now := StatOf(info)
		before := e.Stat
		before.CTime, before.CTimeNano = now.CTime, now.CTimeNano
		if e.Stat = now; now != before {
			e.Stat = Stat{}
		}
	}
}

// WriteFile writes the index into a new file. Git reads a file anew that is not older than the index,
// so the index is made younger than those with a time of the future: a later change of them has another time.
func (x *Index) WriteFile(name string) error {
	if err := writeWhole(name, func(w io.Writer) error {
		_, err := x.WriteTo(w)
		return err
	}); err != nil {
		return err
	}
	youngest := int64(0)
	for i := range x.Entries {
		youngest = max(youngest, int64(x.Entries[i].Stat.MTime))
	}
	if youngest <= time.Now().Unix() {
		return nil
	}
	after := time.Unix(youngest+1, 0)
	return os.Chtimes(name, after, after)
}
