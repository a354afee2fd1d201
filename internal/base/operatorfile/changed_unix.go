//go:build unix

package operatorfile

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// changed returns the time of the last change of a file, including its metadata (st_ctim of
// stat(2)).
func changed(info fs.FileInfo, file *os.File) time.Time {
	var stat unix.Stat_t
	if unix.Fstat(int(file.Fd()), &stat) != nil {
		return info.ModTime()
	}
	return time.Unix(stat.Ctim.Unix())
}
