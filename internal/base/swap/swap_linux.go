package swap

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Errors of a file system or a kernel without support for a flag of renameat2(2).
const errNoFlag, errNoCall = unix.EINVAL, unix.ENOSYS

// IsBusy reports whether a rename failed because of a mount point.
func IsBusy(err error) bool { return errors.Is(err, unix.EBUSY) }

func exchange(folder *os.File, a, b string) error { return rename(folder, a, b, unix.RENAME_EXCHANGE) }

func move(folder *os.File, from, to string) error {
	return rename(folder, from, to, unix.RENAME_NOREPLACE)
}

func rename(folder *os.File, a, b string, flags uint) error {
	at := int(folder.Fd())
	return unix.Renameat2(at, a, at, b, flags)
}

// hasWriter takes a file that is open for reading.
func hasWriter(file *os.File) (has, known bool) {
	// A read lease is refused while the file is open for writing elsewhere: fcntl(2), F_SETLEASE.
	// It is released immediately, so that no program waits for it.
	_, err := unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if errors.Is(err, unix.EAGAIN) {
		return true, true
	}
	if err != nil {
		return false, false
	}
	_, err = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return false, err == nil
}

// ChangeTime returns when content, name or permissions of a file last changed, in nanoseconds since
// 1970, or 0 if unknown. No program can set it.
func ChangeTime(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano()
	}
	return 0
}
