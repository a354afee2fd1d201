package conns

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever sets a deadline is kept to it, also while a write waits; without one a client has the
// timeout.
func TestWriteKeepsToADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Timeout: 2 * time.Minute})
		for name, set := range map[string]func(conn *Conn, at time.Time) error{
			"SetWriteDeadline": (*Conn).SetWriteDeadline, "SetDeadline": (*Conn).SetDeadline,
		} {
			inner, client := net.Pipe()
			conn := c.admit(inner)
			write := func(within time.Duration) {
				t.Helper()
				began := time.Now()
				if _, err := conn.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) ||
					time.Since(began) != within {
					t.Errorf("%s: a write failed after %v, want %v: %v", name, time.Since(began), within, err)
				}
			}
			write(2 * time.Minute)
			began := time.Now()
			if err := set(conn, began.Add(5*time.Second)); err != nil {
				t.Fatal(err)
			}
			write(5 * time.Second)
			write(0)
			if err := set(conn, time.Time{}); err != nil {
				t.Fatal(err)
			}
			go func() {
				time.Sleep(20 * time.Second)
				_ = set(conn, time.Unix(1, 0))
			}()
			write(20 * time.Second)
			_ = conn.Close()
			_ = client.Close()
		}
	})
}

// crypto/tls gives a client five seconds to take the end of a connection that is closed.
func TestAClientThatStoppedIsNotWaitedForTwice(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	certificates := s.TLS.Certificates
	s.Close()
	synctest.Test(t, func(t *testing.T) {
		inner, client := net.Pipe()
		conn := New(Options{Timeout: 2 * time.Minute}).admit(inner)
		server := tls.Server(conn, &tls.Config{Certificates: certificates, SessionTicketsDisabled: true})
		shaken := make(chan error)
		go func() {
			shaken <- tls.Client(client, &tls.Config{InsecureSkipVerify: true}).Handshake() // and reads nothing more
		}()
		if err := errors.Join(server.Handshake(), <-shaken); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := server.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) ||
			time.Since(began) != 2*time.Minute {
			t.Errorf("a write failed after %v: %v", time.Since(began), err)
		}
		began = time.Now()
		_ = server.Close()
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("the connection was closed after %v", took)
		}
		_ = client.Close()
	})
}
