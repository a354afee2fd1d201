package client

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
)

// queued is how many events wait for a Watch loop.
const queued = 64

// listener receives the notifications of a connection for one loop.
type listener struct {
	only   string // the subscription whose notifications it wants; "": all
	queue  chan message
	lost   atomic.Bool   // some did not fit into the queue
	answer chan answered // of a request that lasts as long as the subscription; or nil
}

// put adds a notification if the listener wants it. It does not wait.
func (l *listener) put(m message) bool {
	if l.only != "" && subscriptionOf(m) != l.only {
		return false
	}
	select {
	case l.queue <- m:
	default:
		l.lost.Store(true)
	}
	return true
}

// subscriptionOf is the id of the request that a notification belongs to.
func subscriptionOf(m message) string {
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params) // a notification without meta belongs to no subscription
	return string(params.Meta[metaPrefix+"subscriptionId"])
}

// next waits for a notification, or the answer that ends the subscription. Lost notifications are
// replaced by one that only says that something has changed.
func (l *listener) next(ctx context.Context, conn *connection) (message, error) {
	if l.lost.Swap(false) {
		return message{Method: eventUpdated}, nil
	}
	select {
	case m := <-l.queue: // before the answer
		return m, nil
	default:
	}
	select {
	case m := <-l.queue:
		return m, nil
	case a := <-l.answer:
		return a.message, a.err
	case <-conn.done:
		return message{}, conn.err
	case <-ctx.Done():
		return message{}, ctx.Err()
	}
}

// attach adds a listener to the connection until ctx ends.
func (conn *connection) attach(ctx context.Context, l *listener, end func()) events {
	l.queue = make(chan message, queued)
	conn.mu.Lock()
	conn.listeners[l] = struct{}{}
	conn.mu.Unlock()
	context.AfterFunc(ctx, func() {
		conn.mu.Lock()
		delete(conn.listeners, l)
		conn.mu.Unlock()
		end()
	})
	return func() (message, error) { return l.next(ctx, conn) }
}

// listen implements [transport]. It uses the connection's session, so a resource that two loops
// watch is unsubscribed when the last of them ends.
func (conn *connection) listen(ctx context.Context, uris []string) (events, session, error) {
	s := conn.c.current()
	if err := conn.connect(ctx, s); err != nil {
		return nil, s, err
	}
	if s.protocol != stateless {
		for _, uri := range uris {
			conn.watch(uri, 1)
		}
		return conn.attach(ctx, &listener{}, func() {
			for _, uri := range uris {
				conn.unsubscribe(s, uri)
			}
		}), s, nil
	}
	text, id := conn.c.encode(s, listening(uris))
	c := &call{id: id, ctx: ctx, answer: make(chan answered, 1)}
	if err := conn.open(c); err != nil {
		return nil, s, err
	}
	next := conn.attach(ctx, &listener{only: fmt.Sprint(id), answer: c.answer}, func() { conn.withdraw(c) })
	conn.post(outgoingFrame{text: text})
	return next, s, nil
}

// watch changes the number of loops over a resource in a session, and returns it.
func (conn *connection) watch(uri string, more int) int {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	conn.watched[uri] += more
	return conn.watched[uri]
}

// unsubscribe ends the subscription of the last loop over a resource. It does not wait for the
// answer.
func (conn *connection) unsubscribe(s session, uri string) {
	if conn.watch(uri, -1) == 0 {
		text, _ := conn.c.encode(s, outgoing{methodUnsubscribe, map[string]any{"uri": uri}})
		conn.post(outgoingFrame{text: text})
	}
}
