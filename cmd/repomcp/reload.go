package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/internal/base/operatorfile"
	"github.com/repomcp/repomcp/internal/commands/cli"
)

// followed is something that is reloaded while the server runs, with its name.
type followed struct {
	what string
	// read reloads it on SIGHUP; nil: it is a file.
	read func() error
	file operatorFile
	// taken is called when a new version of the file is accepted; it may be nil.
	taken func()
}

// operatorFile is an [operatorfile.File] of any type.
type operatorFile interface {
	Look() (taken bool, err error)
	Reread()
	Fault() error
}

// catchHangups receives SIGHUP, which would otherwise end the process, until stop is called.
func catchHangups() (hangups chan os.Signal, stop func()) {
	hangups = make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups, func() { signal.Stop(hangups) }
}

// follow reloads changed files, and everything on SIGHUP, until ctx ends. An invalid file has no
// effect.
func follow(ctx context.Context, logger *slog.Logger, hangups <-chan os.Signal, list []followed) {
	next := time.NewTimer(operatorfile.Settling)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			for _, f := range list {
				f.readAgain(logger)
			}
		case <-next.C:
		}
		for _, f := range list {
			f.look(logger)
		}
		next.Reset(operatorfile.Settling) // by then, the current state has settled
	}
}

// readAgain handles SIGHUP. Files are read by the next looks.
func (f followed) readAgain(logger *slog.Logger) {
	if f.read == nil {
		f.file.Reread()
		return
	}
	if err := f.read(); err != nil {
		logger.Error("SIGHUP: what was read before stays", "what", f.what, "error", err)
	} else {
		logger.Info("SIGHUP: read again", "what", f.what)
	}
}

func (f followed) look(logger *slog.Logger) {
	if f.file == nil {
		return
	}
	taken, err := f.file.Look()
	if err != nil {
		logger.Error("a file was not read again; what it said before stays", "file", f.what, "error", err)
	}
	if !taken {
		return
	}
	if f.taken != nil {
		f.taken()
	}
	logger.Info("a file was read again", "file", f.what)
}

// followed returns what is reloaded while the service runs.
func (s *service) followed(c *cobra.Command, level *slog.LevelVar) []followed {
	list := []followed{{what: "log level", read: func() error {
		name, err := cli.FileSetting(c, "log-level")
		if err != nil {
			return err
		}
		return setLevel(level, name)
	}}}
	if s.cert != nil {
		list = append(list, followed{what: "certificate", read: s.cert.reload})
	}
	if s.asking.tokens != nil {
		list = append(list, followed{what: "tokens", file: s.asking.tokens})
	}
	if s.access != nil {
		list = append(list, followed{what: "access rules", file: s.access, taken: s.subscriptions.Reconsider})
	}
	if s.linking.keys != nil {
		list = append(list, followed{what: "link keys", file: s.linking.keys})
	}
	return list
}

// faults returns why current files are refused, by name.
func faults(list []followed) (all map[string]error) {
	all = make(map[string]error)
	for _, f := range list {
		if f.file == nil {
			continue
		}
		if err := f.file.Fault(); err != nil {
			all[f.what] = err
		}
	}
	return all
}
