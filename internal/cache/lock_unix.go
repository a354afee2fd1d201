//go:build unix

package cache

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock holds until the folder is closed, or the process ends however it does.
func lock(folder *os.File) error {
	raw, err := folder.SyscallConn()
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
		return ErrInUse
	}
	return locked
}
