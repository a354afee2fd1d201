// Package conns accepts the connections of a server: so many at a time, each written to
// at the pace of its client.
//
//	c := conns.New(conns.Options{Timeout: 2 * time.Minute})
//	server := &http.Server{ConnContext: conns.WithConn, ConnState: c.Changed}
//	err := server.Serve(c.Listener(listener))
//
// Promises: descriptors are left for files; a client that takes nothing is dropped after
// the timeout, and one that takes something is not. Where the server is full, see
// [Connections.DropSlow], it is the slowest first.
package conns

import (
	"container/list"
	"context"
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// mostConnections bounds connections where descriptors do not: an idle one
	// holds 7 KB.
	mostConnections = 10_000
	// crowd is how many connections beyond the bound are told so.
	crowd = 16
)

// Options of [Connections]. Timeout is required.
type Options struct {
	// Most is how many may be open; 0: half of the descriptors that the process may
	// have, and 10,000 at most.
	Most int
	// Timeout is how long a client may take nothing of what is sent.
	Timeout time.Duration
	// MinRate is how many bytes a second a client has to take to keep its connection
	// while others find the server full; 0: any.
	MinRate int64
}

// Connections bounds how many are open, so that descriptors are left for packs.
// For a new one that is too many the connection is closed that has waited
// longest for a request. Where none waits, the new one is told to come later.
type Connections struct {
	options Options
	window  time.Duration // rateWindow, but for tests

	mu      sync.Mutex
	open    map[*Conn]struct{}
	waiting *list.List // of *Conn, the longest first
}

// New makes the connections of a server.
func New(o Options) *Connections {
	if o.Most <= 0 {
		o.Most = min(max(descriptors()/2, 1), mostConnections)
	}
	return &Connections{options: o, window: rateWindow, open: make(map[*Conn]struct{}), waiting: list.New()}
}

// Count is how many are open.
func (c *Connections) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// Conn is one connection.
type Conn struct {
	net.Conn
	owner  *Connections
	closed sync.Once
	// crowded connections are beyond the bound.
	crowded bool
	gone    bool
	place   *list.Element // among those that wait, or nil

	mu       sync.Mutex // of what follows
	pace     pace
	deadline time.Time // of writes, as it was set; zero: none
}

// Crowded reports whether the connection is beyond the bound: it is only told so.
func (c *Conn) Crowded() bool { return c.crowded }

// Close implements [net.Conn].
func (c *Conn) Close() error {
	c.closed.Do(func() { c.owner.forget(c) })
	return c.Conn.Close()
}

// Listener accepts connections that are counted and paced.
func (c *Connections) Listener(listener net.Listener) net.Listener { return bounded{listener, c} }

type bounded struct {
	net.Listener
	owner *Connections
}

// Accept implements [net.Listener].
func (l bounded) Accept() (net.Conn, error) {
	for {
		// Of a crowd that comes at once each is answered before the next is let in: what
		// waits then waits in the kernel, and not before other work of the process.
		runtime.Gosched()
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if t, ok := l.owner.admit(conn); ok {
			return t, nil
		}
		_ = conn.Close() // nothing was sent over it
	}
}

// admit counts a connection, and closes another one if it is too many.
func (c *Connections) admit(conn net.Conn) (*Conn, bool) {
	c.mu.Lock()
	var oldest *Conn
	excess := len(c.open) - c.options.Most
	if first := c.waiting.Front(); excess >= 0 && first != nil {
		oldest = first.Value.(*Conn)
		c.waiting.Remove(first)
		oldest.place = nil
	}
	if oldest == nil && excess >= crowd {
		c.mu.Unlock()
		return nil, false
	}
	t := &Conn{Conn: conn, owner: c, crowded: oldest == nil && excess >= 0}
	c.open[t] = struct{}{}
	t.place = c.waiting.PushBack(t)
	c.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close() // its client has sent no request, or will send it again
	}
	return t, true
}

func (c *Connections) forget(t *Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, t)
	t.gone = true
	c.leave(t)
}

func (c *Connections) leave(t *Conn) {
	if t.place != nil {
		c.waiting.Remove(t.place)
		t.place = nil
	}
}

// Changed is what net/http tells of connections.
func (c *Connections) Changed(conn net.Conn, state http.ConnState) {
	t := below(conn)
	if t == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateActive, http.StateHijacked:
		c.leave(t)
	case http.StateIdle:
		if !t.gone {
			t.place = c.waiting.PushBack(t)
		}
	}
}

// keyConn of a request's context has its connection.
type keyConn struct{}

// WithConn gives a request's context its connection.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, keyConn{}, conn)
}

// Of is the connection of a request; nil where somebody else accepted it.
func Of(r *http.Request) *Conn {
	conn, _ := r.Context().Value(keyConn{}).(net.Conn)
	return below(conn)
}

// below finds the connection below TLS; nil where somebody else accepted it.
func below(conn net.Conn) *Conn {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	t, _ := conn.(*Conn)
	return t
}

// DropSlow closes the connection whose client takes least, if that is less than the
// minimum rate: its reply takes room that others wait for. The client sees that it broke
// off.
func (c *Connections) DropSlow() {
	if c.options.MinRate <= 0 {
		return
	}
	least := float64(c.options.MinRate)
	var slowest *Conn
	c.mu.Lock()
	open := slices.Collect(maps.Keys(c.open))
	c.mu.Unlock()
	for _, conn := range open {
		if rate, known := conn.rate(); known && rate < least {
			slowest, least = conn, rate
		}
	}
	if slowest != nil {
		slowest.Reset()
	}
}
