//go:build !unix

package stamp

import (
	"io/fs"
	"os"
)

// inode is 0 on systems without a simple inode number.
func inode(fs.FileInfo) uint64 { return 0 }

// examine is zero for a file that cannot be examined.
func examine(path string) (f file) {
	if info, err := os.Stat(path); err == nil {
		f = file{
			uint32(info.Mode()), info.Mode().IsRegular(), info.Size(), info.ModTime().UnixNano(), inode(info),
		}
	}
	return f
}
