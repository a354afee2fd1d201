//go:build unix

package operatorfile

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// changed is when anything of a file was changed last (st_ctim of stat(2)), its times included.
func changed(info fs.FileInfo, file *os.File) time.Time {
	var stat unix.Stat_t
	if unix.Fstat(int(file.Fd()), &stat) != nil {
		return info.ModTime()
	}
	return time.Unix(stat.Ctim.Unix())
}
