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

// reloadInterval is how long a new key, a token or a revocation takes to be seen.
const reloadInterval = 2 * time.Second

// followed is something that is read again while the server runs, by what it is.
type followed struct {
	what string
	// read reads it again on SIGHUP, and ifChanged when the file has changed; one of them
	// may be nil.
	read      func() error
	ifChanged func() (changed bool, err error)
}

// follow reads again what changes, and everything whenever SIGHUP comes, until ctx ends.
// What cannot be read stays as it was.
func follow(ctx context.Context, logger *slog.Logger, list []followed) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	ticker := time.NewTicker(reloadInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			for _, f := range list {
				if err := f.readAgain(); err != nil {
					logger.Error("SIGHUP: what was read before stays", "what", f.what, "error", err)
				} else {
					logger.Info("SIGHUP: read again", "what", f.what)
				}
			}
		case <-ticker.C:
			for _, f := range list {
				f.look(logger)
			}
		}
	}
}

func (f followed) readAgain() error {
	if f.read != nil {
		return f.read()
	}
	_, err := f.ifChanged()
	return err
}

func (f followed) look(logger *slog.Logger) {
	if f.ifChanged == nil {
		return
	}
	switch changed, err := f.ifChanged(); {
	case err != nil:
		logger.Error("a file was not read again; what it said before stays", "file", f.what, "error", err)
	case changed:
		logger.Info("a file was read again", "file", f.what)
	}
}

// followed is what is read again while the service runs.
func (s *service) followed(c *cobra.Command, level *slog.LevelVar) []followed {
	list := []followed{{"log level", func() error {
		name, err := cli.FileSetting(c, "log-level")
		if err != nil {
			return err
		}
		return setLevel(level, name)
	}, nil}}
	if s.cert != nil {
		list = append(list, followed{"certificate", s.cert.reload, nil})
	}
	if tokens := s.asking.tokens; tokens != nil {
		list = append(list, followed{"tokens", tokens.Reload, tokens.ReloadIfChanged})
	}
	if s.access != nil {
		list = append(list, followed{"access rules", func() error {
			err := s.access.Reload()
			if err == nil {
				s.subscriptions.Reconsider()
			}
			return err
		}, func() (bool, error) {
			changed, err := s.access.ReloadIfChanged()
			if changed {
				s.subscriptions.Reconsider()
			}
			return changed, err
		}})
	}
	if s.linking.keys != nil && s.flags.links.keyFile != "" {
		list = append(list, followed{"link keys", nil, s.linking.keys.ReloadIfChanged})
	}
	if s.linking.revocations != nil {
		list = append(list, followed{"link revocations", nil, s.linking.revocations.ReloadIfChanged})
	}
	return list
}
