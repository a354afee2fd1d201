package client

import (
	"context"
	"net/http"
	"strings"
)

// transport is how messages get to the server and answers back: each by a request
// of its own ([overHTTP]), or all over one connection ([line]).
type transport interface {
	// exchange sends one message and reads its answer into result. Only HTTP has
	// headers beside it.
	exchange(ctx context.Context, s session, m outgoing, result any) (http.Header, error)
	// stream asks for the bytes of a resource in the way that can go on after a break.
	stream(ctx context.Context, s session, uri string, p part) (*http.Response, error)
	// beside reads a resource, with its bytes beside the answer where the server can,
	// and in it elsewhere.
	beside(ctx context.Context, s session, uri string) (*http.Response, error)
	// listen begins a stream of events that lasts until ctx ends. In a session, which it
	// returns, it is for the caller to subscribe to the URIs.
	listen(ctx context.Context, uris []string) (events, session, error)
	close() error
}

// outgoing is a message to the server.
type outgoing struct {
	method string
	params map[string]any
}

func (m outgoing) operation() string {
	if uri, ok := m.params["uri"].(string); ok {
		return m.method + " " + uri
	}
	return m.method
}

func (m outgoing) isNotification() bool { return strings.HasPrefix(m.method, "notifications/") }

// reading asks for a resource, in binary mode.
func reading(uri string) outgoing {
	return outgoing{methodRead, map[string]any{"uri": uri, "transferMode": "binary"}}
}

// Close ends the connection to the server, and the program that was started for it.
// Downloads that are under way fail. Over HTTP there is nothing to end.
func (c *Client) Close() error { return c.transport.close() }

// isWired reports whether the server is reached over one connection.
func (c *Client) isWired() bool {
	_, wired := c.transport.(*line)
	return wired
}
