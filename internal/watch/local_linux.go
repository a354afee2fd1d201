package watch

import "golang.org/x/sys/unix"

// localTypes are file systems that only this machine writes to, so that the kernel knows every
// change (statfs(2)).
var localTypes = map[int64]bool{
	unix.EXT4_SUPER_MAGIC:  true, // ext2 and ext3 as well
	unix.XFS_SUPER_MAGIC:   true,
	unix.BTRFS_SUPER_MAGIC: true,
	unix.F2FS_SUPER_MAGIC:  true,
	unix.TMPFS_MAGIC:       true,
	0x2fc12fc1:             true, // ZFS, which is not part of Linux
}

// isLocal reports whether the kernel reports all changes in a folder. For an overlay it does not:
// the kernel does not see changes in lower layers.
func isLocal(folder string) bool {
	var stat unix.Statfs_t
	//nolint:unconvert // not of the same type everywhere
	return unix.Statfs(folder, &stat) == nil && localTypes[int64(stat.Type)]
}
