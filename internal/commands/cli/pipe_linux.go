package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeBytes is the largest pipe for unprivileged users of Linux (/proc/sys/fs/pipe-max-size): with
// the default of 64 KiB an archive waits for its reader two thousand times per 128 MiB.
const pipeBytes = 1 << 20

// widen enlarges a pipe.
func widen(file *os.File) {
	// Other files refuse, and a pipe works at any size.
	_, _ = unix.FcntlInt(file.Fd(), unix.F_SETPIPE_SZ, pipeBytes)
}
