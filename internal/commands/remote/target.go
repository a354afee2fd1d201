// Package remote holds the commands that contact a server: ls, cat, get, sync; login and logout,
// which manage credentials; connect, which configures other clients; and status, which shows what a sync
// left.
package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/checkout"
	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/git/quoting"
)

// Commands returns the commands of this package.
func Commands(env cli.Environment) []*cobra.Command {
	return []*cobra.Command{
		newList(env), newCat(env), newGet(env), newSync(env), newStatus(env), newLogin(env), newLogout(env),
		newConnect(env),
	}
}

// target is the server of a command, with the options for it.
type target struct {
	env      cli.Environment
	own      ownCredentials
	url      string
	protocol string
	origins  []string
	maxBytes int64
	idle     time.Duration
	retries  int
	poll     time.Duration // interval of a watch
	json     bool
	server   *client.Client // nil before first use
}

func (r *target) define(set *pflag.FlagSet) {
	set.StringVar(&r.url, "url", "",
		"the MCP endpoint, if it is not the first argument: https://, wss:// or stdio:COMMAND")
	r.own.env = r.env
	r.own.define(set)
	set.StringVar(&r.protocol, "protocol", "", "version of MCP (default: the newest common one)")
	set.StringSliceVar(&r.origins, "origin", nil,
		"origin besides the server's own that downloads may come from, as https://HOST (repeatable)")
	set.Var(cli.NewSize(&r.maxBytes, 0), "max-bytes", "limit of a download; 0: none")
	set.DurationVar(&r.idle, "idle-timeout", 0, "how long the server may send nothing useful (default 1m30s)")
	set.IntVar(&r.retries, "retries", defaultRetries, "how often in a row a failed request is retried")
	set.BoolVar(&r.json, "json", false, "print one JSON object per line")
}

// defaultRetries take some seconds, as long as a server needs for a restart.
const defaultRetries = 6

// options returns the client options for a server.
func (r *target) options(server string) (client.Options, error) {
	authorization, err := r.own.header(server)
	retries := r.retries
	if retries == 0 {
		retries = -1 // package client's value for no retries
	}
	return client.Options{
		Authorization: authorization, Protocol: r.protocol, Origins: r.origins, MaxStreamSize: r.maxBytes,
		Idle: r.idle, Retries: retries, Poll: r.poll,
	}, err
}

// endpoint takes the URL from the arguments, or from the settings.
func (r *target) endpoint(args []string) (rest []string, err error) {
	if len(args) > 0 {
		first, err := withScheme(args[0])
		if err != nil {
			return nil, err
		}
		if isEndpoint(first) {
			r.url, args = first, args[1:]
		}
	}
	if r.url == "" {
		hint := "https://git.example.com"
		if len(args) > 0 && !strings.Contains(args[0], "@") { // before which there may be a password
			hint = fmt.Sprintf("https://%s or http://%[1]s", args[0])
		}
		return nil, cli.Misused(fmt.Errorf("name the server with its scheme, as the first argument or in "+
			"REPOMCP_URL: %s", hint))
	}
	if r.url, err = withScheme(r.url); err != nil {
		return nil, err
	}
	r.url = endpointOf(r.url)
	return args, nil
}

// hostPort matches the beginning of an address without a scheme. Names of repositories contain no
// colon.
var hostPort = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[^/@:\s]+):[0-9]+(/|$)`)

// userPassword matches the beginning of an address with a password, with another scheme or without one.
var userPassword = regexp.MustCompile(`^([a-z]+://)?[^/@:\s]+:[^/@]*@`)

// withScheme adds http:// to an address on this machine without a scheme. The scheme of other
// servers is unknown: the error says what to write.
func withScheme(text string) (string, error) {
	host := hostPort.FindStringSubmatch(text)
	switch {
	case userPassword.MatchString(text) && !isEndpoint(text):
		return "", cli.Misused(errors.New("write the address with its scheme, https:// or http://"))
	case host == nil || isEndpoint(text):
		return text, nil
	case isLocal("http://" + text):
		return "http://" + text, nil
	default:
		return "", cli.Misused(fmt.Errorf("write https://%s or http://%[1]s", text))
	}
}

// endpointOf returns the MCP endpoint of a server whose URL has no path.
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

// isCommand reports whether an endpoint is a local program.
func isCommand(endpoint string) bool { return strings.HasPrefix(endpoint, "stdio:") }

func isURL(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// connect negotiates a protocol with the server.
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
		_ = r.server.Close() // nothing can fail any more
	}
}

// begin creates a client without a round trip, if the protocol allows that.
func (r *target) begin(ctx context.Context) (*client.Client, error) {
	if r.protocol != "" {
		return r.connect(ctx)
	}
	return r.reach(func(o client.Options) (*client.Client, error) { return client.New(r.url, o) })
}

// misused turns an error before the first request into a usage error.
func (r *target) misused(err error) error {
	if err == nil || ExitCode(err) != cli.ExitFailed || errors.Is(err, context.Canceled) {
		return err
	}
	return cli.Misused(err)
}

// source is what a command downloads: the address of a plain download, or a name on a server.
type source struct {
	what    string // for people; for an address only the server, because the whole address may grant access
	address string
	name    name
	uris    []string // candidates for the name; one, once it is open
}

