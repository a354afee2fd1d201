// Package cli is what the program's commands share: what the process gives them, their
// exit codes, settings from three places, sizes as flags, and where their output goes.
package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
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

// UsageError says that the command line or a setting is wrong.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Misused makes a [UsageError].
func Misused(err error) error { return &UsageError{err} }

// Arguments refuses what check does. The text, if any, says what to do.
func Arguments(check cobra.PositionalArgs, text string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		err := check(c, args)
		switch {
		case err == nil:
			return nil
		case text != "":
			err = fmt.Errorf("%s: %w", text, err)
		}
		return Misused(err)
	}
}

// CountArguments refuses another number of them.
func CountArguments(least, most int, text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return &UsageError{errors.New(text)}
		}
		return nil
	}
}
