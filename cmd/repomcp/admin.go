package main

import (
	"context"
	"log/slog"
	"net"

	"github.com/repomcp/repomcp/internal/admin"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/metrics"
)

// administration is what the operator asks; empty where there is no listener for it.
type administration struct {
	listener net.Listener
	metrics  *metrics.Metrics
	reach    reach
	logger   *slog.Logger
}

// newAdministration uses a listener, or nil.
func newAdministration(listener net.Listener, logger *slog.Logger) *administration {
	a := &administration{listener: listener, logger: logger}
	if listener == nil {
		return a
	}
	a.metrics, a.reach = metrics.New(version()), reachOf("http", listener.Addr())
	if a.reach.everybody {
		logger.Warn("other machines can connect to the admin listener, which asks nobody who they are; it tells the " +
			"names of all repositories")
	}
	return a
}

// observer is nil where nobody asks for the numbers.
func (a *administration) observer() httpx.Observer {
	if a.metrics == nil {
		return nil
	}
	return a.metrics
}

// serve answers the operator until stop is called, also while downloads finish after
// the end of ctx. Then the server is not ready.
func (a *administration) serve(ctx context.Context, hosts []string, sources metrics.Sources) (stop func()) {
	if a.listener == nil {
		return func() {}
	}
	a.metrics.Read(sources)
	server := admin.New(admin.Options{
		Metrics: a.metrics.Handler(), Catalogue: sources.Catalogue, Health: sources.Catalogue.Check,
		Hosts: append(hosts, a.reach.names...), Logger: a.logger,
	})
	context.AfterFunc(ctx, server.Drain)
	a.logger.Info("metrics and health are served", "address", a.reach.shown())
	return runUntil(context.WithoutCancel(ctx), func(ctx context.Context) { server.Serve(ctx, a.listener) })
}
