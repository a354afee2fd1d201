package swap

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Errors of a file system or a kernel without support for a flag of renameatx_np(2).
const errNoFlag, errNoCall = unix.EINVAL, unix.ENOSYS

// IsBusy reports whether a rename failed because of a mount point.
func IsBusy(err error) bool { return errors.Is(err, unix.EBUSY) }

func exchange(folder *os.File, a, b string) error { return rename(folder, a, b, unix.RENAME_SWAP) }

func move(folder *os.File, from, to string) error { return rename(folder, from, to, unix.RENAME_EXCL) }

func rename(folder *os.File, a, b string, flags uint32) error {
	at := int(folder.Fd())
	return unix.RenameatxNp(at, a, at, b, flags)
}

// hasWriter is unknown on this system.
func hasWriter(*os.File) (has, known bool) { return false, false }

// ChangeTime returns when content, name or permissions of a file last changed, in nanoseconds since
// 1970, or 0 if unknown. No program can set it.
func ChangeTime(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctimespec.Nano()
	}
	return 0
}
