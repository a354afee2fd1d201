package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/stdio"
	"github.com/repomcp/repomcp/internal/resources"
)

func newStdio(env cli.Environment) *cobra.Command {
	var flags mirrorFlags
	command := &cobra.Command{
		Use:   "stdio --root DIR",
		Short: "Serve the repositories below a folder to the program that starts this one",
		Long: `Serve all git repositories below a folder over MCP to one client: the program that
starts this one, such as Claude Desktop, Zed or an IDE. Messages are JSON-RPC, a
line each, on standard input and output; what is to be known besides is written
to standard error.

All versions of the protocol are served, with tools, resources, prompts,
completions and subscriptions. It ends with its input, or on SIGTERM; requests
that are under way are answered before, within --drain-timeout.`,
		Example: `  repomcp stdio --root /srv/git
  claude mcp add repomcp -- repomcp stdio --root /srv/git`,
		Args: takesNoArgument,
		RunE: func(c *cobra.Command, _ []string) error { return serveStdio(c, env, flags) },
	}
	flags.define(command.Flags())
	command.Flags().Lookup("drain-timeout").Usage = "how long requests may take after the end of the input or SIGTERM"
	command.Flags().Lookup("read-limit").Usage = "largest content of resources/read"
	return command
}

// refuseListening refuses HTTP flags on the command line.
func refuseListening(given *pflag.FlagSet) error {
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&mirrorFlags{}).define(shared)
	var others []string
	given.Visit(func(flag *pflag.Flag) {
		if shared.Lookup(flag.Name) == nil && flag.Name != "stdio" && flag.Name != "config" {
			others = append(others, "--"+flag.Name)
		}
	})
	if others == nil {
		return nil
	}
	return cli.Misused(fmt.Errorf("with --stdio no HTTP server runs: leave %s out", strings.Join(others, ", ")))
}

// serveStdio serves over the standard streams. Only messages may be written to standard output.
func serveStdio(c *cobra.Command, env cli.Environment, flags mirrorFlags) (err error) {
	if flags.root == "" {
		return errNoRoot
	}
	env.Collect(cli.ServeGarbage)
	logger, _, err := newLogger(env.Stderr, flags)
	if err != nil {
		return err
	}
	cli.WarnOfSettings(logger, c.Root(), os.Environ())
	// A client that stops reading messages or the log must not end the process by a signal: writes
	// fail instead.
	signal.Ignore(syscall.SIGPIPE)
	flags.limiting.share = 100 // there is one client
	limiter := flags.limit(env)
	served, err := flags.open(limiter, logger, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, served.close()) }()
	if err := served.assemble(flags, resources.Options{NoHTTP: true}, mcp.Options{}, nil); err != nil {
		return err
	}
	operator, err := newAdministration(env, nil, "", logger)
	if err != nil {
		return err
	}
	defer operator.close()
	greetStdio(env.Stderr, flags, len(served.catalogue.Names()), cli.IsTerminal(env.Stdout), logger)
	stop := runUntil(c.Context(), served.background(flags)...)
	defer stop()
	return stdio.Serve(c.Context(), stdio.Options{
		MCP: served.messages, In: c.InOrStdin(), Out: env.Stdout, Drain: flags.drainTimeout,
		Observer: operator.observer(), Stages: operator.telemetry != nil, Logger: logger,
	})
}

// greetStdio writes what was started, and on a terminal also how to use it.
func greetStdio(w io.Writer, flags mirrorFlags, count int, terminal bool, logger *slog.Logger) {
	if flags.logFormat == "json" {
		logger.Info("serving over standard input and output", "repositories", count, "root", flags.root, "version",
			version())
		return
	}
	// The output may have no reader.
	_, _ = fmt.Fprintf(w, "repomcp %s\nserving %s below %s over standard input and output\n", version(), plural(count),
		flags.root)
	if terminal {
		_, _ = fmt.Fprint(w, "This is for programs that start it: have one run this command. By hand, write JSON-RPC "+
			"messages, a line each, and end with Ctrl-D.\n")
	}
}
