package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/internal/cli"
)

// reloads is what SIGHUP has read again, by what it is.
type reloads []struct {
	what string
	read func() error
}

// follow reads everything again whenever SIGHUP comes, until ctx ends. What cannot
// be read stays as it was.
func (r reloads) follow(ctx context.Context, logger *slog.Logger) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		for _, part := range r {
			if err := part.read(); err != nil {
				logger.Error("SIGHUP: what was read before stays", "what", part.what, "error", err)
			} else {
				logger.Info("SIGHUP: read again", "what", part.what)
			}
		}
	}
}

// reloads of a server.
func (f serveFlags) reloads(
	c *cobra.Command, level *slog.LevelVar, cert *certificate, a *authentication, control *accessControl, l *linking,
) reloads {
	list := reloads{{"log level", func() error {
		name, err := cli.FileSetting(c, "log-level")
		if err != nil {
			return err
		}
		return setLevel(level, name)
	}}}
	if cert != nil {
		list = append(list, reloads{{"certificate", cert.reload}}...)
	}
	list = append(list, a.reload()...)
	if control.rules != nil {
		list = append(list, reloads{{"access rules", control.reload}}...)
	}
	if l.keys != nil && f.links.keyFile != "" {
		list = append(list, reloads{{"link keys", func() error { _, err := l.keys.ReloadIfChanged(); return err }}}...)
	}
	if l.revocations != nil {
		list = append(list, reloads{{"link revocations", func() error {
			_, err := l.revocations.ReloadIfChanged()
			return err
		}}}...)
	}
	return list
}

// reloadInterval is how long a new key, a token or a revocation takes to be seen.
const reloadInterval = 2 * time.Second

// followed is a file that is read again when it has changed.
type followed struct {
	what   string
	reload func() (changed bool, err error)
}

// followFiles reads files again as they change, until ctx ends. One that cannot be read
// any more is logged, and what it said before stays.
func followFiles(ctx context.Context, logger *slog.Logger, files ...followed) {
	ticker := time.NewTicker(reloadInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, f := range files {
			changed, err := f.reload()
			switch {
			case err != nil:
				logger.Error("a file was not read again; what it said before stays", "file", f.what, "error", err)
			case changed:
				logger.Info("a file was read again", "file", f.what)
			}
		}
	}
}
