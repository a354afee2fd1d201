package conns

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// writeForever writes to a client until that fails, and tells of the error.
func writeForever(server net.Conn) (failed chan error) {
	failed = make(chan error, 1)
	go func() {
		for piece := bytes.Repeat([]byte("x"), 64<<10); ; {
			if _, err := server.Write(piece); err != nil {
				failed <- err
				return
			}
		}
	}()
	return failed
}

// Of those that are waited for, the slowest goes first, and none that is fast enough: who
// was not waited for at all, or not long enough to tell, stays.
func TestDropSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 20_000
		c := New(Options{Timeout: 2 * time.Minute, MinRate: rate})
		var reading sync.WaitGroup
		failed, clients := make(map[string]chan error), make(map[string]net.Conn)
		for name, perSecond := range map[string]int64{"stopped": 0, "slow": rate / 2, "fast": 2 * rate} {
			inner, client := net.Pipe()
			server := c.admit(inner)
			failed[name], clients[name] = writeForever(server), client
			reading.Go(func() {
				for err := error(nil); perSecond > 0 && err == nil; time.Sleep(time.Second) {
					_, err = io.CopyN(io.Discard, client, perSecond)
				}
			})
		}
		inner, client := net.Pipe()
		idle := c.admit(inner)
		for range 2 {
			c.DropSlow() // it is too early to tell
			time.Sleep(rateWindow)
		}
		time.Sleep(rateWindow / 2) // the windows end where writes do
		if c.Count() != 4 {
			t.Fatalf("%d connections are left of 4", c.Count())
		}
		for i, name := range []string{"stopped", "slow"} {
			c.DropSlow()
			if err := <-failed[name]; !errors.Is(err, io.ErrClosedPipe) || c.Count() != 3-i {
				t.Errorf("%s: %v; %d connections are left", name, err, c.Count())
			}
		}
		c.DropSlow()
		c.options.MinRate = 0
		c.DropSlow()
		if c.Count() != 2 {
			t.Errorf("%d connections are left of a fast and an idle one", c.Count())
		}
		_ = clients["fast"].Close()
		if err := <-failed["fast"]; err == nil {
			t.Error("it was never closed")
		}
		for _, conn := range []net.Conn{idle, client, clients["stopped"], clients["slow"]} {
			_ = conn.Close()
		}
		reading.Wait()
	})
}

// What the kernel holds for a client is not what the client took.
func TestDropStopped(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	c := New(Options{Timeout: 8 * time.Second, MinRate: 1000}) // it is looked each second
	c.window = 100 * time.Millisecond
	var failed [2]chan error
	var clients [2]net.Conn
	for i := range clients {
		if clients[i], err = net.Dial("tcp", listener.Addr().String()); err != nil {
			t.Fatal(err)
		}
		server, err := c.Listener(listener).Accept()
		if err != nil {
			t.Fatal(err)
		}
		server.(*Conn).BoundSendBuffer(4 << 10)
		failed[i] = writeForever(server)
	}
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(io.Discard, clients[1]) }) // until it is closed
	for c.Count() == 2 {
		time.Sleep(10 * time.Millisecond)
		c.DropSlow()
		if len(failed[0]) > 0 {
			break
		}
	}
	if err := <-failed[0]; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the client that takes nothing: %v", err)
	}
	c.DropSlow()
	if c.Count() != 1 || len(failed[1]) > 0 {
		t.Errorf("%d connections are left of one that is read", c.Count())
	}
	for _, client := range clients {
		_ = client.Close()
	}
	reading.Wait()
	if err := <-failed[1]; err == nil {
		t.Error("it was never closed")
	}
}
