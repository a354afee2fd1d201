package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/repomcp/repomcp/internal/access/rules"
	"github.com/repomcp/repomcp/internal/cli"
)

// accessControl is the rules of who may read what, and who is told when they change.
type accessControl struct {
	rules   *rules.Rules // nil: all who are let in may read everything
	changed func()
	logger  *slog.Logger
}

// checkAccess refuses flags that rules cannot go with.
func (f serveFlags) checkAccess() error {
	if f.access == "" || !f.allowUnreachable {
		return nil
	}
	return cli.Misused(errors.New("--allow-unreachable shows what no ref leads to, also of repositories that " +
		"objects are borrowed from, which --access may forbid; leave one of them out"))
}

// accessControl reads the rules, if there are any.
func (f serveFlags) accessControl(logger *slog.Logger) (*accessControl, error) {
	a := &accessControl{changed: func() {}, logger: logger}
	if f.access == "" {
		return a, nil
	}
	if err := f.checkAccess(); err != nil {
		return nil, err
	}
	held, err := rules.Load(f.access)
	if err != nil {
		return nil, cli.Misused(fmt.Errorf("--access: %w", err))
	}
	a.rules = held
	return a, nil
}

// watch follows changes of the file until ctx ends.
func (a *accessControl) watch(ctx context.Context) {
	if a.rules == nil {
		return
	}
	followFiles(ctx, a.logger, followed{"access rules", func() (changed bool, err error) {
		if changed, err = a.rules.ReloadIfChanged(); changed {
			a.changed()
		}
		return changed, err
	}})
}

// reload reads the file again, whether or not it looks changed.
func (a *accessControl) reload() error {
	err := a.rules.Reload()
	if err == nil {
		a.changed()
	}
	return err
}
