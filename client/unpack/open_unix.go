//go:build !windows

package unpack

import "syscall"

// unpolled opens a new file without asking whether it can be waited for, which takes
// four calls of the system and is never so. Files are written as without it.
const unpolled = syscall.O_NONBLOCK
