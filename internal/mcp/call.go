package mcp

import (
	"bytes"
	"context"
	"fmt"

	"github.com/repomcp/repomcp/internal/resources"
)

// Call is a request of a [Connection] in flight: until it has been answered, or
// until the streams that its reply names have ended.
type Call struct {
	connection *Connection
	request    *Request
	context    context.Context
	end        context.CancelFunc
	listens    bool
	streams    bool

	// Guarded by Connection.mu.
	cancelled bool // by the client, who then wants no reply
	answered  bool
}

// Start makes an admitted request known, so that it can be cancelled. [Call.Answer]
// has to follow, once, and then [Call.End].
func (c *Connection) Start(ctx context.Context, r *Request) (*Call, *Error) {
	call := &Call{connection: c, request: r, listens: r.IsListen(), streams: r.streams()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if failure := c.refuse(call); failure != nil {
		return nil, failure
	}
	c.count(call, 1)
	call.context, call.end = context.WithCancel(ctx)
	c.calls[string(r.ID)] = call
	return call, nil
}

// refuse says why a request cannot be started now, or nil.
func (c *Connection) refuse(call *Call) *Error {
	same := c.calls[string(call.request.ID)]
	switch {
	case same != nil && same.answered:
		return invalidRequest("The id is that of a request whose streams have not ended yet. Give each request an " +
			"id of its own.")
	case same != nil:
		return invalidRequest("The id is that of a request that has not been answered yet. Give each request " +
			"an id of its own.")
	case call.listens && c.listens >= maxListens:
		return &Error{Reason: ReasonRequest, Message: fmt.Sprintf("A connection has at most %d streams of "+
			"subscriptions/listen. End one with notifications/cancelled first.", maxListens)}
	case call.streams && c.streams >= maxStreams:
		failure := &Error{Reason: resources.ReasonBusy, Message: fmt.Sprintf("A connection has at most %d binary "+
			"streams at a time. Wait for the end of one, or cancel one, and ask again; or ask without "+
			"transferMode.", maxStreams)}
		return call.request.About(failure.With("limit", maxStreams))
	default:
		return nil
	}
}

func (c *Connection) count(call *Call, difference int) {
	if call.listens {
		c.listens += difference
	}
	if call.streams {
		c.streams += difference
	}
}

// Answer does what the request asks for and returns the reply, whose Message is nil
// when the client has cancelled it. notify writes a notification that belongs to
// the request.
func (c *Call) Answer(notify func(message []byte) error) Reply {
	reply := c.connection.answer(c.context, c.request, notify)
	if c.answer() {
		reply.Message = bytes.TrimSpace(reply.Message)
		return reply
	}
	c.connection.server.drop(c.context, reply.Attachments)
	return Reply{}
}

// answer notes that there is a reply, and reports whether the client wants it.
func (c *Call) answer() bool {
	c.connection.mu.Lock()
	defer c.connection.mu.Unlock()
	c.answered = true
	return !c.cancelled
}

// Context ends with the call, and when the client cancels the request: also after
// the reply.
func (c *Call) Context() context.Context { return c.context }

// End forgets the request. It has to come before the last that is sent of it, so that
// a client that has that can use the id and the place again; more often than once
// does no harm.
func (c *Call) End() {
	c.end()
	c.connection.mu.Lock()
	defer c.connection.mu.Unlock()
	id := string(c.request.ID)
	if c.connection.calls[id] == c {
		delete(c.connection.calls, id)
		c.connection.count(c, -1)
	}
}
