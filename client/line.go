package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// line is the one connection to a server. It is made when it is needed, and over
// WebSocket again when it has broken. It implements [transport].
type line struct {
	c    *Client
	dial func(ctx context.Context) (carrier, error)
	once bool          // what has ended is not begun again
	turn chan struct{} // held by who uses what follows

	wire   *wire
	closed bool
}

// noReply stands for the reply of HTTP where an answer came without one.
var noReply = &http.Response{}

func newLine(c *Client, once bool, dial func(context.Context) (carrier, error)) *line {
	return &line{c: c, dial: dial, once: once, turn: make(chan struct{}, 1)}
}

func (l *line) close() error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.closed = true
	if l.wire != nil {
		l.wire.close()
	}
	return nil
}

// connected is the connection, in the session that a message belongs to.
func (l *line) connected(ctx context.Context, s session) (*wire, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.turn }()
	switch {
	case l.closed:
		return nil, errClosed
	case l.wire == nil || l.wire.isOver() && !l.once:
		if l.wire != nil {
			l.wire.close() // waits for what ran for it
		}
		made, err := l.dial(ctx)
		if err != nil {
			return nil, err
		}
		l.wire = newWire(made, l.c.idle)
	}
	if s.protocol == "" || s.protocol == stateless || l.wire.begun.Load() {
		return l.wire, nil
	}
	return l.wire, l.greet(ctx, s)
}

// greet begins the session again, of a connection that has been lost.
func (l *line) greet(ctx context.Context, s session) error {
	m := outgoing{methodInitialize, l.c.greeting(s.protocol)}
	text, id := l.c.encode(session{}, m)
	var server begun
	a := l.wire.ask(ctx, id, text, false)
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
	l.wire.begun.Store(true)
	l.wire.notify(methodInitialized, map[string]any{})
	return nil
}

// ask sends a message over the connection. A notification has no answer.
func (l *line) ask(ctx context.Context, s session, m outgoing, beside bool) (answered, error) {
	session := s
	if m.isNotification() {
		session.protocol = "" // it is a part of the greeting
	}
	w, err := l.connected(ctx, session)
	if err != nil {
		return answered{}, fmt.Errorf("%s: %w", m.operation(), err)
	}
	text, id := l.c.encode(s, m)
	if m.isNotification() {
		w.post(outgoingFrame{text: text})
		return answered{}, nil
	}
	a := w.ask(ctx, id, text, beside)
	if a.err != nil {
		return a, fmt.Errorf("%s: %w", m.operation(), a.err)
	}
	if m.method == methodInitialize && a.Error == nil {
		w.begun.Store(true)
	}
	return a, nil
}

func (l *line) exchange(ctx context.Context, s session, m outgoing, result any) (http.Header, error) {
	a, err := l.ask(ctx, s, m, false)
	if err != nil || m.isNotification() {
		return nil, err
	}
	return nil, a.outcome(noReply, m.operation(), result)
}

// stream asks for an address to download from, where there is HTTP beside the
// connection. If there is none that can be used, the bytes come over the connection.
func (l *line) stream(ctx context.Context, s session, uri string, p part) (*http.Response, error) {
	if l.once {
		return l.beside(ctx, s, uri)
	}
	var result struct{ DownloadURL string }
	m := outgoing{methodStream, map[string]any{"uri": uri}}
	_, err := l.exchange(ctx, s, m, &result)
	if err == nil && result.DownloadURL != "" {
		reply, other := l.c.led(ctx, result.DownloadURL, uri, p)
		if other == nil || ctx.Err() != nil {
			return reply, other
		}
		err = other
	}
	refusal, ok := errors.AsType[*Error](err)
	gone := ok &&
		(refusal.NotFound() || refusal.Is(ErrTooLarge) || refusal.Status == http.StatusGone)
	if gone || err != nil && !ok && result.DownloadURL == "" {
		return nil, err // the connection is no better for it
	}
	return l.beside(ctx, s, uri)
}

func (l *line) beside(ctx context.Context, s session, uri string) (*http.Response, error) {
	m := reading(uri)
	a, err := l.ask(ctx, s, m, true)
	if err != nil {
		return nil, err
	}
	if err := a.outcome(noReply, m.operation(), nil); err != nil {
		return nil, err
	}
	if a.flow == nil {
		return l.c.within(uri, a.result)
	}
	body := flowBody{a.flow, http.Header{}}
	reply := l.c.replyOf(uri, a.result.Contents[0], body)
	reply.Trailer = body.trailer
	return reply, nil
}
