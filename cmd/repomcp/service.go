package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/internal/access/rules"
	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/operate/audit"
	"github.com/repomcp/repomcp/internal/operate/metrics"
	"github.com/repomcp/repomcp/internal/operate/statuspage"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/resources/uploadpack"
)

// service is what serve runs, in the order of opening: later parts use earlier ones. Unopened parts
// are nil.
type service struct {
	flags  serveFlags
	logger *slog.Logger
	settings
	*mirrors
	sockets  sockets
	at       endpoint
	asking   *authentication
	operator *administration
	audit    *audit.Log // nil: none is written
	linking  *linking
	caching  *caching
	git      *uploadpack.Engine // nil: git clients are not answered
	server   *httpx.Server
}

// settings are the loaded values of flags that name files.
type settings struct {
	cert *certificate
	key  []byte // of sessions
	// operatorToken is required by the admin listener; "" for none.
	operatorToken string
	hosts         []string
	access        *rules.Rules
	proxies       httpx.Proxies
}

// read reads the files that the flags name, and refuses contradictions.
func (f serveFlags) read() (s settings, err error) {
	if s.cert, err = f.certificate(); err != nil {
		return s, err
	}
	if s.key, err = f.sessionKey(); err != nil {
		return s, err
	}
	if s.operatorToken, err = f.operator.read(); err != nil {
		return s, err
	}
	if s.hosts, err = f.hosts(); err != nil {
		return s, err
	}
	if s.access, err = f.accessRules(); err != nil {
		return s, err
	}
	s.proxies, err = f.proxies()
	return s, err
}

// open opens all parts. Close the service, also after an error.
func (s *service) open(ctx context.Context, env cli.Environment) (err error) {
	if s.settings, err = s.flags.read(); err != nil {
		return err
	}
	limiter := s.flags.limit(env)
	if s.mirrors, err = s.flags.open(limiter, s.logger, s.access.Visible); err != nil {
		return err
	}
	redis.SetLogger(redisLog{s.logger})
	// Links contain the address.
	if s.sockets, err = s.flags.openSockets(ctx); err != nil {
		return err
	}
	address := s.sockets.clients.Addr()
	s.at = endpointAt(scheme(s.cert), address)
	if s.asking, err = s.flags.authentication.open(s.flags.publicURL, s.at, s.logger); err != nil {
		return err
	}
	if s.operator, err = newAdministration(env, s.sockets.admin, s.operatorToken, s.logger); err != nil {
		return err
	}
	if s.audit, err = s.openAudit(); err != nil {
		return err
	}
	leases := s.flags.cache.objects != ""
	s.linking, err = s.flags.links.open(s.flags.publicURL, scheme(s.cert), address, leases, s.logger)
	if err != nil {
		return err
	}
	s.linking.Relevant = s.access.Relevant
	if s.caching, err = s.flags.cache.open(ctx, s.flags.links.redis, s.logger); err != nil {
		return err
	}
	if s.git, err = s.flags.git.open(ctx, s.flags.allowUnreachable, limiter, s.logger); err != nil {
		return err
	}
	contents := resources.Options{Links: s.linking.Linking, Cache: s.caching.cache, GitClients: s.git != nil}
	err = s.assemble(s.flags.mirrorFlags, contents,
		mcp.Options{Delivery: s.linking.delivery, Sessions: mcp.NewSessions(s.key)}, s.caching.shared)
	if err == nil {
		s.server = s.newServer()
	}
	return err
}

// openAudit opens the audit log that the flags name.
func (s *service) openAudit() (*audit.Log, error) {
	if s.flags.auditLog == "" {
		return nil, nil
	}
	log, err := audit.Open(audit.Options{File: s.flags.auditLog, Rule: s.access.Rule, Logger: s.logger})
	if err != nil {
		return nil, cli.Misused(fmt.Errorf("--audit-log: %w", err))
	}
	return log, nil
}

// observer returns what is told about requests.
func (s *service) observer() httpx.Observers {
	if s.audit == nil {
		return s.operator.observer()
	}
	return append(s.operator.observer(), s.audit)
}

// newServer returns the HTTP server.
func (s *service) newServer() *httpx.Server {
	return httpx.New(httpx.Options{
		MCP: s.messages, Resources: s.resources, Git: s.git, AllowedHosts: append(s.hosts, s.at.names...),
		Page: statuspage.New(statuspage.Options{
			Catalogue: s.catalogue, Version: version(), Authentication: s.asking.asks(),
			Tokens: s.asking.tokens != nil,
		}),
		AllowedOrigins: s.flags.allowedOrigins, Proxies: s.proxies,
		PublicURL: s.flags.publicURL, Authentication: s.asking.Authentication, TLS: s.cert.config(),
		WriteTimeout: s.flags.writeTimeout, Connections: s.flags.maxConnections, ClientShare: s.flags.limiting.share,
		Health: s.catalogue.Check, Limits: s.limits, MinRate: s.flags.minRate,
		Observer: s.observer(), Stages: s.operator.telemetry != nil, Logger: s.logger,
	})
}

// mostThreads is more than there can be connections. The runtime ends a process with more than 10,000 by default, and
// where a disk does not answer each request has one.
const mostThreads = 1 << 20

// run serves until the command's context ends, and then lets downloads finish.
func (s *service) run(c *cobra.Command, level *slog.LevelVar, hangups <-chan os.Signal) error {
	debug.SetMaxThreads(mostThreads)
	ctx := c.Context()
	files := s.followed(c, level)
	defer s.operator.serve(ctx, s.hosts, metrics.Sources{
		Catalogue: s.catalogue, Scheduler: s.engine.Scheduler(), Subscriptions: s.subscriptions,
		Cache: s.caching.cache, Limits: s.limits, Server: s.server, Refresher: s.refresher, Skills: s.skills,
	}, func() map[string]error { return faults(files) })()
	background := append(s.background(s.flags.mirrorFlags), s.caching.watch,
		func(ctx context.Context) { follow(ctx, s.logger, hangups, files) })
	if s.asking.issuer != nil {
		background = append(background, s.asking.issuer.Follow)
	}
	defer runUntil(ctx, background...)()
	notifySystemd(s.logger, daemon.SdNotifyReady)
	return serveUntil(ctx, s.server, s.sockets.clients, s.flags.drainTimeout, s.logger)
}

// serveUntil serves until ctx ends and then lets downloads finish.
func serveUntil(
	ctx context.Context, server *httpx.Server, listener net.Listener, drain time.Duration, logger *slog.Logger,
) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	logger.Info("stopping: downloads may finish; another signal ends them", "within_seconds", drain.Seconds())
	notifySystemd(logger, daemon.SdNotifyStopping) // before the shutdown, since an idle server ends at once
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	return errors.Join(server.Shutdown(deadline), <-failed)
}

// close closes the open parts in reverse order.
func (s *service) close() error {
	s.git.Close()
	var failed []error
	if s.caching != nil {
		failed = append(failed, s.caching.close())
	}
	if s.linking != nil {
		failed = append(failed, s.linking.close())
	}
	if s.operator != nil {
		s.operator.close()
	}
	if s.audit != nil {
		failed = append(failed, s.audit.Close())
	}
	s.sockets.close()
	if s.mirrors != nil {
		failed = append(failed, s.mirrors.close())
	}
	return errors.Join(failed...)
}
