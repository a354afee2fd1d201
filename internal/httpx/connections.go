package httpx

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

const (
	// mostConnections bounds connections where descriptors do not: an idle one
	// holds 7 KB.
	mostConnections = 10_000
	// crowd is how many connections beyond the bound are told so.
	crowd = 16
)

// connections bounds how many are open, so that descriptors are left for packs.
// For a new one that is too many the connection is closed that has waited
// longest for a request. Where none waits, the new one is told to come later.
type connections struct {
	most    int
	timeout time.Duration // of writes

	mu      sync.Mutex
	open    int
	waiting *list.List // of *tracked, the longest first
}

func newConnections(most int, timeout time.Duration) *connections {
	if most <= 0 {
		most = min(max(descriptors()/2, 1), mostConnections)
	}
	return &connections{most: most, timeout: timeout, waiting: list.New()}
}

func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// tracked is one connection.
type tracked struct {
	pacedConn
	owner  *connections
	closed sync.Once
	// crowded connections are beyond the bound.
	crowded bool
	gone    bool
	place   *list.Element // among those that wait, or nil
}

// Close implements [net.Conn].
func (t *tracked) Close() error {
	t.closed.Do(func() { t.owner.forget(t) })
	return t.pacedConn.Close()
}

// bounded is a listener whose connections are counted and paced.
type bounded struct {
	net.Listener
	owner *connections
}

// Accept implements [net.Listener].
func (l bounded) Accept() (net.Conn, error) {
	for {
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
func (c *connections) admit(conn net.Conn) (*tracked, bool) {
	c.mu.Lock()
	var oldest *tracked
	if first := c.waiting.Front(); c.open >= c.most && first != nil {
		oldest = first.Value.(*tracked)
		c.waiting.Remove(first)
		oldest.place = nil
	}
	excess := c.open - c.most
	if oldest == nil && excess >= crowd {
		c.mu.Unlock()
		return nil, false
	}
	t := &tracked{pacedConn: pacedConn{Conn: conn, timeout: c.timeout}, owner: c, crowded: oldest == nil && excess >= 0}
	c.open++
	t.place = c.waiting.PushBack(t)
	c.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close() // its client has sent no request, or will send it again
	}
	return t, true
}

func (c *connections) forget(t *tracked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	t.gone = true
	c.leave(t)
}

func (c *connections) leave(t *tracked) {
	if t.place != nil {
		c.waiting.Remove(t.place)
		t.place = nil
	}
}

// changed is what net/http tells of connections.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	t := trackedOf(conn)
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

func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, keyConn{}, conn)
}

// connOf is nil for connections that somebody else accepted.
func connOf(r *http.Request) *tracked {
	conn, _ := r.Context().Value(keyConn{}).(net.Conn)
	return trackedOf(conn)
}

// trackedOf finds the connection below TLS; nil where somebody else accepted it.
func trackedOf(conn net.Conn) *tracked {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	t, _ := conn.(*tracked)
	return t
}

// checkCrowd refuses what comes over a connection beyond the bound.
func checkCrowd(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if t := connOf(c.Request()); t == nil || !t.crowded || isHealth(c) {
			return next(c)
		}
		h := c.Response().Header()
		h.Set("Retry-After", retryAfter)
		h.Set("Connection", "close")
		return refuse(c, http.StatusServiceUnavailable, "Too many connections are open. Try again in a few seconds.")
	}
}
