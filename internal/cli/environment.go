// Package cli is what the program's commands share: what the process gives them, their
// exit codes, settings from three places, sizes as flags, and where their output goes.
package cli

import (
	"io"
	"runtime/debug"
)

// The process's exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
	// Those of the commands that ask a server.
	ExitKept    = 3 // a sync kept what somebody changed
	ExitNetwork = 4 // the server was not reached, or is busy
	ExitRefused = 5 // the server has no such thing, or not for who asks
	ExitDamaged = 6 // what came is damaged, or unsafe to unpack
	ExitLocked  = 7 // another sync has the folder

	ExitSignal = 130 // a second signal ended the process, as shells say it for SIGINT
)

// Environment is what a command gets from the process.
type Environment struct {
	Lookup func(name string) (string, bool)
	Stdout io.Writer
	Stderr io.Writer
}

// The garbage that may gather, in percent of what is in use (see runtime/debug).
const (
	// ServeGarbage takes a third off the memory of a busy server: its buffers
	// are pooled, so that there is little to collect. With it fifty tar.zst of a large
	// repository at once take less than 300 MiB.
	ServeGarbage = 17
	// ArchiveGarbage spares a command that ends soon most collections: they
	// would take a tenth of the time of a small archive, and one of the three
	// would come just before the first byte.
	ArchiveGarbage = 200
)

// Collect sets the garbage that may gather. GOGC in the environment wins.
func (e Environment) Collect(percent int) {
	if _, chosen := e.Lookup("GOGC"); !chosen {
		debug.SetGCPercent(percent)
	}
}

// LimitMemory sets what the garbage collector aims at. GOMEMLIMIT in the environment
// wins.
func (e Environment) LimitMemory(bytes int64) {
	if _, chosen := e.Lookup("GOMEMLIMIT"); !chosen {
		debug.SetMemoryLimit(bytes)
	}
}
