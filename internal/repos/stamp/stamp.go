// Package stamp detects that files may have changed, without reading them.
package stamp

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// maxRefFolders bounds the folders of one repository that a stamp names. Mirrors of large hosts
// have one per pull request; the kernel gives a user some ten thousand watches.
const maxRefFolders = 256

// Refs is a stamp of the files that hold a repository's refs: it changes when one was written,
// replaced or removed. No file is read.
type Refs struct {
	// Sum is only for comparison.
	Sum [sha256.Size]byte
	// Folders are paths of the host. A watcher of these folders needs no polling. They are for the
	// kernel, and must never be shown to clients.
	Folders []string
	// Partial says that there are more folders.
	Partial bool
}

// tables is the folder of refs in git's format "reftable".
const tables = "reftable"

// beside are the files beside refs that a stamp covers: those that decide which refs exist, the configuration, which
// may hide some, and the description.
var beside = []string{"HEAD", "config", "packed-refs", tables + "/tables.list", "description"}

// OfRefs computes the stamp of the refs of the repository in a folder. A file that cannot be
// examined is also part of the stamp, so that it changes once the file can be. list returns the
// entries of a folder, by name.
func OfRefs(root *os.Root, dir string, list func(dir string) ([]fs.DirEntry, error)) Refs {
	w := walk{root: root, dir: dir, list: list, sum: sha256.New()}
	w.folder("")
	if info, err := root.Lstat(path.Join(dir, tables)); err == nil && info.IsDir() {
		w.folder(tables)
	}
	w.files(beside)
	// Branches and tags come first: they are watched if there are more folders than allowed.
	w.below("refs", func(name string) bool { return name != "refs/heads" && name != "refs/tags" })
	w.stamp.Sum = [sha256.Size]byte(w.sum.Sum(nil))
	return w.stamp
}

// besideObjects are the files and folders that decide how objects are read. The folder of objects
// itself shows which folders of loose objects were touched.
var besideObjects = []string{"objects", "objects/info", "objects/info/commit-graphs", "objects/pack"}

// OfAll changes whenever Refs does, and when a pack, an index, a commit-graph or the list of
// alternates was touched, or a loose object was added or removed. It ignores the contents of
// alternates.
func OfAll(root *os.Root, dir string, list func(dir string) ([]fs.DirEntry, error)) [sha256.Size]byte {
	refs := OfRefs(root, dir, list)
	w := walk{root: root, dir: dir, list: list, sum: sha256.New()}
	w.sum.Write(refs.Sum[:])
	w.files([]string{"shallow"})
	for _, folder := range besideObjects {
		entries, err := list(path.Join(dir, folder))
		if err != nil {
			w.entry(folder, nil, err)
		}
		for _, entry := range entries {
			info, err := entry.Info()
			w.entry(folder+"/"+entry.Name(), info, err)
		}
	}
	return [sha256.Size]byte(w.sum.Sum(nil))
}

type walk struct {
	root  *os.Root
	dir   string
	list  func(dir string) ([]fs.DirEntry, error)
	sum   hash.Hash
	stamp Refs
}

// folder adds a folder that is to be watched.
func (w *walk) folder(name string) {
	if len(w.stamp.Folders) == maxRefFolders {
		w.stamp.Partial = true
		return
	}
	w.stamp.Folders = append(w.stamp.Folders,
		filepath.Join(w.root.Name(), filepath.FromSlash(w.dir), filepath.FromSlash(name)))
}

func (w *walk) files(names []string) {
	for _, name := range names {
		info, err := w.root.Lstat(path.Join(w.dir, name))
		w.entry(name, info, err)
	}
}

// entry adds what distinguishes a file from its predecessor: git replaces files, so their inodes
// differ even if size and time do not.
func (w *walk) entry(name string, info fs.FileInfo, err error) {
	if err != nil {
		_, _ = fmt.Fprintf(w.sum, "%s %v\n", name, err)
		return
	}
	_, _ = fmt.Fprintf(w.sum, "%s %o %d %d %d\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano(),
		inode(info))
}

// below walks a folder below refs; folders for which later is true come after the others.
func (w *walk) below(dir string, later func(name string) bool) {
	entries, err := w.list(path.Join(w.dir, dir))
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
				w.below(name, func(string) bool { return false })
				continue
			}
			info, err := entry.Info()
			w.entry(name, info, err)
		}
	}
}
