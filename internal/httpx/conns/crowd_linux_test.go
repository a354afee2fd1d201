package conns

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// dialFrom connects from an address of this machine.
func dialFrom(ctx context.Context, address, to string) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return dialer.DialContext(ctx, "tcp", to)
}

// Connections that say nothing, from one address, are closed for others of that address, and
// never for those of another one.
func TestSilentCrowdHarmsNoOther(t *testing.T) {
	const most, crowd, times = 8, 60, 20
	c := New(Options{Most: most, Share: 50, Timeout: time.Minute, Client: func(remote net.Addr) string {
		return remote.(*net.TCPAddr).IP.String()
	}})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !Of(r).BeginRequest("127.0.0.3") {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	s.Config.ConnContext, s.Config.ConnState, s.Listener = WithConn, c.Changed, c.Listener(s.Listener)
	s.Start()
	defer s.Close()
	address := s.Listener.Addr().String()
	silent := func() {
		conn, err := dialFrom(t.Context(), "127.0.0.2", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() }) // the server may have closed it
	}
	for range crowd {
		silent()
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return dialFrom(ctx, "127.0.0.3", address)
		},
	}}
	for i := range times {
		silent()
		reply, err := client.Get(s.URL)
		if err != nil {
			t.Fatalf("request %d beside a silent crowd: %v", i+1, err)
		}
		_, _ = io.Copy(io.Discard, reply.Body)
		_ = reply.Body.Close()
		if reply.StatusCode != http.StatusOK {
			t.Errorf("request %d beside a silent crowd: %s", i+1, reply.Status)
		}
	}
	if n := c.Count(); n > most+minReserve {
		t.Errorf("%d connections are open, of at most %d", n, most+minReserve)
	}
}
