//go:build unix

package conns

import "golang.org/x/sys/unix"

// descriptors is how many descriptors the process may have open. The Go runtime has raised the
// limit as far as possible (see package os).
func descriptors() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 2*mostConnections {
		return 2 * mostConnections
	}
	return int(limit.Cur)
}
