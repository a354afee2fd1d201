package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/operate/admin"
	"github.com/repomcp/repomcp/internal/operate/doctor"
	"github.com/repomcp/repomcp/internal/tools"
)

// errUnwell makes the process end with 1; the report has said why.
var errUnwell = errors.New("there are faults")

type doctorFlags struct {
	serveFlags
	deep   bool
	asJSON bool
}

func newDoctor(env cli.Environment) *cobra.Command {
	var flags doctorFlags
	command := &cobra.Command{
		Use:   "doctor --root DIR",
		Short: "Tell what is wrong with mirrors, settings, tokens, rules, keys, clock, Redis and object storage",
		Long: `Look at what a server with the same settings would work with, and print a line
for each check, the worst first: a fault is something that does not work, a
warning something that will not for long, or not as well as it could.

Give the flags, the environment and the --config file that serve gets, and run it
as the same user. A server may run meanwhile. Nothing is written but a small
object in the cache folder and in the bucket, which is removed again.

The exit code is 0 without faults, 1 with some, and 2 for a wrong command line.`,
		Example: `  repomcp doctor --root /srv/git
  repomcp doctor --config /etc/repomcp/config.yaml --json
  repomcp doctor --root /srv/git --deep`,
		Args: takesNoArgument,
		RunE: func(c *cobra.Command, _ []string) error {
			refused := cli.ApplySettings(c, env.Lookup)
			return examine(c, env, flags, refused)
		},
	}
	defineServing(command.Flags(), &flags.serveFlags)
	command.Flags().BoolVar(&flags.deep, "deep", false,
		"also read all packs, loose objects and commit-graphs, and compare them with their checksums")
	command.Flags().BoolVar(&flags.asJSON, "json", false, "print JSON, with all findings")
	return command
}

func examine(c *cobra.Command, env cli.Environment, flags doctorFlags, refused error) error {
	if flags.root == "" && refused == nil {
		return errNoRoot
	}
	settings := flags.examined(env)
	settings.Deep = flags.deep
	settings.Unknown = cli.UnknownVariables(c.Root(), os.Environ())
	if refused != nil {
		settings.Refused = append(settings.Refused, refused)
	}
	redis.SetLogger(redisLog{slog.New(slog.DiscardHandler)}) // a finding says what it would
	report := doctor.Examine(c.Context(), settings)
	write := report.WriteText
	if flags.asJSON {
		write = func(w io.Writer) error { return writeJSON(w, report) }
	}
	if err := write(env.Stdout); err != nil {
		return err
	}
	if report.Faults > 0 {
		return errUnwell
	}
	return nil
}

// writeJSON writes a value for programs, and for people who look at it.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// refusals are for what a server ends with as soon as it has its settings. What is in
// the files that they name is for package doctor.
var refusals = []func(serveFlags) error{
	func(f serveFlags) error { _, _, err := newLogger(io.Discard, f.mirrorFlags); return err },
	func(f serveFlags) error { _, err := f.hosts(); return err },
	func(f serveFlags) error { _, err := f.operator.read(); return err },
	func(f serveFlags) error { return f.cache.check() },
	func(f serveFlags) error { _, err := f.links.mode(); return err },
	func(f serveFlags) error { return f.links.checkLifetime() },
	func(f serveFlags) error { return archive.CheckLevel(f.level) },
	func(f serveFlags) error { _, err := f.chooseTools(tools.Options{}); return err },
	serveFlags.checkCertificate,
	func(f serveFlags) error { return f.authentication.check(f.publicURL, f.intendedReach()) },
	serveFlags.checkAccess,
	func(f serveFlags) error { return f.checkFetchAge() },
	func(f serveFlags) error { _, err := f.proxies(); return err },
}

// intendedReach is how clients could connect if the server listened. A listener that
// nobody understands is for package doctor.
func (f serveFlags) intendedReach() reach {
	at := "http"
	if f.tlsCert != "" {
		at = "https"
	}
	if path, ok := strings.CutPrefix(f.listen, unixPrefix); ok {
		return reachOf(at, &net.UnixAddr{Name: path, Net: "unix"})
	}
	address, err := net.ResolveTCPAddr("tcp", f.listen)
	if err != nil {
		return reach{}
	}
	if address.IP == nil {
		address.IP = net.IPv6unspecified
	}
	return reachOf(at, address)
}

// asking is how a server finds out who asks. The audience is "" where it is not known.
func (f serveFlags) asking(at reach) doctor.Asking {
	a := doctor.Asking{Tokens: f.authentication.tokens, Issuer: f.authentication.issuer, Access: f.access}
	if a.Issuer != "" {
		a.Audience, _ = f.authentication.audienceAt(f.publicURL, at) // why is among the refusals
	}
	return a
}

// examined are the settings of a server as its doctor wants them.
func (f serveFlags) examined(env cli.Environment) doctor.Settings {
	budget, at := f.limiting.budget(env), f.intendedReach()
	f.fitCaches(budget)
	s := doctor.Settings{
		Asking: f.asking(at), Exposure: warningOf(f, at, f.authentication.asks()), TrustedProxies: f.trustedProxies,
		FetchHook: f.fetchHook, Git: f.git.program, Budget: budget,
		Root: f.root, HideRefs: f.hideRefs, Listen: f.listen, AdminListen: f.adminListen, Probe: admin.Probe,
		AdminToken: f.operator.wanted(), AdminTokenFile: f.operator.tokenFile, PublicURL: f.publicURL,
		AllowedHosts: f.allowedHosts, Connections: f.maxConnections, Watched: f.maxSubscriptions,
		Memory: f.historyCache + f.searchCache, TLSCert: f.tlsCert, TLSKey: f.tlsKey, SessionKey: f.sessionKeyFile,
		LinkKeys: f.links.keyFile, Revocations: f.links.revocations,
		Redis: f.links.redis, CacheDir: f.cache.dir, CacheBytes: f.cache.bytes, Bucket: f.cache.objects,
		PublicBucket: f.cache.public,
	}
	if f.noEvents {
		s.Watched = 0
	}
	for _, refuse := range refusals {
		if err := refuse(f); err != nil {
			s.Refused = append(s.Refused, err)
		}
	}
	return s
}
