package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
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
	c *cobra.Command, level *slog.LevelVar, cert *certificate, l *linking, a *accessControl,
) reloads {
	list := reloads{{"log level", func() error {
		name, err := fileSetting(c, "log-level")
		if err != nil {
			return err
		}
		return setLevel(level, name)
	}}}
	if cert != nil {
		list = append(list, reloads{{"certificate", cert.reload}}...)
	}
	if a.rules != nil {
		list = append(list, reloads{{"access rules", a.reload}}...)
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
