package resources

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/repomcp/repomcp/internal/panics"
)

const (
	// MethodInitialize has to be answered before the next message is read.
	MethodInitialize = methodInit

	methodInitialized = "notifications/initialized"
	methodCancelled   = string(mcp.MethodNotificationCancelled)
	methodListen      = string(mcp.MethodSubscriptionsListen)

	// maxListens bounds the subscriptions/listen streams of a connection: each
	// has a queue of its own, and one stream can name all that a client watches.
	maxListens = 4
)

// Connection is a client of a transport that has one connection for all
// messages, and no headers: WebSocket. The era is that of each message; what
// headers would say of a session is remembered from its initialize.
//
// Messages are given to Admit, Notified and Start in the order in which they
// came, by one goroutine, which also waits for the answer to initialize. Other
// answers may be waited for by any goroutine.
type Connection struct {
	server  *Server
	session *server.InProcessSession
	address string
	claims  *Claims // nil before initialize

	mu      sync.Mutex
	calls   map[string]*call // requests in flight, by their raw ids
	listens int
}

// call is a request in flight.
type call struct {
	cancel    context.CancelFunc
	cancelled bool // by the client, who then wants no reply; guarded by Connection.mu
}

// Connect makes a connection; Close has to follow. The address is that of
// [Request.Address].
func (s *Server) Connect(address string) *Connection {
	// The id is never sent, and is none that Sessions would accept.
	return &Connection{server: s, address: address, session: newConnectionSession("connection " + rand.Text()), calls: make(map[string]*call)}
}

// newConnectionSession cannot ask the client for anything: mcp-go's methods for
// that are left without handlers.
func newConnectionSession(id string) *server.InProcessSession {
	return server.NewInProcessSession(id, nil)
}

// Close forgets what the client watches. Requests must have been answered.
func (c *Connection) Close() {
	id := c.session.SessionID()
	c.server.mcp.UnregisterSession(context.Background(), id)
	c.server.subscriptions.forget(id) // nobody can come back with its id
}

// Admit is [Server.Admit] for a message that came without headers.
func (c *Connection) Admit(message Message) (*Request, *Error) {
	r, failure := c.admit(message)
	r.Address = c.address
	return r, r.About(failure)
}

func (c *Connection) admit(message Message) (*Request, *Error) {
	meta := readMeta(message.Params)
	r := &Request{Message: message, Version: meta.Version, events: make(chan struct{})}
	if mcp.IsModernProtocol(meta.Version) {
		r.Era, r.Stream = ModernEra, parseStreamCapability(meta.Capabilities)
		if failure := checkModernBody(message, meta); failure != nil {
			return r, failure
		}
		return r, c.server.checkMessage(r, nil)
	}
	r.Version = ""
	switch {
	case message.Method == methodInit && c.claims != nil:
		return r, invalidRequest("The connection has been initialized. Open another one for another session.")
	case message.Method == methodInit, message.Method == string(mcp.MethodPing):
	case c.claims == nil:
		return r, invalidRequest("Send initialize first, or name the version 2026-07-28 in params._meta.")
	}
	if c.claims != nil {
		r.Version, r.Stream = c.claims.Version, c.claims.Stream
	}
	return r, c.server.checkMessage(r, nil)
}

// AdmitBatched says why a request cannot be part of a batch, or nil.
func (r *Request) AdmitBatched() *Error {
	switch {
	case r.Era == ModernEra || !allowsBatch(r.Version):
		return &Error{Reason: ReasonRequest, Message: "Batches exist in the protocol versions 2024-11-05 and 2025-03-26 only. Send one message per request."}
	case r.Method == MethodStream || r.Method == methodInit:
		return &Error{Reason: ReasonRequest, Message: "initialize and resources/stream cannot be part of a batch."}
	}
	return nil
}

// Notified takes a notification. Those that mean nothing here are passed over,
// as JSON-RPC wants.
func (c *Connection) Notified(ctx context.Context, message Message) {
	switch {
	case message.Method == methodCancelled:
		c.cancelled(message.Params)
	case message.Method == methodInitialized && c.claims != nil:
		// From now on the client may be told of changes. A second time changes
		// nothing.
		_ = c.server.mcp.RegisterSession(ctx, c.session)
	}
}

// cancelled ends a request that the client no longer waits for. It may have
// ended by itself.
func (c *Connection) cancelled(params json.RawMessage) {
	id, ok := cancelledID(params)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.calls[id]; call != nil {
		call.cancelled = true
		call.cancel()
	}
}

// Answer does what a request asks for and returns the reply, or nil when the
// client has cancelled it. notify writes a notification that belongs to the
// request.
type Answer func(notify func(message []byte) error) []byte

