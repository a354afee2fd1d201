// Package remote holds the commands that ask a server: ls, cat, get, sync, and login and
// logout, which say as whom; and status, which says what a sync has left.
package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/checkout"
	"github.com/repomcp/repomcp/internal/cli"
	"github.com/repomcp/repomcp/internal/fastopen"
)

// Commands are those that ask a server.
func Commands(env cli.Environment) []*cobra.Command {
	return []*cobra.Command{
		newList(env), newCat(env), newGet(env), newSync(env), newStatus(env), newLogin(env), newLogout(env),
	}
}

// target is the server that a command asks, and how it is asked.
type target struct {
	env      cli.Environment
	own      ownCredentials
	url      string
	protocol string
	origins  []string
	maxBytes int64
	idle     time.Duration
	retries  int
	poll     time.Duration // of a watch
	fastOpen bool
	json     bool
	server   *client.Client // nil before one is needed
}

func (r *target) define(set *pflag.FlagSet) {
	set.StringVar(&r.url, "url", "",
		"the MCP endpoint, where it is not the first argument: https://, wss:// or stdio:COMMAND")
	r.own.env = r.env
	r.own.define(set)
	set.StringVar(&r.protocol, "protocol", "", "revision of MCP to speak (default: the newest that both know)")
	set.StringSliceVar(&r.origins, "origin", nil,
		"origin besides the server's own that downloads may come from, as https://HOST (repeatable)")
	set.Var(cli.NewSize(&r.maxBytes, 0), "max-bytes", "the largest download that is taken; 0 is any")
	set.DurationVar(&r.idle, "idle-timeout", 0, "for how long the server may give nothing (default 1m30s)")
	set.IntVar(&r.retries, "retries", defaultRetries, "how often in a row a request is sent again that failed")
	set.BoolVar(&r.fastOpen, "fast-open", false,
		"send the first request with the packet that opens the connection (TCP Fast Open), where both systems allow it")
	set.BoolVar(&r.json, "json", false, "print one JSON object per line")
}

// defaultRetries are some seconds, as long as a server takes to be replaced.
const defaultRetries = 6

// options are those of a client of a server, by its address.
func (r *target) options(server string) (client.Options, error) {
	authorization, err := r.own.header(server)
	retries := r.retries
	if retries == 0 {
		retries = -1 // as package client has it
	}
	o := client.Options{
		Authorization: authorization, Protocol: r.protocol, Origins: r.origins, MaxStreamSize: r.maxBytes,
		Idle: r.idle, Retries: retries, Poll: r.poll,
	}
	if r.fastOpen {
		o.HTTP = fastopen.Client()
	}
	return o, err
}

// endpoint takes the URL off the arguments, or finds it in the settings.
func (r *target) endpoint(args []string) (rest []string, err error) {
	if len(args) > 0 && isEndpoint(args[0]) {
		r.url, args = args[0], args[1:]
	}
	if r.url == "" {
		return nil, cli.Misused(errors.New("name the MCP endpoint, as the first argument or in REPOMCP_URL"))
	}
	r.url = endpointOf(r.url)
	return args, nil
}

// endpointOf is the MCP endpoint of a server that is named without a path.
func endpointOf(server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Path != "" && u.Path != "/" {
		return server
	}
	u.Path = "/mcp"
	if strings.HasPrefix(u.Scheme, "ws") {
		u.Path = "/ws"
	}
	return u.String()
}

func isEndpoint(text string) bool {
	return isURL(text) || isCommand(text) || strings.HasPrefix(text, "ws://") || strings.HasPrefix(text, "wss://")
}

// isCommand reports whether an endpoint is a program on this machine.
func isCommand(endpoint string) bool { return strings.HasPrefix(endpoint, "stdio:") }

