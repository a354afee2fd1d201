package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// stateless is the revision of the protocol that knows no sessions.
	stateless = "2026-07-28"

	methodDiscover   = "server/discover"
	methodInitialize = "initialize"
	// methodInitialized is the one notification that is sent.
	methodInitialized = "notifications/initialized"

	metaPrefix = "io.modelcontextprotocol/"
	// extensionStream repeats resourceStreaming where libraries between that know
	// only the fields of MCP let it pass.
	extensionStream = "io.github.repomcp/resource-stream"
	headerSession   = "Mcp-Session-Id"

	// defaultPoll is a compromise between what is new and what is asked in vain.
	defaultPoll = 30 * time.Second
	// defaultIdle is three heartbeats of the usual event stream, and longer than a
	// server takes to find the next bytes.
	defaultIdle = 90 * time.Second
)

// withSessions are the revisions with sessions, newest first.
var withSessions = []string{"2025-11-25", "2025-06-18", "2025-03-26"}

// Options of a Client.
type Options struct {
	// HTTP sends requests; nil means http.DefaultClient. Its CheckRedirect is not
	// asked: redirects are followed here. A Timeout would break long downloads.
	HTTP *http.Client
	// Authorization is sent to the server as the header of that name, if any.
	Authorization string
	// MaxStreamSize is the largest download that is taken, in bytes; 0 means any.
	// The server is told, and what is larger all the same is broken off.
	MaxStreamSize int64
	// Origins are those that the server may lead to besides its own, by a
	// downloadUrl or a redirect, such as https://archives.example.com.
	Origins []string
	// Name and Version are the program's, for the server's log; "" are this
	// package's.
	Name, Version string
	// Protocol is the revision of MCP to speak, such as 2025-11-25; "" is the newest
	// that both know. [New] speaks 2026-07-28.
	Protocol string
	// Retries is how often in a row a request is sent again that failed for reasons
	// that pass, with growing pauses; 0 means 6, less means never.
	Retries int
	// Retrying, if any, is told what failed, before it is tried again.
	Retrying func(error)
	// Poll is the time between two looks of Watch where no server tells of changes;
	// 0 means 30 s.
	Poll time.Duration
}

// Client is a server to download from.
type Client struct {
	server  *url.URL
	http    *http.Client
	options Options
	origins []*url.URL
	retries int
	idle    time.Duration // for which a body may give nothing
	ack     time.Duration // within which a stream of events begins
	ids     atomic.Int64  // of messages

	mu      sync.Mutex
	session session // that requests belong to
}

// session is what was agreed on with the server. In 2026-07-28 that is nothing
// but the revision.
type session struct{ protocol, id string }

// New makes a client of the MCP endpoint at server, an http or https URL, without
// asking it: it must speak 2026-07-28. That saves the round trip of [Connect].
func New(server string, o Options) (*Client, error) {
	at, err := parseURL(server)
	if err != nil {
		return nil, err
	}
	if o.MaxStreamSize < 0 {
		return nil, errors.New("MaxStreamSize is negative; 0 means any size")
	}
	if o.Protocol != "" && o.Protocol != stateless && !slices.Contains(withSessions, o.Protocol) {
		return nil, fmt.Errorf("protocol %q is not known: there are %s and %q", o.Protocol, stateless, withSessions)
	}
	var origins []*url.URL
	for _, text := range o.Origins {
		origin, err := parseURL(text)
		if err != nil {
			return nil, err
		}
		origins = append(origins, origin)
	}
	sender := http.Client{}
	if o.HTTP != nil {
		sender = *o.HTTP
	}
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.Poll = cmp.Or(o.Poll, defaultPoll)
	return &Client{
		server: at, http: &sender, options: o, origins: origins, retries: max(0, cmp.Or(o.Retries, defaultRetries)),
		idle: defaultIdle, ack: ackTimeout, session: session{protocol: stateless},
	}, nil
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no http or https URL", text)
	}
	return u, nil
}

