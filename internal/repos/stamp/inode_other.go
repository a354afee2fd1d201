//go:build !unix

package stamp

import "io/fs"

// inode is 0 on systems without a simple inode number.
func inode(fs.FileInfo) uint64 { return 0 }
