package conns

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// peer is a connection without a network, whose address is its client.
type peer struct {
	net.Conn
	client  string
	closed  bool
	expired bool // the deadline for reading has passed
}

func (p *peer) Network() string      { return "test" }
func (p *peer) String() string       { return p.client }
func (p *peer) RemoteAddr() net.Addr { return p }

func (p *peer) Close() error {
	p.closed = true
	return nil
}

func (p *peer) SetReadDeadline(at time.Time) error {
	p.expired = at.Before(time.Now())
	return nil
}

func (c *Conn) peer() *peer { return c.Conn.(*peer) }

// newPeered has connections whose addresses are their clients.
func newPeered(most, share int) *Connections {
	return New(Options{
		Most: most, Share: share, Timeout: time.Minute, Client: func(remote net.Addr) string { return remote.String() },
	})
}

// check compares what is counted with what is there.
func (c *Connections) check(share int) error {
	requests, byClient := 0, make(map[*client]int)
	for t := range c.open {
		if t.request {
			requests++
			byClient[t.client]++
		} else if t.list == nil {
			return errors.New("a connection without a request cannot be closed for others")
		}
		if t.expelled && !t.peer().expired {
			return errors.New("the body of an expelled request is still waited for")
		}
	}
	open := 0
	for _, client := range c.clients {
		open += client.open
		if client.requests != byClient[client] || client.name != Proxies && client.requests > share {
			return fmt.Errorf("client %s has %d requests, and %d are counted", client.name, byClient[client],
				client.requests)
		}
	}
	if open != len(c.open) || requests != c.requests || open > c.options.Most+c.reserve || requests > c.options.Most {
		return fmt.Errorf("%d connections with %d requests, and %d with %d are counted", len(c.open), requests, open,
			c.requests)
	}
	return nil
}

// whole are the connections whose request has come whole.
func (c *Connections) whole() (list []*Conn) {
	for t := range c.open {
		if t.request && t.list == nil {
			list = append(list, t)
		}
	}
	return list
}

// Whatever comes: the bounds are kept at every moment, no whole request is lost to another, and
// at the end nothing is left.
func TestConnectionsKeepTheirBounds(t *testing.T) {
	const most, share = 8, 5
	happened := make(map[string]int)
	rapid.Check(t, func(r *rapid.T) {
		c := newPeered(most, 100*share/most+1)
		clients := rapid.SampledFrom([]string{"a", "a", "a", "b", "b", "c", Proxies})
		steps := rapid.SampledFrom([]string{"open", "open", "open", "begin", "begin", "begin", "read", "read", "idle", "close"})
		var open []*Conn
		for range rapid.IntRange(200, 400).Draw(r, "steps") {
			step, whole := steps.Draw(r, "step"), c.whole()
			if len(open) == 0 {
				step = "open"
			}
			if step == "open" {
				open = append(open, c.admit(&peer{client: clients.Draw(r, "client")}))
			}
			conn := open[rapid.IntRange(0, len(open)-1).Draw(r, "connection")]
			switch step {
			case "begin":
				if !conn.BeginRequest(clients.Draw(r, "client")) {
					conn.Dismiss()
					happened["refused"]++
				}
			case "read":
				conn.AwaitBody()
			case "idle":
				c.Changed(conn, http.StateIdle)
			case "close":
				_ = conn.Close()
			}
			for _, other := range whole {
				if other != conn && (other.peer().closed || other.expelled) {
					r.Fatalf("%s took a whole request from %s", step, other.peer().client)
				}
			}
			for _, one := range open {
				if one.peer().closed {
					happened["closed"]++
				}
				if one.expelled {
					happened["expelled"]++
				}
			}
			open = slices.DeleteFunc(open, func(t *Conn) bool { return t.peer().closed })
			if err := c.check(share); err != nil {
				r.Fatalf("after %s: %v", step, err)
			}
		}
		for _, conn := range open {
			_ = conn.Close()
		}
		if len(c.open)+len(c.clients)+c.requests != 0 {
			r.Fatalf("%d connections, %d clients and %d requests are left", len(c.open), len(c.clients), c.requests)
		}
	})
	for _, what := range []string{"closed", "refused", "expelled"} {
		if happened[what] == 0 {
			t.Errorf("no connection was %s", what)
		}
	}
}

// The client that has most connections loses one first: what was dismissed, and then what has
// waited longest. Trusted proxies lose theirs last.
func TestHeaviestClientLosesFirst(t *testing.T) {
	c := newPeered(1, 0) // and a reserve of 16
	connect := func(client string, times int) (open []*Conn) {
		for range times {
			open = append(open, c.admit(&peer{client: client}))
		}
		return open
	}
	proxies, many, few := connect(Proxies, 8), connect("many", 4), connect("few", 1)
	many[2].Dismiss()
	others := connect("others", 4)
	for i, want := range []*Conn{many[2], others[0], many[0], others[1]} {
		connect(fmt.Sprint("new ", i), 1)
		if !want.peer().closed {
			t.Fatalf("the connection of %q was not closed for new connection %d", want.peer().client, i)
		}
	}
	for _, conn := range append(proxies, few...) {
		if conn.peer().closed {
			t.Errorf("%q lost a connection", conn.peer().client)
		}
	}
}
