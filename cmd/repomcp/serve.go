package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/httpx"
)

// minSessionKeyBytes is the minimal length of a key that resists guessing.
const minSessionKeyBytes = 32

const (
	// thisMachine is the address that is only reachable from this machine.
	thisMachine = "127.0.0.1"
	// defaultListen is the default address to listen at.
	defaultListen = thisMachine + ":8080"
)

type serveFlags struct {
	mirrorFlags
	stdio          bool
	listen         string
	adminListen    string
	operator       operatorFlags
	tlsCert        string
	tlsKey         string
	publicURL      string
	allowedHosts   []string
	allowedOrigins []string
	trustedProxies []string
	maxConnections int
	writeTimeout   time.Duration
	minRate        int64
	sessionKeyFile string
	authentication authenticationFlags
	access         string
	auditLog       string
	links          linkFlags
	cache          cacheFlags
	git            gitFlags
}

func newServe(env cli.Environment) *cobra.Command {
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
can be resumed, and the lists /refs/{repository} and /repositories. git clones
and fetches from /git/{repository} if the machine has git. The server ends
cleanly on SIGTERM: running downloads may finish within --drain-timeout.`,
		Example: `  repomcp serve --root /srv/git
  REPOMCP_ROOT=/srv/git repomcp serve --listen 127.0.0.1:9000
  repomcp serve --root /srv/git --listen :8080 --public-url https://git.example.com`,
		Args: func(c *cobra.Command, args []string) error {
			if err := takesNoArgument(c, args); err != nil || !flags.stdio {
				return err
			}
			return refuseListening(c.Flags())
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if flags.stdio {
				return serveStdio(c, env, flags.mirrorFlags)
			}
			return serve(c, env, flags)
		},
	}
	command.Flags().BoolVar(&flags.stdio, "stdio", false,
		"serve the program that started this one, as repomcp stdio does")
	defineServing(command.Flags(), &flags)
	return command
}

// defineServing defines the settings of a server, which doctor accepts as well.
func defineServing(set *pflag.FlagSet, flags *serveFlags) {
	flags.define(set)
	set.Var(newListenAddress(&flags.listen, defaultListen), "listen",
		"address to listen on, or a port of 127.0.0.1; port 0 picks a free one, and unix:PATH is a Unix socket")
	set.Var(newListenAddress(&flags.adminListen, ""), "admin-listen",
		"address of metrics, readiness and profiles, for the operator alone, such as 127.0.0.1:9090 (default: none)")
	flags.operator.define(set)
	set.StringVar(&flags.tlsCert, "tls-cert", "",
		"file with the certificate and its chain (PEM): HTTPS is served. SIGHUP reloads it")
	set.StringVar(&flags.tlsKey, "tls-key", "", "file with the key of --tls-cert (PEM)")
	set.StringVar(&flags.publicURL, "public-url", "",
		"address under which clients reach the server, when it is another one")
	set.StringSliceVar(&flags.allowedHosts, "allowed-host", nil,
		"additional name for the Host header, besides localhost and the public URL's (repeatable)")
	set.StringSliceVar(&flags.allowedOrigins, "allowed-origin", nil,
		"web origin whose pages may use the server, such as https://ide.example (repeatable)")
	set.StringSliceVar(&flags.trustedProxies, "trusted-proxy", nil,
		"address or network of a proxy whose X-Forwarded-For names the client, or unix for a Unix socket (repeatable)")
	set.DurationVar(&flags.writeTimeout, "write-timeout", 2*time.Minute,
		"how long a client may accept no bytes before it is dropped")
	set.Var(cli.NewSize(&flags.minRate, 8<<10), "min-rate",
		"minimal bytes per second of a client while the server is full; the slowest is dropped first")
	set.IntVar(&flags.maxConnections, "max-connections", 0,
		"maximal number of connections with a request, beside an eighth more that wait; 0: with those half of the "+
			"descriptors and threads that the process may have, at most 10000")
	set.StringVar(&flags.sessionKeyFile, "session-key-file", "",
		"file with a secret of 32 bytes or more that signs session ids; servers that share it accept each other's "+
			"sessions")
	flags.authentication.define(set)
	set.StringVar(&flags.access, "access", "",
		"file with the rules for repositories (YAML), followed as it changes; without it all admitted clients may "+
			"read everything")
	set.StringVar(&flags.auditLog, "audit-log", "",
		"file that gets a line of JSON for each decision about who reads what; - is standard output (default: none)")
	flags.links.define(set)
	flags.cache.define(set)
	flags.git.define(set)
}

func serve(c *cobra.Command, env cli.Environment, flags serveFlags) error {
	if flags.root == "" {
		return errNoRoot
	}
	env.Collect(cli.ServeGarbage)
	defer outliveReaders()()
	logger, level, err := newLogger(env.Stderr, flags.mirrorFlags)
	if err != nil {
		return err
	}
	cli.WarnOfSettings(logger, c.Root(), os.Environ())
	warnOfReaders(logger, flags.sessionKeyFile, flags.links.keyFile, flags.tlsKey, flags.operator.tokenFile)
	hangups, stop := catchHangups()
	defer stop()
	s := &service{flags: flags, logger: logger}
	if err := s.open(c.Context(), env); err != nil {
		return errors.Join(err, s.close())
	}
	greet(env.Stderr, flags, s.at, s.asking.asks(), len(s.catalogue.Names()), logger)
	err = errors.Join(s.run(c, level, hangups), s.close())
	logger.Info("stopped", "clean", err == nil)
	return err
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

// redisLog receives the messages of go-redis, such as failed connections. It is set for the whole
// process, because the library supports nothing else. Circuit breakers limit its volume.
type redisLog struct{ logger *slog.Logger }

// Printf implements the logger of go-redis.
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
		return nil, cli.Misused(fmt.Errorf("session key: the file needs %d bytes or more, for example from: openssl "+
			"rand -base64 48", minSessionKeyBytes))
	}
	return key, nil
}

// proxies returns the trusted proxies.
func (f serveFlags) proxies() (httpx.Proxies, error) {
	proxies, err := httpx.ParseProxies(f.trustedProxies)
	if err != nil {
		return proxies, cli.Misused(fmt.Errorf("--trusted-proxy: %w", err))
	}
	return proxies, nil
}

// hosts returns the names accepted in the Host header.
func (f serveFlags) hosts() ([]string, error) {
	if f.publicURL == "" {
		return f.allowedHosts, nil
	}
	u, err := url.Parse(f.publicURL)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, cli.Misused(fmt.Errorf("--public-url %q is no address such as https://git.example.com",
			f.publicURL))
	}
	return append([]string{u.Hostname()}, f.allowedHosts...), nil
}
