// Package conns accepts the connections of a server: so many at a time, each written to
// at the pace of its client.
//
//	c := conns.New(conns.Options{Timeout: 2 * time.Minute})
//	server := &http.Server{ConnContext: conns.WithConn, ConnState: c.Changed}
//	err := server.Serve(c.Listener(listener))
//
// A handler asks [Conn.BeginRequest] whether there is room for its request, and tells one for
// which there is none to come later:
//
//	if conn := conns.Of(r); !conn.BeginRequest(client) {
//		// write and flush 503
//		conn.Dismiss()
//	}
//
// Promises:
//   - Descriptors are left for files.
//   - One client has no more requests at a time than its share. What it has beyond the share
//     is told so, and takes no room from others.
//   - A connection that has to go is one that waits for its request, of the client that has
//     most connections: those that were dismissed first, then the longest. A connection
//     with a whole request is never closed for a new one.
//   - A client that takes nothing is dropped after the timeout, and one that takes
//     something is not. Where the server is full, see [Connections.DropSlow], it is the
//     slowest first.
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
	// minReserve and reservePart, one in so many, are connections beyond those that have
	// requests: new ones, which have not said yet what they want, those that are kept
	// open between requests, and those that are told to come later.
	minReserve  = 16
	reservePart = 8
)

// Options of [Connections]. Timeout is required.
type Options struct {
	// Most is how many may have a request at a time. An eighth of it, and 16 at least, may
	// be open beside them. 0: so many that half of the descriptors that the process
	// may have are left, and 10,000 at most.
	Most int
	// Share is how much of Most one client may have, in percent; 0: all of it.
	Share int
	// Client names the client that an address belongs to, for as long as no request
	// over its connection names another; nil: all addresses are of one client.
	Client func(remote net.Addr) string
	// Timeout is how long a client may take nothing of what is sent.
	Timeout time.Duration
	// MinRate is how many bytes a second a client has to take to keep its connection
	// while others find the server full; 0: any.
	MinRate int64
}

// Connections bounds how many are open, and how many have requests.
type Connections struct {
	options Options
	window  time.Duration // rateWindow, but for tests
	share   int           // requests of one client
	reserve int

	mu       sync.Mutex
	open     map[*Conn]struct{}
	clients  map[string]*client // those with connections
	requests int                // that have begun
	arrivals uint64             // of connections in lists, to tell which has waited longest
}

// New makes the connections of a server.
func New(o Options) *Connections {
	if o.Most <= 0 {
		// With the reserve that is half.
		o.Most = min(max(descriptors()/2*(reservePart-1)/reservePart, 1), mostConnections)
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

// Count is how many are open.
func (c *Connections) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// Conn is one connection. A nil one, which another listener accepted, has room for requests.
type Conn struct {
	net.Conn
	owner  *Connections
	closed sync.Once

	// Guarded by owner.mu.
	client   *client       // nil once it is closed
	request  bool          // one has begun
	expelled bool          // its request has to end
	place    *list.Element // in list
	list     *list.List    // of its client, or nil
	arrived  uint64        // when it came into the list

	mu       sync.Mutex // of what follows
	pace     pace
	deadline time.Time // of writes, as it was set; zero: none
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
	// Of a crowd that comes at once each is answered before the next is let in: what
	// waits then waits in the kernel, and not before other work of the process.
	runtime.Gosched()
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.owner.admit(conn), nil
}

// admit counts a connection, and closes another one if it is too many.
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

// Changed is what net/http tells of connections.
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
