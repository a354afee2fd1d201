package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/history"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/tools"
	"github.com/repomcp/repomcp/internal/tools/prompts"
	"github.com/repomcp/repomcp/internal/watch"
)

var errNoRoot = &usageError{errors.New("name the folder of the git mirrors with --root DIR or REPOMCP_ROOT")}

// defaultHistoryCache is what its parts take by default.
const defaultHistoryCache = history.DefaultFactsBytes + repos.DefaultGraphBytes + repos.DefaultCommitGraphBytes

// minSessionKeyBytes is the length from which a key cannot be guessed.
const minSessionKeyBytes = 32

type serveFlags struct {
	root             string
	listen           string
	publicURL        string
	allowedHosts     []string
	allowedOrigins   []string
	allowUnreachable bool
	hideRefs         []string
	readLimit        int64
	binaryLimit      int64
	limits           archive.Limits
	level            int
	rescan           time.Duration
	verify           bool
	searchCache      int64
	tools            []string
	noLinks          bool
	historyCache     int64
	noEvents         bool
	maxSubscriptions int
	maxConnections   int
	drainTimeout     time.Duration
	writeTimeout     time.Duration
	sessionKeyFile   string
	links            linkFlags
	cache            cacheFlags
	logFormat        string
	logLevel         string
}

func newServe(env environment) *cobra.Command {
	var flags serveFlags
	command := &cobra.Command{
		Use:   "serve --root DIR",
		Short: "Serve the repositories below a folder over HTTP",
		Long: `Serve all git repositories below a folder: bare mirrors and the .git folders of
working clones, at any depth. A repository's name is its path below the folder
without .git. The folder is only read, never locked, and may be changed by git
at any time.

The server speaks MCP on /mcp: Streamable HTTP in the versions from 2025-03-26
to 2026-07-28, and resources/stream. Plain downloads are
/archive/{repository}/{ref}.{format} and /raw/{repository}/{ref}/{path}, which
can be resumed, and the lists /refs/{repository} and /repositories. It ends
cleanly on SIGTERM: downloads that are under way may finish within
--drain-timeout.`,
		Example: `  repomcp serve --root /srv/git
  REPOMCP_ROOT=/srv/git repomcp serve --listen 127.0.0.1:9000
  repomcp serve --root /srv/git --listen :8080 --public-url https://git.example.com`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("serve takes no argument %q; name the folder of the mirrors with "+
					"--root %s", args[0], args[0])}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return serve(c, env, flags) },
	}
	set := command.Flags()
	set.StringVar(&flags.root, "root", "", "folder of the git mirrors (required)")
	set.StringVar(&flags.listen, "listen", "127.0.0.1:8080", "address to listen on; port 0 picks a free one")
	set.StringVar(&flags.publicURL, "public-url", "",
		"address under which clients reach the server, when it is another one")
	set.StringSliceVar(&flags.allowedHosts, "allowed-host", nil,
		"name that the Host header may have, besides localhost and the public URL's (repeatable)")
	set.StringSliceVar(&flags.allowedOrigins, "allowed-origin", nil,
		"web origin whose pages may use the server, such as https://ide.example (repeatable)")
	set.BoolVar(&flags.allowUnreachable, "allow-unreachable", false,
		"also serve commits that no ref leads to, by their id")
	set.StringSliceVar(&flags.hideRefs, "hide-refs", nil, hideRefsUsage)
	set.Var(newSize(&flags.readLimit, 4<<20), "read-limit",
		"largest content of resources/read; larger ones need resources/stream")
	set.Var(newSize(&flags.binaryLimit, archive.DefaultBytes), "max-binary-bytes",
		"largest content that follows a reply as bytes (binary transfer)")
	set.Var(newSize(&flags.limits.Bytes, archive.DefaultBytes), "max-archive-bytes", "largest archive, by its tar")
	set.Int64Var(&flags.limits.Entries, "max-archive-entries", archive.DefaultEntries,
		"largest number of entries of an archive")
	set.IntVar(&flags.limits.Depth, "max-archive-depth", archive.DefaultDepth,
		"deepest nesting of folders in an archive")
	set.IntVar(&flags.limits.PathBytes, "max-archive-path", archive.DefaultPathBytes,
		"longest path in an archive, in bytes")
	set.Var(newSize(&flags.limits.BlobBytes, archive.DefaultBlobBytes), "max-archive-file",
		"largest file in an archive")
	set.IntVar(&flags.level, "compression-level", 0, "of archives, 1 (fast) to 9 (small); 0 picks a good one")
	set.DurationVar(&flags.rescan, "rescan", 10*time.Second,
		"how often the folder is searched for new and deleted repositories")
	set.BoolVar(&flags.noEvents, "no-file-events", false,
		"look for changes of watched repositories twice a second instead of having the kernel tell (inotify)")
	set.IntVar(&flags.maxSubscriptions, "max-subscriptions", 10_000,
		"how many resources all clients together may watch")
	set.Var(newSize(&flags.searchCache, search.DefaultCacheBytes), "search-cache",
		"memory for the results of earlier code searches")
	set.Var(newSize(&flags.historyCache, defaultHistoryCache), "history-cache",
		"memory for what is known of commits and paths: half of it for commit-graph files and which commits may be "+
			"read, a quarter for logs, blames and comparisons, a quarter for the parents of commits")
	set.StringSliceVar(&flags.tools, "tools", nil,
		"tools to offer, with commas between; all without it. A request chooses fewer by the header X-MCP-Tools")
	set.BoolVar(&flags.noLinks, "no-resource-links", false,
		"no resource_link in the results of tools, for frameworks that fail on it; texts and data still have the "+
			"addresses")
	set.BoolVar(&flags.verify, "verify", false,
		"read all packs and commit-graphs once in the background and log damage")
	set.DurationVar(&flags.drainTimeout, "drain-timeout", 30*time.Second, "how long downloads may take after SIGTERM")
	set.DurationVar(&flags.writeTimeout, "write-timeout", 2*time.Minute,
		"how long a client may take nothing of what is sent before it is dropped")
	set.IntVar(&flags.maxConnections, "max-connections", 0,
		"connections that may be open; 0: half of the descriptors that the process may have, at most 10000")
	set.StringVar(&flags.sessionKeyFile, "session-key-file", "",
		"file with a secret of 32 bytes or more that signs session ids; servers that share it accept each other's "+
			"sessions")
	flags.links.define(set)
	flags.cache.define(set)
	set.StringVar(&flags.logFormat, "log-format", "text", "text or json")
	set.StringVar(&flags.logLevel, "log-level", "info", "debug, info, warn or error")
	return command
}

