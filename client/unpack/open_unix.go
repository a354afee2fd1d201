//go:build !windows

package unpack

import "syscall"

// unpolled opens a new file without registering it with the poller, which takes four system calls
// and always fails for files. Writes are unaffected.
const unpolled = syscall.O_NONBLOCK
