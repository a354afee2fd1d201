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
	// stateless is the revision of the protocol without sessions.
	stateless = "2026-07-28"

	methodDiscover   = "server/discover"
	methodInitialize = "initialize"
	// methodInitialized is the only notification that the client sends by itself.
	methodInitialized = "notifications/initialized"

	metaPrefix = "io.modelcontextprotocol/"
	// extensionStream repeats resourceStreaming for libraries that pass only MCP's own fields.
	extensionStream = "io.github.repomcp/resource-stream"
	// extensionBinary repeats binaryTransfer for the same reason.
	extensionBinary = "io.github.repomcp/binary-transfer"
	headerSession   = "Mcp-Session-Id"
)

// clientInfo is for the server's log.
var clientInfo = map[string]any{"name": "repomcp-client", "version": "1"}

// withSessions are the revisions with sessions, newest first.
var withSessions = []string{"2025-11-25", "2025-06-18", "2025-03-26"}

// Connect makes a client of the MCP endpoint at server and negotiates a revision of the protocol.
// server is an http or https URL, a ws or wss URL, or "stdio:" with a command that starts the
// server:
//
//	stdio:repomcp stdio --root '/srv/our git'
//
// No shell reads the command: spaces separate its words, two quotes of one kind (" or ') make
// everything between them part of one word, and nothing else has a special meaning. Close ends the
// connection and the program.
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

// Protocol is the revision of MCP in use.
func (c *Client) Protocol() string { return c.current().protocol }

// negotiate prefers the revision without sessions. A server without that revision does not know the
// request either.
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

// initialized has the members of the result of initialize that are used here.
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

// inSession runs do in the current session, and once more in a new one if the server has forgotten
// it. Both count as one attempt.
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

// renew replaces a lost session, unless another goroutine has done so.
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

// capabilities are those of the client, each declared in two places.
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

// with adds to params the members of every message of 2026-07-28.
func (c *Client) with(params map[string]any) map[string]any {
	full := map[string]any{"_meta": map[string]any{
		metaPrefix + "protocolVersion": stateless, metaPrefix + "clientCapabilities": c.capabilities(),
		metaPrefix + "clientInfo": clientInfo,
	}}
	maps.Copy(full, params)
	return full
}