// source parses the arguments as an address or a name.
func (r *target) source(args []string) (source, error) {
	if len(args) == 1 {
		address, err := withScheme(args[0])
		if err != nil || isURL(address) {
			return source{address: address, what: withoutPath(address)}, err
		}
	}
	rest, err := r.endpoint(args)
	if err != nil {
		return source{}, err
	}
	if len(rest) != 1 {
		return source{}, cli.Misused(errors.New("name what to download, such as REPO@REF/PATH"))
	}
	n := parseName(rest[0])
	return source{what: rest[0], name: n, uris: n.contents()}, nil
}

func withoutPath(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the address"
	}
	return u.Scheme + "://" + u.Host
}

// withoutUser returns an address for messages, which logs keep: without user and password.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "the server"
	case u.User == nil:
		return address
	}
	u.User = nil
	return u.String()
}

// open begins the download, after the existing part.
func (r *target) open(ctx context.Context, s *source, have client.Part) (*client.Download, error) {
	if s.address != "" {
		d, err := r.openAddress(ctx, s.address, have)
		return d, forPeople(s.what, err)
	}
	c, err := r.connect(ctx)
	if err != nil {
		return nil, forPeople(withoutUser(r.url), err)
	}
	var absent error
	for _, uri := range s.uris {
		if err := rewind(have); err != nil {
			return nil, err
		}
		d, err := c.StreamRest(ctx, uri, have)
		if !isAbsent(err) {
			s.uris = []string{uri}
			return d, forPeople(s.what, err)
		}
		absent = cmp.Or(absent, err)
	}
	return nil, forPeople(s.what, absent)
}

func (r *target) openAddress(ctx context.Context, address string, have client.Part) (*client.Download, error) {
	options, err := r.options(address)
	switch {
	case err != nil:
		return nil, err
	case have.Content == nil:
		return client.Open(ctx, address, options)
	default:
		return client.OpenRest(ctx, address, have, options)
	}
}

// rewind prepares a part to be read again.
func rewind(have client.Part) error {
	file, ok := have.Content.(io.Seeker)
	if !ok {
		return nil
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// tell prints an event for a calling program.
func (r *target) tell(e any) {
	if !r.json {
		return
	}
	if text, err := json.Marshal(e); err == nil { // strings and numbers cannot fail
		_, _ = r.env.Stdout.Write(append(quoting.JSON(text), '\n')) // a closed reader is no error
	}
}

// bar shows progress on a terminal, and nothing elsewhere. It moves only with the bytes: a
// spinner's goroutine would race with writes to the bar.
func (r *target) bar(size int64, what string) *progressbar.ProgressBar {
	out := r.env.Stderr
	if r.json || !cli.IsTerminal(out) {
		out = io.Discard
	}
	return progressbar.NewOptions64(size, progressbar.OptionSetWriter(out), progressbar.OptionShowBytes(true),
		progressbar.OptionSetDescription(what), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(size > 0),
		progressbar.OptionSetSpinnerChangeInterval(0))
}

// unpackMemory is the GOMEMLIMIT for unpacking an archive. The whole process then takes less than
// 64 MiB.
const unpackMemory = 32 << 20

// exitCodes maps errors by code. The default is cli.ExitFailed.
var exitCodes = map[checkout.Code]int{
	checkout.CodeArguments: cli.ExitUsage, checkout.CodeOccupied: cli.ExitUsage,
	checkout.CodeLocked: cli.ExitLocked,
	checkout.CodeBusy:   cli.ExitNetwork, checkout.CodeNetwork: cli.ExitNetwork,
	checkout.CodeGone: cli.ExitRefused, checkout.CodeUnauthorized: cli.ExitRefused,
	checkout.CodeRefused: cli.ExitRefused, checkout.CodeOtherOrigin: cli.ExitRefused,
	checkout.CodeTooLarge: cli.ExitRefused,
	checkout.CodeDamaged:  cli.ExitDamaged, checkout.CodeUnsafe: cli.ExitDamaged,
}

// ExitCode returns the exit code for an error.
func ExitCode(err error) int {
	if _, usage := errors.AsType[*cli.UsageError](err); usage {
		return cli.ExitUsage
	}
	if errors.Is(err, errKept) || errors.Is(err, errSkipped) || errors.Is(err, errBehind) {
		return cli.ExitKept
	}
	return cmp.Or(exitCodes[checkout.CodeOf(err)], cli.ExitFailed)
}

const endpointHelp = `The endpoint is https://HOST/mcp, wss://HOST/ws (the path may be left out of both), or
stdio: with a command behind it that serves over its standard streams. No shell reads that command: spaces separate
its words, and quotes (' or ") keep those that have spaces together.`

const namesHelp = `What is on the server is named REPO, REPO@REF, REPO@REF/PATH or REPO/PATH, or by its
URI (repo://…). REF is a branch, a tag, a commit or another revision of git; without
one it is the default branch. A ref with slashes may be in full, as refs/heads/….`

var exitCodesHelp = fmt.Sprintf(`The exit code is %d for success, %d for a wrong command line, %d where the server
cannot be reached, %d where it refuses, %d for content that is damaged, unsafe or not
proved to be whole, and %d for anything else.`, cli.ExitOK, cli.ExitUsage, cli.ExitNetwork, cli.ExitRefused,
	cli.ExitDamaged, cli.ExitFailed)
