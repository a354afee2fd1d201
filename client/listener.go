package client

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// queued is how many events wait for a loop over states. What is more becomes one
// that says nothing but that something has changed.
const queued = 64

// listener takes the notifications of a connection for one loop.
type listener struct {
	only    int64 // the subscription that it is about; 0: all
	changed chan struct{}

	mu     sync.Mutex
	queue  []message
	answer chan answered // of a request that lasts as long as the subscription; nil where there is none
	last   *answered
}

// put adds a notification. It does not wait.
func (l *listener) put(m message) {
	if l.only != 0 && subscriptionOf(m) != fmt.Sprint(l.only) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == queued {
		l.queue, m = nil, message{Method: eventUpdated}
	}
	l.queue = append(l.queue, m)
	signal(l.changed)
}

// subscriptionOf is the id of the request that a notification belongs to.
func subscriptionOf(m message) string {
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params) // what has none is of no subscription
	return string(params.Meta[metaPrefix+"subscriptionId"])
}

func (l *listener) pop() (m message, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return m, false
	}
	m, l.queue = l.queue[0], l.queue[1:]
	return m, true
}

// next waits for a notification, or the answer that ends the subscription.
func (l *listener) next(ctx context.Context, w *wire) (message, error) {
	for {
		if m, ok := l.pop(); ok {
			return m, nil
		}
		if l.last != nil {
			return l.last.message, l.last.err
		}
		select {
		case <-l.changed:
		case a := <-l.answer:
			l.last = &a
		case <-w.done:
			return message{}, w.err
		case <-ctx.Done():
			return message{}, ctx.Err()
		}
	}
}

// endCall ends a request that is answered only when it ends.
func (w *wire) endCall(c *call) {
	w.mu.Lock()
	_, waiting := w.calls[c.id]
	delete(w.calls, c.id)
	w.mu.Unlock()
	if waiting {
		w.cancel(c.id)
	}
}

// attach makes a listener of the connection until ctx ends.
func (w *wire) attach(ctx context.Context, l *listener, end func()) *events {
	w.mu.Lock()
	w.listeners[l] = struct{}{}
	w.mu.Unlock()
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		delete(w.listeners, l)
		w.mu.Unlock()
		end()
	})
	return &events{receive: func() (message, error) { return l.next(ctx, w) }}
}

// listen implements [transport].
func (l *line) listen(ctx context.Context, w *watch) (*events, error) {
	s := l.c.current()
	wire, err := l.connected(ctx, s)
	if err != nil {
		return nil, err
	}
	if s.protocol == stateless {
		return l.listenStateless(ctx, wire, s, w)
	}
	return l.listenSession(ctx, wire, s, w.uris)
}

// listenStateless begins a subscription, of which the first event says what is told
// of.
func (l *line) listenStateless(ctx context.Context, w *wire, s session, of *watch) (*events, error) {
	text, id, err := l.c.encode(s, of.listening())
	if err != nil {
		return nil, err
	}
	c := &call{id: id, ctx: ctx, answer: make(chan answered, 1)}
	listener := &listener{only: id, changed: make(chan struct{}, 1), answer: c.answer}
	if err := w.open(c); err != nil {
		return nil, err
	}
	stream := w.attach(ctx, listener, func() { w.endCall(c) })
	w.post(outgoingFrame{text: text})
	first, err := stream.next()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", methodListen, err)
	}
	if err := first.outcome(noReply, methodListen, nil); err != nil {
		return nil, err
	}
	return stream, of.begins(first)
}

// listenSession subscribes to each resource. The session is that of the connection,
// so that what is watched twice is told of until nobody watches it.
func (l *line) listenSession(ctx context.Context, w *wire, s session, uris []string) (*events, error) {
	listener := &listener{changed: make(chan struct{}, 1)}
	var subscribed []string
	var mu sync.Mutex
	stream := w.attach(ctx, listener, func() {
		mu.Lock()
		defer mu.Unlock()
		for _, uri := range subscribed {
			l.unsubscribe(w, s, uri)
		}
		subscribed = nil
	})
	for _, uri := range uris {
		a, err := l.ask(ctx, s, outgoing{methodSubscribe, map[string]any{"uri": uri}}, false)
		if err == nil {
			err = a.outcome(noReply, methodSubscribe+" "+uri, nil)
		}
		if err != nil {
			return nil, err
		}
		w.mu.Lock()
		w.watched[uri]++
		w.mu.Unlock()
		mu.Lock()
		subscribed = append(subscribed, uri)
		mu.Unlock()
	}
	return stream, nil
}

// unsubscribe ends what the last loop over a resource has begun. Nobody waits for
// the answer.
func (l *line) unsubscribe(w *wire, s session, uri string) {
	w.mu.Lock()
	w.watched[uri]--
	last := w.watched[uri] == 0
	w.mu.Unlock()
	if !last {
		return
	}
	text, _, err := l.c.encode(s, outgoing{methodUnsubscribe, map[string]any{"uri": uri}})
	if err == nil { // it is of texts and numbers
		w.post(outgoingFrame{text: text})
	}
}
