//go:build unix

package stamp

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// inode is the number of the file, or 0.
func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Ino) //nolint:unconvert // not of the same type everywhere
	}
	return 0
}

// examine is zero for a file that cannot be examined. Unlike [os.Stat] it leaves nothing for the garbage collector: a
// search looks at tens of thousands of files.
func examine(path string) (f file) {
	var stat unix.Stat_t
	if unix.Stat(path, &stat) == nil {
		regular := stat.Mode&unix.S_IFMT == unix.S_IFREG
		f = file{uint32(stat.Mode), regular, stat.Size, stat.Mtim.Nano(), stat.Ino} //nolint:unconvert // as above
	}
	return f
}
