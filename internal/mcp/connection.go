package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/watch"
)

const (
	// maxListens bounds the subscriptions/listen streams of a connection: each has its own queue,
	// and one stream can name everything that a client watches.
	maxListens = 4
	// maxStreams bounds the requests of a connection whose replies have bytes beside them. Each
	// holds a buffer and its packs for as long as its client likes, and more of them do not make a
	// connection faster.
	maxStreams = 8
)

// Connection is a client of a transport with one connection for all messages and no headers:
// WebSocket, stdio. Each message has its own era; session state is remembered from initialize.
//
// One goroutine must pass messages to Admit, Notified and Start in order of arrival, and must wait
// for the answer to initialize. Any goroutine may wait for other answers.
type Connection struct {
	server  *Server
	id      string // of its subscriptions
	events  outbox
	stream  *watch.Stream // to events
	address string
	tools   []string // chosen by the client; nil are all
	claims  *Claims  // nil before initialize

	mu    sync.Mutex
	calls map[string]*Call // requests in flight, by their raw ids
}

// Connect makes a connection; Close has to follow. address is that of [Request.Address], and tools
// the value of [HeaderTools] when the connection was opened.
func (s *Server) Connect(address, tools string) *Connection {
	events := newOutbox()
	return &Connection{
		// The id is never sent, and Sessions would not accept it.
		server: s, id: "connection " + rand.Text(), events: events, stream: &watch.Stream{Send: events.put},
		address: address, tools: splitNames(tools), calls: make(map[string]*Call),
	}
}

// Close forgets what the client watches. Requests must have been answered.
func (c *Connection) Close() { c.server.options.Subscriptions.Forget(c.id) } // the id is never used again

// Admit is [Server.Admit] for a message that came without headers.
func (c *Connection) Admit(message Message) (*Request, *Error) {
	r := &Request{Message: message, Address: c.address, connection: c.id, tools: c.tools}
	_, failure := c.server.admit(r, nil, func() (SessionState, *Error) { return SessionPresent, c.enterSession(r) })
	return r, r.About(failure)
}

// enterSession applies the rules of the session that the connection is.
func (c *Connection) enterSession(r *Request) *Error {
	switch {
	case r.Method == MethodInitialize && c.claims != nil:
		return invalidRequest("The connection has been initialized. Open another one for another session.")
	case c.claims != nil:
		r.Version, r.Stream, r.Binary = c.claims.Version, c.claims.Stream, c.claims.Binary
	case r.Method != MethodInitialize && r.Method != MethodPing:
		return invalidRequest("Send initialize first, or name the version 2026-07-28 in params._meta.")
	}
	return nil
}

// Notified takes a notification. It ignores unknown ones, as JSON-RPC demands.
func (c *Connection) Notified(ctx context.Context, message Message) {
	switch {
	case message.Method == MethodCancelled:
		c.cancelled(message.Params)
	case message.Method == MethodInitialized && c.claims != nil:
		// From now on the client gets notifications of changes. Repeating this has no effect.
		c.server.options.Subscriptions.Connect(ctx, c.id, c.stream)
	}
}

// cancelled ends a request that the client no longer waits for. The request may have ended already.
func (c *Connection) cancelled(params Params) {
	id, ok := params.cancelledID()
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.calls[id]; call != nil {
		call.cancelled = true
		call.end()
	}
}

func (c *Connection) answer(ctx context.Context, r *Request, notify func([]byte) error) Reply {
	switch {
	case r.Method == MethodStream && c.server.resources.Downloads():
		return c.server.Stream(ctx, r, nil) // with a link: SEP-2532 has no bytes without a separate HTTP reply
	case r.IsListen():
		return c.server.Listen(ctx, r, notify)
	}
	reply := c.server.Answer(ctx, r)
	if reply.Session != "" {
		c.claims = r.begun // the connection is the session
	}
	return reply
}

// Pump writes the notifications of the connection's session until ctx ends or a
// write fails.
func (c *Connection) Pump(ctx context.Context, notify func(message []byte) error) {
	c.events.forward(ctx, func(n notification) error { return n.write(nil, notify) }, nil, nil)
}

// Call is a request of a [Connection] in flight: until it has been answered, or until the streams
// that its reply names have ended.
type Call struct {
	connection *Connection
	request    *Request
	context    context.Context
	end        context.CancelFunc

	// Guarded by Connection.mu.
	cancelled bool // by the client, which then gets no reply
	answered  bool
}

// Start registers an admitted request, so that it can be cancelled. [Call.Answer] has to follow,
// once, and then [Call.End].
func (c *Connection) Start(ctx context.Context, r *Request) (*Call, *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if failure := c.refuse(r); failure != nil {
		return nil, failure
	}
	call := &Call{connection: c, request: r}
	call.context, call.end = context.WithCancel(ctx)
	c.calls[string(r.ID)] = call
	return call, nil
}

// count returns how many requests of a kind are in flight.
func (c *Connection) count(kind func(*Request) bool) (n int) {
	for _, call := range c.calls {
		if kind(call.request) {
			n++
		}
	}
	return n
}

// refuse returns why a request cannot be started now, or nil.
func (c *Connection) refuse(r *Request) *Error {
	same := c.calls[string(r.ID)]
	switch {
	case same != nil && same.answered:
		return invalidRequest("The id is that of a request whose streams have not ended yet. Give each request an " +
			"id of its own.")
	case same != nil:
		return invalidRequest("The id is that of a request that has not been answered yet. Give each request " +
			"an id of its own.")
	case r.IsListen() && c.count((*Request).IsListen) >= maxListens:
		return &Error{Reason: ReasonRequest, Message: fmt.Sprintf("A connection has at most %d streams of "+
			"subscriptions/listen. End one with notifications/cancelled first.", maxListens)}
	case r.streams() && c.count((*Request).streams) >= maxStreams:
		failure := &Error{Reason: resources.ReasonBusy, Message: fmt.Sprintf("A connection has at most %d binary "+
			"streams at a time. Wait for the end of one, or cancel one, and ask again; or ask without "+
			"transferMode.", maxStreams)}
		return r.About(failure.With("limit", maxStreams))
	default:
		return nil
	}
}

// Answer performs the request and returns the reply, whose Message is nil if the client has
// cancelled the request. notify writes a notification that belongs to the request.
func (c *Call) Answer(notify func(message []byte) error) Reply {
	reply := c.connection.answer(c.context, c.request, notify)
	c.connection.mu.Lock()
	c.answered = true
	cancelled := c.cancelled
	c.connection.mu.Unlock()
	if cancelled {
		c.connection.server.close(c.context, reply.Attachments)
		return Reply{}
	}
	reply.Message = bytes.TrimSpace(reply.Message)
	return reply
}

// Context ends with the call, and when the client cancels the request, even after the reply.
func (c *Call) Context() context.Context { return c.context }

// End forgets the request. It must precede the last message of the call, so that a client that has
// received it can reuse the id and the place. Repeating it is harmless.
func (c *Call) End() {
	c.end()
	c.connection.mu.Lock()
	defer c.connection.mu.Unlock()
	if id := string(c.request.ID); c.connection.calls[id] == c {
		delete(c.connection.calls, id)
	}
}
