// Package cli holds what the program's commands share: their environment, exit codes, settings from
// three sources, flags for sizes, and output files.
package cli

import (
	"io"
	"runtime/debug"
)

// Exit codes of the process.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
	// Exit codes of the commands that contact a server.
	ExitKept    = 3 // a sync kept files with local changes
	ExitNetwork = 4 // the server is unreachable or busy
	ExitRefused = 5 // the server has no such thing, or denies access
	ExitDamaged = 6 // the received bytes are damaged, or unsafe to unpack
	ExitLocked  = 7 // another sync uses the folder

	ExitSignal = 130 // a second signal ended the process; shells report SIGINT so
)

// Environment is what a command gets from the process.
type Environment struct {
	Lookup func(name string) (string, bool)
	Stdout io.Writer
	Stderr io.Writer
}

// GOGC values, in percent (see runtime/debug).
const (
	// ServeGarbage keeps the memory of a busy server small: its buffers are pooled, so there is little to collect.
	// Fifty parallel tar.gz of a large repository take less than 300 MiB with it. With half of it they take a sixth
	// less, but searches in ten thousand repositories, whose index is in the memory, take up to twice as long.
	ServeGarbage = 35
	// ArchiveGarbage avoids most collections in a short command: they would take a tenth of the
	// time of a small archive, and one of the three would come just before the first byte.
	ArchiveGarbage = 200
)

// Collect sets GOGC, unless the environment does.
func (e Environment) Collect(percent int) {
	if _, chosen := e.Lookup("GOGC"); !chosen {
		debug.SetGCPercent(percent)
	}
}

// LimitMemory sets GOMEMLIMIT, unless the environment does.
func (e Environment) LimitMemory(bytes int64) {
	if _, chosen := e.Lookup("GOMEMLIMIT"); !chosen {
		debug.SetMemoryLimit(bytes)
	}
}
