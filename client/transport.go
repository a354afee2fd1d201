package client

import (
	"context"
	"net/http"
	"strings"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// transport is how messages get to the server and answers back: each by a request
// of its own ([overHTTP]), or all over one [connection].
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

// carrier is what one connection is made of. receive is called by one goroutine and
// send by another.
type carrier interface {
	// mode is how bytes come beside messages.
	mode() binary.Mode
	// receive waits for what comes next, which is good until the next call. It calls
	// progress for pieces of a long message.
	receive(progress func()) (arrival, error)
	send(outgoingFrame) error
	// beside runs until ctx ends, or the connection does not answer any more.
	beside(ctx context.Context) error
	// close ends the connection for a reason, and so receive and send; nil is that of
	// the caller. It returns the reason with what is known besides.
	close(reason error) error
}

// arrival is a message, or a piece of a stream.
type arrival struct {
	isMessage bool
	message   []byte // may be blank
	stream    binary.StreamID
	kind      binary.Kind // data, end or abort
	sequence  uint32      // of frames
	data      []byte      // or the words of an abort
	end       *binary.Ref // of frames
}

// outgoingFrame is a message, or with bytes a frame.
type outgoingFrame struct {
	bytes bool
	text  []byte
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

// reach returns the way to the server. A connection that has ended is replaced, unless it
// was that of a program, or the client is closed.
func (c *Client) reach() transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.transport.(*connection); ok && !c.closed && !old.once && old.isOver() {
		next := newConnection(c, old.once, old.dial)
		next.previous = old
		c.transport = next
	}
	return c.transport
}

// Close ends the connection to the server, and the program that was started for it.
// Downloads that are under way fail. Over HTTP there is nothing to end.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.reach().close()
}

// isWired reports whether the server is reached over one connection.
func (c *Client) isWired() bool {
	_, wired := c.reach().(*connection)
	return wired
}
