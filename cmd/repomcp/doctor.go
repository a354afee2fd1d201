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

// errUnwell makes the process exit with 1; the report has already explained why.
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
		Long: `Check what a server with the same settings depends on, and print a line
for each check, the worst first: a fault is something that does not work, a
warning something that will fail soon, or could work better.

Use the flags, the environment and the --config file of serve, and run it
as the same user. A server may run meanwhile. Doctor writes only a small
object to the cache folder and to the bucket, and removes it.

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
		"also verify the checksums of all packs, loose objects and commit-graphs")
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
	redis.SetLogger(redisLog{slog.New(slog.DiscardHandler)}) // a finding reports it
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

// writeJSON writes an indented JSON value.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// refusals check the settings that make a server exit at once. The content of the files that they
// name is checked by package doctor.
var refusals = []func(serveFlags) error{
	func(f serveFlags) error { _, _, err := newLogger(io.Discard, f.mirrorFlags); return err },
	func(f serveFlags) error { _, err := f.hosts(); return err },
	func(f serveFlags) error { _, err := f.operator.read(); return err },
	func(f serveFlags) error { return f.cache.check() },
	func(f serveFlags) error { _, err := f.links.mode(); return err },
	func(f serveFlags) error { return f.links.checkLifetime() },
	func(f serveFlags) error { return archive.CheckLevel(f.level) },
	func(f serveFlags) error { _, err := f.chooseTools(tools.Options{}); return err },
	func(f serveFlags) error { _, err := f.library(nil, nil); return err },
	serveFlags.checkCertificate,
	func(f serveFlags) error { return f.authentication.check(f.publicURL, f.intendedEndpoint()) },
	serveFlags.checkAccess,
	func(f serveFlags) error { return f.checkFetchAge() },
	func(f serveFlags) error { return f.checkCheckoutOrigin() },
	func(f serveFlags) error { _, err := f.proxies(); return err },
}

// intendedEndpoint returns how clients could connect if the server listened. Package doctor checks an
// invalid address.
func (f serveFlags) intendedEndpoint() endpoint {
	at := "http"
	if f.tlsCert != "" {
		at = "https"
	}
	if path, ok := strings.CutPrefix(f.listen, unixPrefix); ok {
		return endpointAt(at, &net.UnixAddr{Name: path, Net: "unix"})
	}
	address, err := net.ResolveTCPAddr("tcp", f.listen)
	if err != nil {
		return endpoint{}
	}
	if address.IP == nil {
		address.IP = net.IPv6unspecified
	}
	return endpointAt(at, address)
}

// asking returns the server's authentication settings. The audience is "" if unknown.
func (f serveFlags) asking(at endpoint) doctor.Asking {
	a := doctor.Asking{Tokens: f.authentication.tokens, Issuer: f.authentication.issuer, Access: f.access}
	if a.Issuer != "" {
		a.Audience, _ = f.authentication.audienceAt(f.publicURL, at) // an error is among the refusals
	}
	return a
}

// examined returns the settings of a server for its doctor.
func (f serveFlags) examined(env cli.Environment) doctor.Settings {
	budget, at := f.limiting.budget(env), f.intendedEndpoint()
	f.fitCaches(budget)
	s := doctor.Settings{
		Asking: f.asking(at), Exposure: warningOf(f, at, f.authentication.asks()), TrustedProxies: f.trustedProxies,
		FetchHook: f.fetchHook, Git: f.git.program, Budget: budget,
		Root: f.root, HideRefs: f.hideRefs, Listen: f.listen, AdminListen: f.adminListen, Probe: admin.Probe,
		AdminToken: f.operator.wanted(), AdminTokenFile: f.operator.tokenFile, PublicURL: f.publicURL,
		AllowedHosts: f.allowedHosts, Connections: f.maxConnections, Watched: f.maxSubscriptions,
		Memory: f.caches(), TLSCert: f.tlsCert, TLSKey: f.tlsKey,
		SessionKey: f.sessionKeyFile,
		LinkKeys:   f.links.keyFile, Redis: f.links.redis, CacheDir: f.cache.dir, CacheBytes: f.cache.bytes,
		Bucket: f.cache.objects, PublicBucket: f.cache.public,
	}
	if f.noEvents {
		s.Watched = 0
	}
	s.Skills, _ = f.library(nil, nil) // an error is among the refusals
	for _, refuse := range refusals {
		if err := refuse(f); err != nil {
			s.Refused = append(s.Refused, err)
		}
	}
	return s
}
