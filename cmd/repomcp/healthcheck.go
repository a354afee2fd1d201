package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/operate/admin"
)

// newHealthcheck is for containers, which contain no other HTTP client.
func newHealthcheck() *cobra.Command {
	var listen, cert string
	var timeout time.Duration
	command := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask the server on this machine whether it is well",
		Long: `Ask the server on this machine for /healthz. The exit code is 0 when it is well, and
1 when it is not or does not answer. Where the server's settings are in the
environment or in a configuration file the same are used here.`,
		Example: `  repomcp healthcheck
  repomcp healthcheck --listen 127.0.0.1:9000
  REPOMCP_LISTEN=unix:/run/repomcp/socket repomcp healthcheck`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			return admin.Probe(ctx, listen, cert != "")
		},
	}
	set := command.Flags()
	set.Var(newListenAddress(&listen, defaultListen), "listen", "address at which the server listens, or unix:PATH")
	set.StringVar(&cert, "tls-cert", "", "any value: the server speaks HTTPS; its certificate is not checked")
	set.DurationVar(&timeout, "timeout", 3*time.Second, "how long an answer may take")
	return command
}
