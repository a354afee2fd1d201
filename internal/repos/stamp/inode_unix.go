//go:build unix

package stamp

import (
	"io/fs"
	"syscall"
)

// inode is the number of the file, or 0.
func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Ino) //nolint:unconvert // not of the same type everywhere
	}
	return 0
}
