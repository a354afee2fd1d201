package repos

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io/fs"
	"path"
	"path/filepath"
)

// maxRefFolders bounds the folders of one repository that a [RefStamp] names.
// Mirrors of large hosts have one per pull request; the kernel gives a user some
// ten thousand watches.
const maxRefFolders = 256

// RefStamp tells whether the files that hold a repository's refs may have been
// touched: it differs when one was written, replaced or removed. None is read,
// only looked at.
type RefStamp struct {
	// Sum is to be compared only.
	Sum [sha256.Size]byte
	// Folders are paths of the host: whoever is told of what happens in them
	// need not look. They are for the kernel, and never shown to anybody.
	Folders []string
	// Partial says that there are more folders.
	Partial bool
}

// stamped are the files beside refs that a stamp covers: those that decide what
// refs there are, and the description.
var stamped = []string{"HEAD", "packed-refs", "description"}

// RefStamp looks at the files that hold refs. What cannot be looked at is part
// of the stamp as well, so that it differs once it can.
func (r *Repository) RefStamp() RefStamp {
	w := stampWalk{files: refFiles{root: r.catalogue.root, dir: r.dir}, sum: sha256.New()}
	w.folder("")
	for _, name := range stamped {
		info, err := w.files.root.Lstat(path.Join(r.dir, name))
		w.entry(name, info, err)
	}
	// Branches and tags first: they are what is watched when there are more
	// folders than may be.
	w.walk("refs", func(name string) bool { return name != "refs/heads" && name != "refs/tags" })
	w.stamp.Sum = [sha256.Size]byte(w.sum.Sum(nil))
	return w.stamp
}

type stampWalk struct {
	files refFiles
	sum   hash.Hash
	stamp RefStamp
}

// folder notes one to be watched.
func (w *stampWalk) folder(name string) {
	if len(w.stamp.Folders) == maxRefFolders {
		w.stamp.Partial = true
		return
	}
	w.stamp.Folders = append(w.stamp.Folders,
		filepath.Join(w.files.root.Name(), filepath.FromSlash(w.files.dir), filepath.FromSlash(name)))
}

// entry adds what tells a file from the one that was there before: git replaces
// files, so that their inodes differ even when size and time do not.
func (w *stampWalk) entry(name string, info fs.FileInfo, err error) {
	if err != nil {
		_, _ = fmt.Fprintf(w.sum, "%s %v\n", name, pathless(err))
		return
	}
	_, _ = fmt.Fprintf(w.sum, "%s %o %d %d %d\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano(),
		inode(info))
}

// walk goes through a folder below refs; those for which later is true come
// after the others.
func (w *stampWalk) walk(dir string, later func(name string) bool) {
	entries, err := readDir(w.files.root, path.Join(w.files.dir, dir))
	if err != nil {
		w.entry(dir, nil, err)
		return
	}
	w.folder(dir)
	for _, second := range []bool{false, true} {
		for _, entry := range entries {
			name := dir + "/" + entry.Name()
			if later(name) != second {
				continue
			}
			// Symbolic links are not followed: IsDir is false for them.
			if entry.IsDir() {
				_, _ = fmt.Fprintf(w.sum, "%s/\n", name)
				w.walk(name, func(string) bool { return false })
				continue
			}
			info, err := entry.Info()
			w.entry(name, info, err)
		}
	}
}
