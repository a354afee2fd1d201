package client

import (
	"context"
	"net/http"
	"strings"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// transport carries messages to the server and answers back: each in a separate request
// ([overHTTP]), or all over one [connection].
type transport interface {
	// exchange sends one message and reads its answer into result. Only HTTP has headers beside it.
	exchange(ctx context.Context, s session, m outgoing, result any) (http.Header, error)
	// stream requests the bytes of a resource in the way that can be resumed.
	stream(ctx context.Context, s session, uri string, p part) (*http.Response, error)
	// beside reads a resource, with its bytes beside the answer if the server supports that, and
	// else in it.
	beside(ctx context.Context, s session, uri string) (*http.Response, error)
	// listen begins an event stream that lasts until ctx ends. If it returns a session, the caller
	// has to subscribe to the URIs in it.
	listen(ctx context.Context, uris []string) (events, session, error)
	close() error
}

// carrier is the transport layer of one connection. receive is called by one goroutine and send by
// another.
type carrier interface {
	// mode is how bytes travel beside messages.
	mode() binary.Mode
	// receive waits for the next input, which is valid until the next call. It calls progress for
	// pieces of a long message.
	receive(progress func()) (arrival, error)
	send(outgoingFrame) error
	// beside runs until ctx ends, or the connection does not answer any more.
	beside(ctx context.Context) error
	// close ends the connection for a reason, and thereby receive and send; nil means that the
	// caller wants it. It returns the reason with further details.
	close(reason error) error
}

// arrival is a message, or a piece of a stream.
type arrival struct {
	isMessage bool
	message   []byte // may be blank
	stream    binary.StreamID
	kind      binary.Kind // data, end or abort
	sequence  uint32      // of frames
	data      []byte      // or the message of an abort
	end       *binary.Ref // of frames
}

// outgoingFrame is a message, or a binary frame if bytes are set.
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

// reading is a request for a resource, in binary mode.
func reading(uri string) outgoing {
	return outgoing{methodRead, map[string]any{"uri": uri, "transferMode": "binary"}}
}

// reach returns the transport. It replaces a connection that has ended, unless that belonged to a
// program, or the client is closed.
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

// Close ends the connection to the server, and the program that was started for it. Downloads in
// progress fail. Over HTTP it does nothing.
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