// Start makes an admitted request known, so that it can be cancelled. The
// answer has to be called, once.
func (c *Connection) Start(ctx context.Context, r *Request) (Answer, *Error) {
	id := string(r.ID)
	c.mu.Lock()
	defer c.mu.Unlock()
	listens := r.IsListen()
	switch {
	case c.calls[id] != nil:
		return nil, invalidRequest("The id is that of a request that has not been answered yet. Give each request an id of its own.")
	case listens && c.listens >= maxListens:
		return nil, &Error{Reason: ReasonRequest, Message: fmt.Sprintf("A connection has at most %d streams of subscriptions/listen. End one with notifications/cancelled first.", maxListens)}
	case listens:
		c.listens++
	}
	ctx, cancel := context.WithCancel(ctx)
	current := &call{cancel: cancel}
	c.calls[id] = current
	return func(notify func([]byte) error) (reply []byte) {
		defer cancel()
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.calls, id)
			if listens {
				c.listens--
			}
			if current.cancelled {
				reply = nil
			}
		}()
		return bytes.TrimSpace(c.answer(ctx, r, notify))
	}, nil
}

// IsListen reports whether the request is a stream of notifications, which
// lasts until it is cancelled.
func (r *Request) IsListen() bool { return r.Era == ModernEra && r.Method == methodListen }

func (c *Connection) answer(ctx context.Context, r *Request, notify func([]byte) error) []byte {
	ctx = overSocket(ctx)
	switch {
	case r.Method == MethodStream:
		return c.stream(ctx, r)
	case r.IsListen():
		reply, _ := c.server.listen(ctx, newConnectionSession(c.session.SessionID()), r, notify)
		return reply
	case r.Era == ModernEra:
		// Such a request has nothing to do with a session beside it.
		reply, _ := c.server.pass(ctx, newConnectionSession(c.session.SessionID()), r)
		return reply
	}
	reply, _ := c.server.pass(ctx, c.session, r)
	if r.Method == methodInit && c.session.Initialized() {
		claims := initializeClaims(r.Params)
		c.claims = &claims
	}
	return reply
}

// pass gives a request to mcp-go and mends its reply. The code is that of the
// error in it, or 0.
func (s *Server) pass(ctx context.Context, session server.ClientSession, r *Request) (reply []byte, code int) {
	ctx = r.Attach(s.mcp.WithContext(ctx, session))
	reply, err := json.Marshal(s.mcp.HandleMessage(ctx, r.Raw))
	if err != nil {
		failure := internal(err)
		return ErrorReply(r.ID, failure, r.Era), failure.Code(r.Era)
	}
	return r.Patch(reply)
}

// stream answers resources/stream with a URL: SEP-2532 has no other way without
// an HTTP reply of its own.
func (c *Connection) stream(ctx context.Context, r *Request) []byte {
	content, failure := c.server.Stream(ctx, r)
	if failure != nil {
		return ErrorReply(r.ID, failure, r.Era)
	}
	defer func() {
		if err := content.Close(); err != nil {
			c.server.logger.ErrorContext(ctx, "closing a resource failed", "error", err)
		}
	}()
	reply, failure := c.server.DownloadReply(ctx, r, content)
	if failure != nil {
		return ErrorReply(r.ID, r.About(failure), r.Era)
	}
	return reply
}

// Listen answers a subscriptions/listen request that came over HTTP, until ctx
// ends: notify writes its notifications, of which the first is the
// acknowledgement. The reply is the last message. Its code is that of the error
// in it, or 0.
func (s *Server) Listen(ctx context.Context, r *Request, notify func(message []byte) error) (reply []byte, code int) {
	return s.listen(ctx, newConnectionSession(""), r, notify)
}

// listen answers subscriptions/listen. Its notifications have a queue of their
// own and name the request.
func (s *Server) listen(ctx context.Context, session *server.InProcessSession, r *Request, notify func([]byte) error) (reply []byte, code int) {
	ctx, cancel := context.WithCancel(ctx)
	pump := panics.NewGroup(cancel)
	pump.Go(func() {
		forward(ctx, session, func(n mcp.JSONRPCNotification) error {
			meta := map[string]any{mcp.MetaKeySubscriptionID: r.ID}
			maps.Copy(meta, n.Params.Meta)
			n.Params.Meta = meta
			err := send(n, notify)
			if err == nil {
				r.eventSent()
			}
			return err
		})
		cancel() // nobody reads
	})
	defer pump.Wait()
	defer cancel()
	return s.pass(ctx, session, r)
}

// Pump writes the notifications of the connection's session until ctx ends or a
// write fails.
func (c *Connection) Pump(ctx context.Context, notify func(message []byte) error) {
	forward(ctx, c.session, func(n mcp.JSONRPCNotification) error { return send(n, notify) })
}

func forward(ctx context.Context, session *server.InProcessSession, write func(mcp.JSONRPCNotification) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-session.ClientNotifications():
			if write(n) != nil {
				return
			}
		}
	}
}

func send(n mcp.JSONRPCNotification, notify func([]byte) error) error {
	message, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return notify(message)
}
