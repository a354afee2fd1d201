package objects

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// Folder is one folder of objects that a repository uses: its own, or an alternate's.
type Folder struct {
	// Path is slash-separated, from the root.
	Path string
	// Parts are the names in it that git reads, all below the root at the time of the call: "pack", the folders of
	// loose objects, and the files of the commit-graph.
	Parts []string
	// IndexBytes is the size of all indexes of packs, from which the number of objects can be estimated.
	IndexBytes int64
}

// graphParts are the two forms of a commit-graph.
var graphParts = []string{"info/commit-graph", "info/commit-graphs"}

// Folders lists where the objects of the repository are, its own folder first. It is for a program that follows
// symbolic links, which this package does not do out of the root: a link there that leads out is [ErrOutside].
// An alternate out of the root is left out.
func (db *Database) Folders() ([]Folder, error) {
	chain, _, err := db.store.chain(db.objects)
	if err != nil {
		return nil, err
	}
	folders := make([]Folder, 0, len(chain))
	for _, d := range chain {
		folder, err := d.folder()
		if err != nil {
			return nil, err
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

func (d *directory) folder() (Folder, error) {
	folder := Folder{Path: d.path}
	entries, err := fs.ReadDir(d.store.root.FS(), d.path)
	if err != nil {
		return Folder{}, files.OpenError(d.path, err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if name != "pack" && !isFanOut(name) {
			continue
		}
		size, err := d.stayInside(path.Join(d.path, name))
		if errors.Is(err, fs.ErrNotExist) { // a repack has removed it
			continue
		}
		if err != nil {
			if verdict := files.OpenError(name, err); !errors.Is(verdict, ErrCorrupt) {
				return Folder{}, verdict
			}
			return Folder{}, fmt.Errorf("%s: %w: %w", name, ErrOutside, err)
		}
		folder.IndexBytes += size
		folder.Parts = append(folder.Parts, name)
	}
	for _, name := range graphParts {
		if d.stat(path.Join(d.path, name)) != nil { // nil as well for what leads out
			folder.Parts = append(folder.Parts, name)
		}
	}
	return folder, nil
}

// stayInside follows every symbolic link at and in a folder of objects, and sums the sizes of the indexes there.
func (d *directory) stayInside(folder string) (indexBytes int64, err error) {
	entries, err := fs.ReadDir(d.store.root.FS(), folder)
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		isIndex := strings.HasSuffix(entry.Name(), ".idx")
		if entry.Type()&fs.ModeSymlink == 0 && !isIndex {
			continue
		}
		info, err := d.store.root.Stat(path.Join(folder, entry.Name()))
		if errors.Is(err, fs.ErrNotExist) { // gone, or a link to nothing
			continue
		}
		if err != nil {
			return 0, err
		}
		if isIndex {
			indexBytes += info.Size()
		}
	}
	return indexBytes, nil
}

// isFanOut reports whether a folder of objects may have loose ones.
func isFanOut(name string) bool {
	return len(name) == 2 && strings.Trim(name, "0123456789abcdef") == ""
}

// Folders is [Database.Folders] of the repository as it is now.
func (s *Snapshot) Folders() ([]Folder, error) { return s.db.Folders() }