// Connect makes a client of the MCP endpoint at server, an http or https URL, and
// agrees with it on a revision of the protocol.
func Connect(ctx context.Context, server string, o Options) (*Client, error) {
	c, err := New(server, o)
	if err != nil {
		return nil, err
	}
	found, err := c.negotiate(ctx)
	if err != nil {
		return nil, err
	}
	c.session = found
	return c, nil
}

// Protocol is the revision of MCP that is spoken.
func (c *Client) Protocol() string { return c.current().protocol }

// negotiate prefers the revision without sessions. A server that does not know
// it does not know the question either.
func (c *Client) negotiate(ctx context.Context) (session, error) {
	if slices.Contains(withSessions, c.options.Protocol) {
		return c.initialize(ctx)
	}
	var server struct {
		SupportedVersions []string `json:"supportedVersions"`
	}
	modern := session{protocol: stateless}
	_, err := c.ask(ctx, modern, methodDiscover, nil, &server)
	switch {
	case err == nil && slices.Contains(server.SupportedVersions, stateless):
		return modern, nil
	case err != nil && !refused(err):
		return session{}, err
	case c.options.Protocol != "":
		return session{}, errors.Join(fmt.Errorf("the server does not speak %s", stateless), err)
	default:
		return c.initialize(ctx)
	}
}

// initialize begins a session.
func (c *Client) initialize(ctx context.Context) (session, error) {
	wish := c.options.Protocol
	if !slices.Contains(withSessions, wish) {
		wish = withSessions[0]
	}
	var server struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	params := map[string]any{
		"protocolVersion": wish, "capabilities": c.capabilities(), "clientInfo": c.info(),
	}
	header, err := c.ask(ctx, session{}, methodInitialize, params, &server)
	if err != nil {
		return session{}, err
	}
	begun := session{protocol: server.ProtocolVersion, id: header.Get(headerSession)}
	if !slices.Contains(withSessions, begun.protocol) || c.options.Protocol != "" && begun.protocol != c.options.Protocol {
		return session{}, fmt.Errorf("the server speaks %q: %q are spoken here", begun.protocol,
			cmp.Or(c.options.Protocol, fmt.Sprint(withSessions)))
	}
	_, err = c.ask(ctx, begun, methodInitialized, nil, nil)
	return begun, err
}

func (c *Client) current() session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// inSession does something in the current session, and once more in a new one
// when the server has forgotten it.
func (c *Client) inSession(ctx context.Context, do func(session) error) error {
	s := c.current()
	err := do(s)
	var refused *Error
	if s.id == "" || !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		return err
	}
	begun, err := c.renew(ctx, s)
	if err != nil {
		return err
	}
	return do(begun)
}

// renew replaces a session that is lost, unless another goroutine has done so.
func (c *Client) renew(ctx context.Context, lost session) (session, error) {
	if s := c.current(); s != lost {
		return s, nil
	}
	begun, err := c.initialize(ctx)
	if err != nil {
		return session{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = begun
	return begun, nil
}

// capabilities are what the client can take. They are said twice.
func (c *Client) capabilities() map[string]any {
	streaming := map[string]any{}
	if c.options.MaxStreamSize > 0 {
		streaming["maxStreamSize"] = c.options.MaxStreamSize
	}
	return map[string]any{
		"resourceStreaming": streaming, "extensions": map[string]any{extensionStream: streaming},
	}
}

func (c *Client) info() map[string]any {
	return map[string]any{
		"name": cmp.Or(c.options.Name, "repomcp-client"), "version": cmp.Or(c.options.Version, "1"),
	}
}

// with adds to params what every message says in 2026-07-28.
func (c *Client) with(params map[string]any) map[string]any {
	meta := map[string]any{
		metaPrefix + "protocolVersion": stateless, metaPrefix + "clientCapabilities": c.capabilities(),
		metaPrefix + "clientInfo": c.info(),
	}
	full := map[string]any{"_meta": meta}
	maps.Copy(full, params)
	return full
}
