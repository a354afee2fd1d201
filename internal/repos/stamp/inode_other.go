//go:build !unix

package stamp

import "io/fs"

// inode is 0 where files have none that is easily had.
func inode(fs.FileInfo) uint64 { return 0 }
