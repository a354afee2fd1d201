package objects

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/repomcp/repomcp/internal/git/objects/files"
	"github.com/repomcp/repomcp/internal/git/objects/pack"
)

// Folder is one folder of objects that a repository uses: its own, or an alternate's.
type Folder struct {
	// Path is slash-separated, from the root.
	Path string
	// Parts are the names in it that git reads, all below the root at the time of the call: "pack", the folders of
	// loose objects, and the files of the commit-graph.
	Parts []string
	// Alone is true if it has no list of alternates: a program that reads the folder itself then stays in it.
	Alone bool
	// MultiIndex is the version of its multi-pack-index; 0: there is none. Git fails at one that is newer than itself.
	MultiIndex int
	// IndexBytes is the size of all indexes of packs, from which the number of objects can be estimated.
	IndexBytes int64
}

var (
	// graphParts are the two forms of a commit-graph.
	graphParts = []string{"info/commit-graph", "info/commit-graphs"}
	// graphFolders have their files.
	graphFolders = []string{"info", "info/commit-graphs"}
)

// Folders lists where the objects of the repository are, its own folder first. It is for a program that follows
// symbolic links, which this package does not do out of the root: a link there that leads out is [ErrOutside].
// An alternate out of the root is left out.
func (db *Database) Folders() ([]Folder, error) {
	found, err := db.store.searchPath(db.objects)
	if err = errors.Join(append(found.faults, err)...); err != nil {
		return nil, err
	}
	folders := make([]Folder, 0, len(found.directories))
	for _, d := range found.directories {
		folder, err := d.folder()
		if err != nil {
			return nil, err
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

func (d *directory) folder() (Folder, error) {
	links, err := d.alternates()
	if err != nil {
		return Folder{}, err
	}
	folder := Folder{
		Path: d.path, Alone: links.info == nil, MultiIndex: pack.MultiIndexVersion(d.store.root, d.packDir()),
	}
	entries, err := fs.ReadDir(d.store.root.FS(), d.path)
	if err != nil {
		return Folder{}, files.OpenError(d.path, err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if name != "pack" && !isFanOut(name) {
			continue
		}
		size, err := d.stayInside(name, entry.Type()&fs.ModeSymlink != 0)
		if errors.Is(err, fs.ErrNotExist) { // a repack has removed it
			continue
		}
		if err != nil {
			return Folder{}, linkError(name, err)
		}
		folder.IndexBytes += size
		folder.Parts = append(folder.Parts, name)
	}
	for _, name := range graphFolders {
		if _, err := d.stayInside(name, true); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Folder{}, linkError(name, err)
		}
	}
	for _, name := range graphParts {
		if d.stat(path.Join(d.path, name)) != nil {
			folder.Parts = append(folder.Parts, name)
		}
	}
	return folder, nil
}

// stayInside follows every symbolic link at and in a part of the folder that is a folder itself, and sums the sizes of
// the indexes there. mayLink reports whether the part may be a link.
func (d *directory) stayInside(part string, mayLink bool) (indexBytes int64, err error) {
	entries, err := d.entriesOf(part, mayLink)
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		isIndex := strings.HasSuffix(entry.Name(), ".idx")
		if entry.Type()&fs.ModeSymlink == 0 && !isIndex {
			continue
		}
		info, err := d.store.root.Stat(path.Join(d.path, part, entry.Name()))
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

// entriesOf lists a part of the folder. One that is no link is listed by its path on the host: an [os.Root] examines
// each file that it lists, so the folders of loose objects take it three times as long.
func (d *directory) entriesOf(part string, mayLink bool) ([]fs.DirEntry, error) {
	name := path.Join(d.path, part)
	if mayLink {
		return fs.ReadDir(d.store.root.FS(), name)
	}
	return os.ReadDir(filepath.Join(d.store.root.Name(), filepath.FromSlash(name)))
}

// linkError makes a link that leads out an [ErrOutside].
func linkError(part string, err error) error {
	if !files.RefusesLink(err) {
		return files.OpenError(part, err)
	}
	return fmt.Errorf("%s: %w: %w", part, ErrOutside, err)
}

// isFanOut reports whether a folder of objects may have loose ones.
func isFanOut(name string) bool {
	return len(name) == 2 && strings.Trim(name, "0123456789abcdef") == ""
}

// Folders is [Database.Folders] of the repository as it is now.
func (s *Snapshot) Folders() ([]Folder, error) { return s.db.Folders() }
