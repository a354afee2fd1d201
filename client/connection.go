package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// connection is one connection to a server. It carries messages both ways, and streams of bytes
// beside them. It is dialed on first use, and ends once; everything that waits for it gets the
// error. [Client.reach] replaces a connection that has ended. It implements [transport].
type connection struct {
	c        *Client
	dial     func(ctx context.Context) (carrier, error)
	once     bool          // a program is not started again
	turn     chan struct{} // held while the connection is dialed, greeted or closed
	previous *connection   // the connection that this one replaces; nil once this one is dialed

	carrier carrier     // nil before it is dialed
	greeted atomic.Bool // initialize was answered
	running sync.WaitGroup
	end     context.CancelFunc // of the helper goroutines
	silence silence            // since useful input
	wake    chan struct{}      // there is something to send
	done    chan struct{}      // closed when the connection is over

	mu        sync.Mutex
	over      bool // closing has begun
	err       error
	outbox    []outgoingFrame
	unsent    int // bytes of the outbox, and of the frame being sent
	calls     map[int64]*call
	streams   map[binary.StreamID]*inflow
	listeners map[*listener]struct{}
	watched   map[string]int // subscriptions by URI, with sessions
}

// noReply is the HTTP reply of an answer that came without one.
var noReply = &http.Response{}

// errClosed ends everything in flight when the client is closed.
var errClosed = errors.New("the client was closed")

func newConnection(c *Client, once bool, dial func(context.Context) (carrier, error)) *connection {
	return &connection{
		c: c, dial: dial, once: once,
		turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), done: make(chan struct{}),
		calls: make(map[int64]*call), streams: make(map[binary.StreamID]*inflow),
		listeners: make(map[*listener]struct{}), watched: make(map[string]int),
	}
}

// connect dials the connection unless that was done, and begins the session of a message.
func (conn *connection) connect(ctx context.Context, s session) error {
	select {
	case conn.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-conn.turn }()
	switch {
	case conn.isOver():
		return conn.reason(ctx)
	case conn.carrier == nil:
		conn.waitForPrevious()
		made, err := conn.dial(ctx)
		if err != nil {
			return err
		}
		conn.start(made)
	}
	if s.protocol == "" || s.protocol == stateless || conn.greeted.Load() {
		return nil
	}
	return conn.greet(ctx, s)
}

// waitForPrevious waits for the goroutines of the connection that this one replaces.
func (conn *connection) waitForPrevious() {
	if conn.previous != nil {
		conn.previous.running.Wait()
		conn.previous = nil
	}
}

func (conn *connection) start(c carrier) {
	conn.carrier = c
	ctx, cancel := context.WithCancel(context.Background())
	conn.end = cancel
	conn.running.Go(conn.receiveAll)
	conn.running.Go(conn.sendAll)
	conn.running.Go(func() {
		if err := c.beside(ctx); err != nil {
			conn.fail(err)
		}
	})
}

// greet begins anew the session that was lost with another connection.
func (conn *connection) greet(ctx context.Context, s session) error {
	m := outgoing{methodInitialize, conn.c.greeting(s.protocol)}
	text, id := conn.c.encode(session{}, m)
	var server initialized
	a := conn.request(ctx, id, text, false)
	err := a.err
	if err == nil {
		err = a.outcome(noReply, m.operation(), &server)
	}
	if err == nil && server.ProtocolVersion != s.protocol {
		err = fmt.Errorf("the server speaks %q by now, and spoke %q", server.ProtocolVersion, s.protocol)
	}
	if err != nil {
		return err
	}
	conn.greeted.Store(true)
	conn.notify(methodInitialized, map[string]any{})
	return nil
}

func (conn *connection) close() error {
	conn.turn <- struct{}{}
	defer func() { <-conn.turn }()
	conn.waitForPrevious()
	conn.fail(nil)
	conn.running.Wait()
	return nil
}

// fail ends the connection; nil means that the caller wants it. The first reason counts.
func (conn *connection) fail(reason error) {
	conn.mu.Lock()
	first := !conn.over
	conn.over = true
	conn.mu.Unlock()
	if !first {
		return
	}
	err := errClosed
	if conn.carrier != nil {
		defer conn.end()
		if told := conn.carrier.close(reason); reason != nil {
			err = told
		}
	}
	if reason != nil && !errors.Is(err, ErrDamaged) {
		err = failed(context.Background(), err)
	}
	conn.mu.Lock()
	calls, streams := conn.calls, conn.streams
	conn.err, conn.calls, conn.streams, conn.outbox = err, nil, nil, nil
	conn.mu.Unlock()
	for _, c := range calls {
		c.answer <- answered{err: err}
	}
	for _, f := range streams {
		f.finish(err)
	}
	close(conn.done)
}

func (conn *connection) isOver() bool {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	return conn.over
}

