//go:build linux || darwin

package unpack

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// freeSpace is the space for users other than root.
func freeSpace(root *os.Root) (int64, bool) {
	dir, err := root.Open(".")
	if err != nil {
		return 0, false
	}
	defer func() { _ = dir.Close() }() // it was only read
	var stat unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &stat); err != nil || stat.Blocks == 0 {
		return 0, false // some file systems in user space have no numbers
	}
	return int64(min(stat.Bavail*uint64(stat.Bsize), math.MaxInt64)), true
}
