//go:build unix

package folderlock

import (
	"os"

	"golang.org/x/sys/unix"
)

// Lock reserves an open folder or file until that is closed or the process ends. Its error is [ErrHeld] where another
// process, or this one, has it, and [errors.ErrUnsupported] on some systems.
func Lock(file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	err = raw.Control(func(fd uintptr) {
		locked = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB)
	})
	if err != nil {
		return err
	}
	if locked == unix.EWOULDBLOCK {
		return ErrHeld
	}
	return locked
}
