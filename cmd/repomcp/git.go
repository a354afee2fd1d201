package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/resources/uploadpack"
)

// gitFlags are the settings of the address for git clients.
type gitFlags struct {
	program string
}

func (f *gitFlags) define(set *pflag.FlagSet) {
	set.StringVar(&f.program, "git", "",
		"git that answers git clients at /git/{repository}, read only: the path of a program of version "+
			uploadpack.Oldest+" or later, or off (default: the one in the PATH, if there is one)")
}

// open returns the engine that answers git clients; nil if there is none. It is an error only if the flag names one.
func (f *gitFlags) open(
	ctx context.Context, allowUnreachable bool, limiter *limits.Limiter, logger *slog.Logger,
) (*uploadpack.Engine, error) {
	program, err := uploadpack.Choose(ctx, f.program)
	switch {
	case err != nil && f.program != "":
		return nil, cli.Misused(fmt.Errorf("--git: %w", err))
	case err != nil:
		logger.Info("git clients are not answered", "cause", err)
		return nil, nil
	case program.Path == "":
		return nil, nil
	default:
		return uploadpack.New(uploadpack.Options{
			Program: program, AllowUnreachable: allowUnreachable, Limits: limiter, Logger: logger,
		}), nil
	}
}
