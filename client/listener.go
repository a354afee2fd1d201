package client

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
)

// queued is how many events wait for a loop over states.
const queued = 64

// listener takes the notifications of a connection for one loop.
type listener struct {
	only   string // the subscription that it is about; "": all
	queue  chan message
	lost   atomic.Bool   // some did not fit into the queue
	answer chan answered // of a request that lasts as long as the subscription; nil where there is none
}

// put adds a notification, if it is one that is listened for. It does not wait.
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
	_ = json.Unmarshal(m.Params, &params) // what has none is of no subscription
	return string(params.Meta[metaPrefix+"subscriptionId"])
}

// next waits for a notification, or the answer that ends the subscription. For those that
// were lost there is one that says nothing but that something has changed.
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

// attach makes a listener of the connection until ctx ends.
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

// listen implements [transport]. The session is that of the connection, so that what is
// watched twice is told of until nobody watches it.
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

// watch counts the loops over a resource in a session, and returns how many there are.
func (conn *connection) watch(uri string, more int) int {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	conn.watched[uri] += more
	return conn.watched[uri]
}

// unsubscribe ends what the last loop over a resource has begun. Nobody waits for
// the answer.
func (conn *connection) unsubscribe(s session, uri string) {
	if conn.watch(uri, -1) == 0 {
		text, _ := conn.c.encode(s, outgoing{methodUnsubscribe, map[string]any{"uri": uri}})
		conn.post(outgoingFrame{text: text})
	}
}
