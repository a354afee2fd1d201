package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
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
	// extensionBinary repeats binaryTransfer likewise.
	extensionBinary = "io.github.repomcp/binary-transfer"
	headerSession   = "Mcp-Session-Id"
)

// clientInfo is for the log of the server.
var clientInfo = map[string]any{"name": "repomcp-client", "version": "1"}

// withSessions are the revisions with sessions, newest first.
var withSessions = []string{"2025-11-25", "2025-06-18", "2025-03-26"}

// Connect makes a client of the MCP endpoint at server and agrees with it on a
// revision of the protocol. server is an http or https URL, a ws or wss URL, or
// "stdio:" with a command behind it that starts the server:
//
//	stdio:repomcp stdio --root '/srv/our git'
//
// No shell reads the command: spaces separate its words, what stands between two
// quotes of one kind (" or ') belongs to a word as it is, and nothing else has a
// meaning. Close ends the connection and the program.
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

// initialized is the result of initialize, as far as it matters here.
type initialized struct {
	ProtocolVersion string `json:"protocolVersion"`
}

func (c *Client) greeting(protocol string) map[string]any {
	return map[string]any{
		"protocolVersion": protocol, "capabilities": c.capabilities(), "clientInfo": clientInfo,
	}
}

func (c *Client) initialize(ctx context.Context) (session, error) {
	wish := c.options.Protocol
	if !slices.Contains(withSessions, wish) {
		wish = withSessions[0]
	}
	var server initialized
	header, err := c.ask(ctx, session{}, methodInitialize, c.greeting(wish), &server)
	if err != nil {
		return session{}, err
	}
	begun := session{protocol: server.ProtocolVersion, id: header.Get(headerSession)}
	if !slices.Contains(withSessions, begun.protocol) ||
		c.options.Protocol != "" && begun.protocol != c.options.Protocol {
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
// when the server has forgotten it. Both are one attempt.
func (c *Client) inSession(ctx context.Context, do func(context.Context, session) error) error {
	return c.retry(ctx, func(ctx context.Context) error {
		s := c.current()
		err := do(ctx, s)
		refused, ok := errors.AsType[*Error](err)
		if s.id == "" || !ok || refused.Status != http.StatusNotFound {
			return err
		}
		begun, err := c.renew(ctx, s)
		if err != nil {
			return err
		}
		return do(ctx, begun)
	})
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
	streaming, beside := map[string]any{}, map[string]any{"supported": true}
	if most := c.options.MaxStreamSize; most > 0 {
		streaming["maxStreamSize"], beside["maxBinarySize"] = most, most
	}
	return map[string]any{
		"resourceStreaming": streaming, "binaryTransfer": beside,
		"extensions": map[string]any{extensionStream: streaming, extensionBinary: beside},
	}
}

// with adds to params what every message says in 2026-07-28.
func (c *Client) with(params map[string]any) map[string]any {
	full := map[string]any{"_meta": map[string]any{
		metaPrefix + "protocolVersion": stateless, metaPrefix + "clientCapabilities": c.capabilities(),
		metaPrefix + "clientInfo": clientInfo,
	}}
	maps.Copy(full, params)
	return full
}
