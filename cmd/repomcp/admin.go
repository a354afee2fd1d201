package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/operate/admin"
	"github.com/repomcp/repomcp/internal/operate/metrics"
	"github.com/repomcp/repomcp/internal/operate/telemetry"
)

// minOperatorToken is the minimal length of a token that resists guessing.
const minOperatorToken = 16

// operatorFlags define the authentication of the admin listener.
type operatorFlags struct {
	token, tokenFile string
	set              *pflag.FlagSet // distinguishes an empty token, which is a mistake, from none
}

const (
	flagOperatorToken     = "admin-token"
	flagOperatorTokenFile = "admin-token-file"
)

func (f *operatorFlags) define(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.token, flagOperatorToken, "",
		"token that --admin-listen requires for all but /healthz and /readyz; preferably set by REPOMCP_ADMIN_TOKEN, "+
			"or in a file (default: no authentication)")
	set.StringVar(&f.tokenFile, flagOperatorTokenFile, "", "file with the token of --admin-token")
}

// wanted reports whether a token is configured.
func (f operatorFlags) wanted() bool {
	return f.set.Changed(flagOperatorToken) || f.set.Changed(flagOperatorTokenFile)
}

// read returns the token; "" if none is configured.
func (f operatorFlags) read() (string, error) {
	flag, token := flagOperatorToken, f.token
	switch {
	case !f.wanted():
		return "", nil
	case f.set.Changed(flagOperatorToken) && f.set.Changed(flagOperatorTokenFile):
		return "", cli.Misused(fmt.Errorf("--%s and --%s both give the token: leave one of them out",
			flagOperatorToken, flagOperatorTokenFile))
	case f.set.Changed(flagOperatorTokenFile):
		flag = flagOperatorTokenFile
		text, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return "", cli.Misused(fmt.Errorf("--%s: %w", flag, err))
		}
		token = strings.TrimSpace(string(text))
	}
	if len(token) < minOperatorToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", cli.Misused(fmt.Errorf("--%s: a token has %d characters of ASCII or more, and no spaces, for "+
			"example from: openssl rand -hex 32", flag, minOperatorToken))
	}
	return token, nil
}

// administration is the admin listener with its metrics, and the telemetry; empty without a
// listener and a collector.
type administration struct {
	listener  net.Listener
	metrics   *metrics.Metrics
	telemetry *telemetry.Telemetry
	token     string // required by the listener; "" for none
	reach     endpoint
	logger    *slog.Logger
}

// newAdministration uses a listener, or nil. Close it.
func newAdministration(
	env cli.Environment, listener net.Listener, token string, logger *slog.Logger,
) (*administration, error) {
	a := &administration{listener: listener, token: token, logger: logger}
	settings := telemetry.Read(env.Lookup, logger)
	if listener != nil || settings.Metrics() {
		a.metrics = metrics.New(version())
	}
	if err := a.startTelemetry(settings); err != nil || listener == nil {
		return a, err
	}
	if a.reach = endpointAt("http", listener.Addr()); a.reach.external && token == "" {
		logger.Warn("other machines can connect to the admin listener, which has no authentication; it tells the " +
			"names of all repositories. Give it a token with --admin-token-file")
	}
	return a, nil
}

func (a *administration) startTelemetry(settings *telemetry.Settings) (err error) {
	if settings == nil {
		return nil
	}
	options := telemetry.Options{Settings: settings, Version: version(), Logger: a.logger}
	if a.metrics != nil {
		options.Gatherer = a.metrics
	}
	a.telemetry, err = telemetry.Start(options)
	return err
}

// close sends the remaining telemetry.
func (a *administration) close() {
	if a.telemetry != nil {
		a.telemetry.Close()
	}
}

// observer returns the collectors of metrics and traces.
func (a *administration) observer() (all httpx.Observers) {
	if a.metrics != nil {
		all = append(all, a.metrics)
	}
	if a.telemetry != nil {
		all = append(all, a.telemetry)
	}
	return all
}

// serve serves the operator until stop is called, even while downloads finish after the end of ctx.
// The server is then reported as not ready.
func (a *administration) serve(
	ctx context.Context, hosts []string, sources metrics.Sources, faults func() map[string]error,
) (stop func()) {
	if a.metrics != nil {
		a.metrics.Read(sources)
	}
	if a.listener == nil {
		return func() {}
	}
	server := admin.New(admin.Options{
		Metrics: a.metrics.Handler(), Catalogue: sources.Catalogue, Faults: faults,
		Hosts: append(hosts, a.reach.names...), Token: a.token, Logger: a.logger,
	})
	context.AfterFunc(ctx, server.Drain)
	a.logger.Info("metrics and health are served", "address", a.reach.shown())
	return runUntil(context.WithoutCancel(ctx), func(ctx context.Context) { server.Serve(ctx, a.listener) })
}