func serve(c *cobra.Command, env environment, flags serveFlags) (err error) {
	ctx := c.Context()
	if flags.root == "" {
		return errNoRoot
	}
	env.collect(serveGarbage)
	logger, err := newLogger(env.stderr, flags)
	if err != nil {
		return err
	}
	serving := false
	defer func() { // after all that ends with the server
		if serving {
			logger.Info("stopped", "clean", err == nil)
		}
	}()
	warnOfSettings(logger, c.Root(), os.Environ())
	warnOfReaders(logger, flags.sessionKeyFile, flags.links.keyFile)
	key, err := flags.sessionKey()
	if err != nil {
		return err
	}
	hosts, err := flags.hosts()
	if err != nil {
		return err
	}
	catalogue, err := repos.Open(flags.root, repos.Options{
		AllowUnreachable: flags.allowUnreachable, HideRefs: flags.hideRefs, Rescan: flags.rescan,
		GraphBytes: flags.historyCache / 4, CommitGraphBytes: flags.historyCache / 2, Logger: logger,
	})
	if err != nil {
		return fmt.Errorf("--root %s: %w", flags.root, withoutPath(err))
	}
	defer func() { err = errors.Join(err, catalogue.Close()) }()
	engine, err := archive.NewEngine(archive.EngineOptions{Level: flags.level})
	if err != nil {
		return &usageError{err}
	}
	defer engine.Close()
	redis.SetLogger(redisLog{logger})
	// Links begin with the address.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", flags.listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", flags.listen, err)
	}
	defer func() { _ = listener.Close() }() // the server has mostly closed it
	linking, err := flags.ownLinks().open(flags.publicURL, listener.Addr(), logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, linking.close()) }()
	caching, err := flags.cache.open(ctx, flags.links.redis, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, caching.close()) }()
	found := resources.New(resources.Options{
		Catalogue: catalogue, Engine: engine, ArchiveLimits: flags.limits, Links: linking.Linking, Cache: caching.cache,
		Logger: logger,
	})
	subscriptions := watch.New(watch.Options{
		Catalogue: catalogue, NoEvents: flags.noEvents, Total: flags.maxSubscriptions, Logger: logger,
	})
	messages := mcp.New(mcp.Options{
		Catalogue: catalogue, Resources: found, Subscriptions: subscriptions, Version: version(),
		ReadLimit: flags.readLimit, BinaryLimit: flags.binaryLimit, Delivery: linking.delivery,
		Sessions: mcp.NewSessions(key), Logger: logger, Prompts: prompts.All(), Unknown: tools.Unknown,
	})
	offered, err := tools.Choose(tools.New(tools.Options{
		Catalogue: catalogue, Resources: found, NoLinks: flags.noLinks, Logger: logger,
		Searcher: search.New(catalogue, engine.Scheduler(), search.Options{CacheBytes: flags.searchCache}),
		Facts:    history.NewFacts(flags.historyCache / 4),
	}), flags.tools)
	if err != nil {
		return &usageError{fmt.Errorf("--tools: %w", err)}
	}
	messages.AddTools(offered...)
	at := reachOf(listener.Addr())
	server := httpx.New(httpx.Options{
		MCP: messages, Resources: found, AllowedHosts: append(hosts, at.names...), AllowedOrigins: flags.allowedOrigins,
		PublicURL:    flags.publicURL,
		WriteTimeout: flags.writeTimeout, Connections: flags.maxConnections, Health: catalogue.Check, Logger: logger,
	})
	if err := greet(env.stderr, flags, at, len(catalogue.Names()), logger); err != nil {
		return err
	}
	serving = true
	background := []func(context.Context){catalogue.Watch, subscriptions.Run, linking.watch, caching.watch,
		func(ctx context.Context) {
			ignoreHangups(ctx, logger)
		}}
	if flags.verify {
		background = append(background, catalogue.Verify)
	}
	stop := runUntil(ctx, background...)
	defer stop()
	return serveUntil(ctx, server, listener, flags.drainTimeout, logger)
}

