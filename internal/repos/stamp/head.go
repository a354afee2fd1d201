package stamp

import (
	"os"
	"path/filepath"
)

// Head is a stamp of the files that decide which commit HEAD leads to. It is only for comparison, and takes a few
// microseconds.
type Head [4]file

// file distinguishes a file from its predecessor, as [walk.entry] does.
type file struct {
	mode    uint32
	size    int64
	changed int64
	inode   uint64
}

// OfHead computes the stamp of the repository in a folder. ref is the full name of the branch that HEAD leads to, or
// HEAD. A file that cannot be examined is like a missing one.
func OfHead(root *os.Root, dir, ref string) (h Head) {
	// A path of the host is looked up several times as fast as one of the root. Only metadata is compared.
	folder := filepath.Join(root.Name(), filepath.FromSlash(dir)) + string(filepath.Separator)
	for i, name := range [len(h)]string{"HEAD", "packed-refs", filepath.FromSlash(ref), "config"} {
		h[i] = examine(folder + name)
	}
	return h
}
