//go:build unix

package tokens

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner copies owner and group of another file, as far as this user may.
func keepOwner(file *os.File, like fs.FileInfo) {
	if stat, ok := like.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(stat.Uid), int(stat.Gid)) // only root may give files away
	}
}
