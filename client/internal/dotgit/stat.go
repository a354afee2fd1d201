package dotgit

import (
	"io"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/git"
)

// Paths yields the paths of all entries, in order.
func (x *Index) Paths() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range x.Entries {
			if !yield(x.Entries[i].Path) {
				return
			}
		}
	}
}

// SetStats gives entries their Stat; others keep theirs.
func (x *Index) SetStats(of func(path string) (Stat, bool)) {
	for i := range x.Entries {
		if s, ok := of(x.Entries[i].Path); ok {
			x.Entries[i].Stat = s
		}
	}
}

// ForgetTop takes the Stat from the files in the top folder: a rename has changed it.
func (x *Index) ForgetTop() {
	for i := range x.Entries {
		if !strings.Contains(x.Entries[i].Path, "/") {
			x.Entries[i].Stat = Stat{}
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

// apply makes the index that of another commit. stats are those of the files that were written.
func (x *Index) apply(c Change, stats map[string]Stat) {
	changes := make(map[string]Changed, len(c.Paths))
	for _, p := range c.Paths {
		changes[p.Path] = p
	}
	known, folders := x.knownFolders(c), make(map[string]bool) // folders of new files
	for _, p := range c.Paths {
		for dir := path.Dir(p.Path); p.New.Mode != 0 && !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	kept := x.Entries[:0]
	for _, e := range x.Entries {
		if _, changed := changes[e.Path]; !changed && !folders[e.Path] && !isInTheWay(e.Path, changes) {
			kept = append(kept, e)
		}
	}
	for _, p := range c.Paths {
		if p.New.Mode != 0 {
			kept = append(kept, Entry{Path: p.Path, Mode: p.New.Mode, ID: p.New.ID, Stat: stats[p.Path]})
		}
	}
	slices.SortFunc(kept, compareEntries)
	x.Entries = kept
	if x.folders != nil {
		x.setFolders(func(path string) (git.ID, bool) {
			id, ok := known[path]
			return id, ok
		})
	}
}

// isInTheWay reports whether a new file has the name of a folder of a path. A user has staged that path, and the run
// was to overwrite it.
func isInTheWay(at string, changes map[string]Changed) bool {
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if changes[dir].New.Mode != 0 {
			return true
		}
	}
	return false
}

// knownFolders returns the trees of the folders whose entries are those of the commit after a change.
// A folder in which a user has staged something has another tree, or none that is known.
func (x *Index) knownFolders(c Change) map[string]git.ID {
	known, listed := make(map[string]git.ID), make(map[string]bool)
	for _, f := range x.folders {
		if listed[f.path] = true; f.valid {
			known[f.path] = f.id
		}
	}
	for _, e := range x.Entries { // folders that are not listed
		for at := strings.LastIndexByte(e.Path, '/'); at > 0 && !listed[e.Path[:at+1]]; {
			listed[e.Path[:at+1]] = true
			at = strings.LastIndexByte(e.Path[:at], '/')
		}
	}
	for path, tree := range c.trees {
		if !listed[path] || known[path] == tree.old && !tree.old.IsZero() {
			known[path] = tree.id
		} else {
			delete(known, path)
		}
	}
	return known
}
