//go:build unix

package cache

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock reserves the folder for this process until it is closed or the process ends.
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
