//go:build unix

package dotgit

import (
	"io/fs"
	"syscall"
)

// hasStat says that the index knows a file by more than its size and time.
const hasStat = true

func (s *Stat) setPlace(info fs.FileInfo) {
	if at, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Device, s.Inode, s.UID, s.GID = uint32(at.Dev), uint32(at.Ino), at.Uid, at.Gid
	}
}