// reason waits until the reason for the end of the connection is known, which is soon.
func (conn *connection) reason(ctx context.Context) error {
	select {
	case <-conn.done:
		return conn.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// post queues a frame and does not wait. If maxUnsent bytes are waiting because the server does not
// read, the connection ends.
func (conn *connection) post(o outgoingFrame) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.over {
		return
	}
	if conn.unsent += len(o.text); conn.unsent > maxUnsent {
		// A new goroutine, since the caller may hold the lock of a stream, which fail takes.
		conn.running.Go(func() { conn.fail(errUnread) })
		return
	}
	conn.outbox = append(conn.outbox, o)
	signal(conn.wake)
}

// signal wakes the goroutine that waits on c, or the next one that will.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (conn *connection) sendAll() {
	for {
		select {
		case <-conn.wake:
		case <-conn.done:
			return
		}
		conn.mu.Lock()
		waiting := conn.outbox
		conn.outbox = nil
		conn.mu.Unlock()
		for _, o := range waiting {
			if err := conn.carrier.send(o); err != nil {
				conn.failAfterInput(err)
				return
			}
			conn.mu.Lock()
			conn.unsent -= len(o.text)
			conn.mu.Unlock()
		}
	}
}

// failAfterInput ends a connection that takes nothing any more. What the server sent before it closed the
// connection says more, and receiveAll comes to it.
func (conn *connection) failAfterInput(reason error) {
	select {
	case <-conn.done:
	case <-time.After(grace):
		conn.fail(reason)
	}
}

func (conn *connection) receiveAll() {
	var useless chatter
	for {
		a, err := conn.carrier.receive(conn.silence.end)
		useful := false
		switch {
		case err != nil:
		case a.isMessage:
			useful, err = conn.handleMessage(a.message)
		default:
			useful = conn.pass(a)
		}
		if useful {
			conn.silence.end()
		} else if err == nil {
			err = useless.add(len(a.message) + len(a.data) + 1)
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // the input must not end
		}
		if err != nil {
			conn.fail(damaged(err))
			return
		}
	}
}

func (conn *connection) notify(method string, params map[string]any) {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err == nil { // it consists of strings and numbers
		conn.post(outgoingFrame{text: text})
	}
}

// send connects, and sends a message. A notification has no answer.
func (conn *connection) send(ctx context.Context, s session, m outgoing, beside bool) (answered, error) {
	session := s
	if m.isNotification() {
		session.protocol = "" // it is part of the handshake
	}
	if err := conn.connect(ctx, session); err != nil {
		return answered{}, fmt.Errorf("%s: %w", m.operation(), err)
	}
	text, id := conn.c.encode(s, m)
	if m.isNotification() {
		conn.post(outgoingFrame{text: text})
		return answered{}, nil
	}
	a := conn.request(ctx, id, text, beside)
	if a.err != nil {
		return a, fmt.Errorf("%s: %w", m.operation(), a.err)
	}
	if m.method == methodInitialize && a.Error == nil {
		conn.greeted.Store(true)
	}
	return a, nil
}

func (conn *connection) exchange(ctx context.Context, s session, m outgoing, result any) (http.Header, error) {
	a, err := conn.send(ctx, s, m, false)
	if err != nil || m.isNotification() {
		return nil, err
	}
	return nil, a.outcome(noReply, m.operation(), result)
}

// stream asks for a download URL, if there is HTTP beside the connection. Without a usable URL the
// bytes come over the connection.
func (conn *connection) stream(ctx context.Context, s session, uri string, p part) (*http.Response, error) {
	if conn.once {
		return conn.beside(ctx, s, uri)
	}
	var result struct{ DownloadURL string }
	_, err := conn.exchange(ctx, s, outgoing{methodStream, map[string]any{"uri": uri}}, &result)
	if _, isAnswer := errors.AsType[*Error](err); err != nil && !isAnswer {
		return nil, err // of the connection, which would carry the bytes as well
	}
	if result.DownloadURL != "" {
		reply, failure := conn.c.openDownloadURL(ctx, result.DownloadURL, uri, p)
		if failure == nil || ctx.Err() != nil {
			return reply, failure
		}
		err = failure
	}
	refusal, ok := errors.AsType[*Error](err)
	if ok && (refusal.NotFound() || refusal.Is(ErrTooLarge) || refusal.Status == http.StatusGone) {
		return nil, err
	}
	return conn.c.reach().beside(ctx, s, uri)
}

func (conn *connection) beside(ctx context.Context, s session, uri string) (*http.Response, error) {
	m := reading(uri)
	a, err := conn.send(ctx, s, m, true)
	if err != nil {
		return nil, err
	}
	if err := a.outcome(noReply, m.operation(), nil); err != nil {
		return nil, err
	}
	if a.flow == nil {
		return conn.c.within(uri, a.result)
	}
	body := flowBody{a.flow, http.Header{}}
	reply := conn.c.replyOf(uri, a.result.Contents[0], body)
	reply.Trailer = body.trailer
	return reply, nil
}
