// Package conns accepts a bounded number of connections, and writes to each at the pace of its
// client.
//
//	c := conns.New(conns.Options{Timeout: 2 * time.Minute})
//	server := &http.Server{ConnContext: conns.WithConn, ConnState: c.Changed}
//	err := server.Serve(c.Listener(listener))
//
// A handler asks [Conn.BeginRequest] whether there is room for its request, and otherwise tells the
// client to come later:
//
//	if conn := conns.Of(r); !conn.BeginRequest(client) {
//		// write and flush 503
//		conn.Dismiss()
//	}
//
// Promises:
//   - Descriptors are left for files, and threads for other work.
//   - One client has no more requests at a time than its share. Requests beyond the share are
//     refused, and take no room from other clients.
//   - The connection that is closed to make room is one that waits for its request, of the client
//     with most connections: dismissed connections first, then the longest waiting. A connection
//     with a whole request is never closed for a new one.
//   - A client that reads nothing is dropped after the timeout; one that reads something is not.
//     While the server is full, the slowest client is dropped first: see [Connections.DropSlow].
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

	"github.com/repomcp/repomcp/internal/access/limits"
)

const (
	// mostConnections applies where descriptors allow more: an idle connection holds 7 KB.
	mostConnections = 10_000
	// minReserve, and one in reservePart, are connections beyond those that have requests: new ones
	// without a request yet, idle ones between requests, and dismissed ones.
	minReserve  = 16
	reservePart = 8
)

// Options of [Connections]. Timeout is required.
type Options struct {
	// Most is how many connections may have a request at a time. An eighth of it, and at least 16,
	// may be open in addition. 0 leaves half of the descriptors that the process may have, and half of
	// the threads, one of which a request needs that waits for a disk. It means 10,000 at most.
	Most int
	// Share is how much of Most one client may have, in percent; 0 means all of it.
	Share int
	// Client names the client that an address belongs to, until a request over its connection names
	// another; nil means that all addresses are of one client.
	Client func(remote net.Addr) string
	// Timeout is how long a client may read nothing of what is sent.
	Timeout time.Duration
	// MinRate is how many bytes a second a client has to read to keep its connection while others
	// find the server full; 0 means any.
	MinRate int64
}

// Connections bounds how many are open, and how many have requests.
type Connections struct {
	options Options
	window  time.Duration // rateWindow, except in tests
	share   int           // requests of one client
	reserve int

	mu       sync.Mutex
	open     map[*Conn]struct{}
	clients  map[string]*client // those with connections
	requests int                // in progress
	arrivals uint64             // of connections in lists, to tell which has waited longest
}

// New makes the connections of a server.
func New(o Options) *Connections {
	if o.Most <= 0 {
		// Together with the reserve that is half of the descriptors, or of the threads.
		o.Most = min(max(min(descriptors(), limits.Tasks())/2*(reservePart-1)/reservePart, 1), mostConnections)
	}
	if o.Share <= 0 {
		o.Share = 100
	}
	if o.Client == nil {
		o.Client = func(net.Addr) string { return "" }
	}
	return &Connections{
		options: o, window: rateWindow, share: max(o.Most*o.Share/100, 1), reserve: max(o.Most/reservePart, minReserve),
		open: make(map[*Conn]struct{}), clients: make(map[string]*client),
	}
}

// Count returns the number of open connections.
func (c *Connections) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// Conn is one connection. A nil Conn, of a connection that another listener accepted, has room for
// every request.
type Conn struct {
	net.Conn
	owner  *Connections
	closed sync.Once

	// Guarded by owner.mu.
	client   *client       // nil once the connection is closed
	request  bool          // in progress
	expelled bool          // the request has to end
	place    *list.Element // in list
	list     *list.List    // of its client, or nil
	arrived  uint64        // when it was added to list

	mu       sync.Mutex // of the fields below
	pace     pace
	deadline time.Time // of writes, as set by the caller; zero: none
}

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
	// Each connection of a burst is handled before the next is accepted: the burst then waits in
	// the kernel, and does not delay other work of the process.
	runtime.Gosched()
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.owner.admit(conn), nil
}

// admit counts a connection, and closes another one if there are too many.
func (c *Connections) admit(conn net.Conn) *Conn {
	name := c.options.Client(conn.RemoteAddr())
	c.mu.Lock()
	var victim *Conn
	if len(c.open) >= c.options.Most+c.reserve {
		victim = c.heaviest((*client).firstIdle)
	}
	t := &Conn{Conn: conn, owner: c}
	c.open[t] = struct{}{}
	c.join(t, name)
	c.wait(t, &t.client.idle)
	c.mu.Unlock()
	if victim != nil {
		_ = victim.Close() // its client has sent no request, was told to come later, or will send it again
	}
	return t
}

func (c *Connections) forget(t *Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, t)
	c.endRequest(t)
	c.part(t)
}

// Changed implements the callback [http.Server.ConnState].
func (c *Connections) Changed(conn net.Conn, state http.ConnState) {
	t := below(conn)
	if t == nil || state != http.StateIdle {
		return
	}
	name := c.options.Client(conn.RemoteAddr())
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.client == nil {
		return
	}
	c.endRequest(t)
	c.part(t)
	c.join(t, name)
	c.wait(t, &t.client.idle)
}

// keyConn is the key of the connection in a request's context.
type keyConn struct{}

// WithConn adds its connection to a request's context.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, keyConn{}, conn)
}

// Of returns the connection of a request; nil if another listener accepted it.
func Of(r *http.Request) *Conn {
	conn, _ := r.Context().Value(keyConn{}).(net.Conn)
	return below(conn)
}

// below returns the connection below TLS; nil if another listener accepted it.
func below(conn net.Conn) *Conn {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	t, _ := conn.(*Conn)
	return t
}

// DropSlow closes the connection whose client reads slowest, if that is slower than the minimum
// rate: its reply takes room that others wait for. The client sees an aborted connection.
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
