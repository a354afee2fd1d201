package conns

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair is a connection of c and its client.
func pair(t *testing.T, c *Connections) (server net.Conn, client *net.TCPConn) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inner.Close() }()
	dialed, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client = dialed.(*net.TCPConn)
	_ = client.SetReadBuffer(4 << 10)
	server, err = c.Listener(inner).Accept()
	if err != nil {
		t.Fatal(err)
	}
	server.(*Conn).BoundSendBuffer(4 << 10)
	t.Cleanup(func() {
		_ = server.Close()
		_ = client.Close()
	})
	return server, client
}

// Of those that are waited for, the slowest goes first, and none that is fast enough: who
// was not waited for at all, or not long enough to tell, stays.
func TestDropSlow(t *testing.T) {
	const rate = 20_000
	c := New(Options{Timeout: 1600 * time.Millisecond, MinRate: rate}) // which is looked at each 200 ms
	c.window = 150 * time.Millisecond
	ended := make(map[string]chan error)
	write := func(name string, take func(client *net.TCPConn)) {
		server, client := pair(t, c)
		done := make(chan error, 1)
		ended[name] = done
		go func() {
			for piece := bytes.Repeat([]byte("x"), 64<<10); ; {
				if _, err := server.Write(piece); err != nil {
					done <- err
					return
				}
			}
		}()
		go take(client)
	}
	stop := make(chan struct{})
	slowly := func(perTick int64) func(*net.TCPConn) {
		return func(client *net.TCPConn) {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
				if _, err := io.CopyN(io.Discard, client, perTick); err != nil {
					return
				}
			}
		}
	}
	write("stopped", func(*net.TCPConn) {})
	write("slow", slowly(40))
	write("fast", slowly(64<<10))
	idle, _ := pair(t, c)
	defer func() { _ = idle.Close() }()
	time.Sleep(900 * time.Millisecond) // the windows of the kernel fill, then two of ours pass
	for _, name := range []string{"stopped", "slow"} {
		before := c.Count()
		c.DropSlow()
		select {
		case err := <-ended[name]:
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s was not dropped", name)
		}
		if now := c.Count(); now != before-1 {
			t.Errorf("%d connections became %d", before, now)
		}
	}
	c.DropSlow()
	c.options.MinRate = 0
	c.DropSlow()
	if c.Count() != 2 {
		t.Errorf("%d connections are left of a fast and an idle one", c.Count())
	}
	close(stop)
	for conn := range c.open {
		_ = conn.Conn.Close()
	}
	if err := <-ended["fast"]; err == nil {
		t.Error("it was never closed")
	}
}

// Those that wait are closed for new ones; where none waits, few are told so and the
// others are not taken.
func TestConnectionsAreBounded(t *testing.T) {
	c := New(Options{Most: 2, Timeout: time.Minute})
	var open []*Conn
	for range 3 {
		server, client := net.Pipe()
		defer func() { _ = client.Close() }()
		conn, ok := c.admit(server)
		if !ok || conn.Crowded() {
			t.Fatalf("a connection in the place of one that waits: %v", ok)
		}
		open = append(open, conn)
	}
	if c.Count() != 2 || !open[0].gone {
		t.Errorf("%d are open", c.Count())
	}
	for _, conn := range open[1:] {
		c.Changed(conn, http.StateActive)
	}
	for i := range crowd + 1 {
		server, client := net.Pipe()
		defer func() { _ = client.Close() }()
		conn, ok := c.admit(server)
		if ok != (i < crowd) || ok && !conn.Crowded() {
			t.Fatalf("connection %d beyond the bound: %v", i+1, ok)
		}
		if ok {
			c.Changed(conn, http.StateActive)
		}
	}
}
