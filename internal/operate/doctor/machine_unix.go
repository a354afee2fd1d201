//go:build unix

package doctor

import "golang.org/x/sys/unix"

// descriptorLimit returns the maximal number of open files.
func descriptorLimit() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int64(min(limit.Cur, 1<<32)) // a larger value means no limit
}

// freeBytes returns the space that a user can still write to the disk of a folder.
func freeBytes(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil //nolint:unconvert // not of the same type everywhere
}
