package watch

import "golang.org/x/sys/unix"

// localTypes are file systems on which nobody else writes, so that the kernel
// knows of every change (statfs(2)).
var localTypes = map[int64]bool{
	unix.EXT4_SUPER_MAGIC:  true, // ext2 and ext3 as well
	unix.XFS_SUPER_MAGIC:   true,
	unix.BTRFS_SUPER_MAGIC: true,
	unix.F2FS_SUPER_MAGIC:  true,
	unix.TMPFS_MAGIC:       true,
	0x2fc12fc1:             true, // ZFS, which is not part of Linux
}

// isLocal reports whether the kernel tells of all changes in a folder. Those of
// an overlay's lower layers it does not know.
func isLocal(folder string) bool {
	var stat unix.Statfs_t
	//nolint:unconvert // not of the same type everywhere
	return unix.Statfs(folder, &stat) == nil && localTypes[int64(stat.Type)]
}