// runUntil runs the functions until ctx ends or stop is called, which waits for
// them.
func runUntil(ctx context.Context, functions ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, function := range functions {
		running.Go(func() { function(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
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
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	return errors.Join(server.Shutdown(deadline), <-failed)
}

// ignoreHangups keeps SIGHUP, by which other servers reload, from ending this one.
func ignoreHangups(ctx context.Context, logger *slog.Logger) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			logger.Info("SIGHUP: there is nothing to reload; mirrors, link keys and revocations are followed as they " +
				"change, other settings need a restart")
		}
	}
}

// warnOfReaders warns of keys that every user of the machine can read.
func warnOfReaders(logger *slog.Logger, files ...string) {
	const others = 0o004
	for _, name := range files {
		if info, err := os.Stat(name); name != "" && err == nil && info.Mode().Perm()&others != 0 {
			logger.Warn("every user of this machine can read the key; take that right away with chmod o-r", "file",
				name)
		}
	}
}

// withoutPath drops the path of an error whose message names it already.
func withoutPath(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

func newLogger(w io.Writer, flags serveFlags) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(flags.logLevel)); err != nil {
		return nil, &usageError{fmt.Errorf("--log-level %q is none of debug, info, warn and error", flags.logLevel)}
	}
	options := &slog.HandlerOptions{Level: level}
	switch flags.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	default:
		return nil, &usageError{fmt.Errorf("--log-format %q is neither text nor json", flags.logFormat)}
	}
}

// redisLog takes what go-redis would print, such as connections that fail. It is
// set for the whole process: the library knows no other way. Breakers keep it
// from being much.
type redisLog struct{ logger *slog.Logger }

// Printf implements what go-redis logs to.
func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.logger.WarnContext(ctx, "Redis has trouble", "cause", fmt.Sprintf(format, v...))
}

func (f serveFlags) sessionKey() ([]byte, error) {
	if f.sessionKeyFile == "" {
		return nil, nil
	}
	key, err := os.ReadFile(f.sessionKeyFile)
	if err != nil {
		return nil, fmt.Errorf("session key: %w", err)
	}
	if key = bytes.TrimSpace(key); len(key) < minSessionKeyBytes {
		return nil, &usageError{fmt.Errorf("session key: the file needs %d bytes or more, for example from: openssl "+
			"rand -base64 48", minSessionKeyBytes)}
	}
	return key, nil
}

// hosts returns the names that the Host header may have.
func (f serveFlags) hosts() ([]string, error) {
	if f.publicURL == "" {
		return f.allowedHosts, nil
	}
	u, err := url.Parse(f.publicURL)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, &usageError{fmt.Errorf("--public-url %q is no address such as https://git.example.com",
			f.publicURL)}
	}
	return append([]string{u.Hostname()}, f.allowedHosts...), nil
}
