package main

import (
	"context"
	"log/slog"
	"net"

	"github.com/repomcp/repomcp/internal/admin"
	"github.com/repomcp/repomcp/internal/cli"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/metrics"
	"github.com/repomcp/repomcp/internal/telemetry"
)

// administration is what the operator asks, and what is sent to a collector; empty
// where there is neither a listener for it nor a collector.
type administration struct {
	listener  net.Listener
	metrics   *metrics.Metrics
	telemetry *telemetry.Telemetry
	reach     reach
	logger    *slog.Logger
}

// newAdministration uses a listener, or nil. Close it.
func newAdministration(env cli.Environment, listener net.Listener, logger *slog.Logger) (*administration, error) {
	a := &administration{listener: listener, logger: logger}
	settings := telemetry.Read(env.Lookup, logger)
	if listener != nil || settings.Metrics() {
		a.metrics = metrics.New(version())
	}
	if err := a.startTelemetry(settings); err != nil || listener == nil {
		return a, err
	}
	if a.reach = reachOf("http", listener.Addr()); a.reach.everybody {
		logger.Warn("other machines can connect to the admin listener, which asks nobody who they are; it tells the " +
			"names of all repositories")
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

// close sends what is left.
func (a *administration) close() {
	if a.telemetry != nil {
		a.telemetry.Close()
	}
}

// observer is who counts, and makes traces.
func (a *administration) observer() (all httpx.Observers) {
	if a.metrics != nil {
		all = append(all, a.metrics)
	}
	if a.telemetry != nil {
		all = append(all, a.telemetry)
	}
	return all
}

// serve answers the operator until stop is called, also while downloads finish after
// the end of ctx. Then the server is not ready.
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
		Hosts: append(hosts, a.reach.names...), Logger: a.logger,
	})
	context.AfterFunc(ctx, server.Drain)
	a.logger.Info("metrics and health are served", "address", a.reach.shown())
	return runUntil(context.WithoutCancel(ctx), func(ctx context.Context) { server.Serve(ctx, a.listener) })
}
