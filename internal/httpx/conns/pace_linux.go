package conns

import "golang.org/x/sys/unix"

// unacknowledged asks the kernel: SIOCOUTQ in tcp(7).
func unacknowledged(fd uintptr) int {
	n, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	if err != nil {
		return 0
	}
	return n
}
