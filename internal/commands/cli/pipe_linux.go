package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeBytes is the largest pipe that Linux gives to anybody
// (/proc/sys/fs/pipe-max-size): the default of 64 KiB makes an archive wait for
// its reader two thousand times per 128 MiB.
const pipeBytes = 1 << 20

// widen makes a pipe larger, if it is one.
func widen(file *os.File) {
	// Anything else than a pipe refuses, and a pipe that stays as it is works
	// as well.
	_, _ = unix.FcntlInt(file.Fd(), unix.F_SETPIPE_SZ, pipeBytes)
}