func isURL(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// connect agrees with the server on a protocol.
func (r *target) connect(ctx context.Context) (*client.Client, error) {
	return r.reach(func(o client.Options) (*client.Client, error) { return client.Connect(ctx, r.url, o) })
}

func (r *target) reach(connect func(client.Options) (*client.Client, error)) (_ *client.Client, err error) {
	options, err := r.options(r.url)
	if err != nil {
		return nil, err
	}
	r.server, err = connect(options)
	return r.server, r.misused(err)
}

// close ends the connection to the server, and the program that was started for it.
func (r *target) close() {
	if r.server != nil {
		_ = r.server.Close() // nothing is left that could fail
	}
}

// begin makes a client without a round trip, where the protocol allows it.
func (r *target) begin(ctx context.Context) (*client.Client, error) {
	if r.protocol != "" {
		return r.connect(ctx)
	}
	return r.reach(func(o client.Options) (*client.Client, error) { return client.New(r.url, o) })
}

// misused says that an error before the first request is one of the command line.
func (r *target) misused(err error) error {
	if err == nil || ExitCode(err) != cli.ExitFailed || errors.Is(err, context.Canceled) {
		return err
	}
	return cli.Misused(err)
}

type source struct{ address, uri string }

// source finds out which of both forms the arguments have.
func (r *target) source(args []string) (source, error) {
	if len(args) == 1 && isURL(args[0]) {
		return source{address: args[0]}, nil
	}
	rest, err := r.endpoint(args)
	if err != nil {
		return source{}, err
	}
	if len(rest) != 1 {
		return source{}, cli.Misused(errors.New("name one resource"))
	}
	return source{uri: rest[0]}, nil
}

// open begins the download, behind the part that is there.
func (r *target) open(ctx context.Context, s source, have client.Part) (*client.Download, error) {
	if s.uri == "" {
		options, err := r.options(s.address)
		switch {
		case err != nil:
			return nil, err
		case have.Content == nil:
			return client.Open(ctx, s.address, options)
		default:
			return client.OpenRest(ctx, s.address, have, options)
		}
	}
	c, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	return c.StreamRest(ctx, s.uri, have)
}

// tell prints an event for a program that embeds this one.
func (r *target) tell(e any) {
	if r.json {
		_ = json.NewEncoder(r.env.Stdout).Encode(e) // a reader that is gone learns nothing
	}
}

// bar shows progress on a terminal, and is silent elsewhere.
func (r *target) bar(size int64, what string) *progressbar.ProgressBar {
	out := r.env.Stderr
	if r.json || !cli.IsTerminal(out) {
		out = io.Discard
	}
	return progressbar.NewOptions64(size, progressbar.OptionSetWriter(out), progressbar.OptionShowBytes(true),
		progressbar.OptionSetDescription(what), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(size > 0))
}

// unpackMemory is what the garbage collector aims at where an archive is unpacked. With
// the program itself, that takes less than 64 MiB.
const unpackMemory = 32 << 20

// exitCodes are those of errors by what they are about. Any other is cli.ExitFailed.
var exitCodes = map[checkout.Code]int{
	checkout.CodeArguments: cli.ExitUsage, checkout.CodeOccupied: cli.ExitUsage,
	checkout.CodeLocked: cli.ExitLocked,
	checkout.CodeBusy:   cli.ExitNetwork, checkout.CodeNetwork: cli.ExitNetwork,
	checkout.CodeGone: cli.ExitRefused, checkout.CodeUnauthorized: cli.ExitRefused,
	checkout.CodeRefused: cli.ExitRefused, checkout.CodeOtherOrigin: cli.ExitRefused,
	checkout.CodeTooLarge: cli.ExitRefused,
	checkout.CodeDamaged:  cli.ExitDamaged, checkout.CodeUnsafe: cli.ExitDamaged,
}

// ExitCode is that of a command that failed.
func ExitCode(err error) int {
	if _, usage := errors.AsType[*cli.UsageError](err); usage {
		return cli.ExitUsage
	}
	if errors.Is(err, errKept) || errors.Is(err, errSkipped) {
		return cli.ExitKept
	}
	return cmp.Or(exitCodes[checkout.CodeOf(err)], cli.ExitFailed)
}

const endpointHelp = `The endpoint is https://HOST/mcp, wss://HOST/ws (the path may be left out of both), or
stdio: with a command behind it that serves over its standard streams. No shell reads that command: spaces separate
its words, and quotes (' or ") keep those that have spaces together.`

var exitCodesHelp = fmt.Sprintf(`The exit code is %d for success, %d for a wrong command line, %d where the server
cannot be reached, %d where it refuses, %d for damaged or unsafe content, and %d
for anything else.`, cli.ExitOK, cli.ExitUsage, cli.ExitNetwork, cli.ExitRefused, cli.ExitDamaged, cli.ExitFailed)
