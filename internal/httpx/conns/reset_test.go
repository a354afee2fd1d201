package conns

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Over HTTP/1.0 the end of a connection is the end of the body: one that is reset has none,
// whatever has been written, also where TLS would say that this is the end.
func TestResetIsNoEnd(t *testing.T) {
	for _, secure := range []bool{false, true} {
		c := New(Options{Timeout: time.Minute})
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("half"))
			if r.URL.Path == "/reset" {
				_ = http.NewResponseController(w).Flush()
				Of(r).Reset()
				panic(http.ErrAbortHandler)
			}
		}))
		s.Config.ConnContext, s.Listener = WithConn, c.Listener(s.Listener)
		if secure {
			s.StartTLS()
		} else {
			s.Start()
		}
		for path, whole := range map[string]bool{"/reset": false, "/whole": true} {
			conn, err := net.Dial("tcp", s.Listener.Addr().String())
			if err == nil && secure {
				conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
			}
			if err == nil {
				_, err = io.WriteString(conn, "GET "+path+" HTTP/1.0\r\n\r\n")
			}
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(conn)
			if whole != (err == nil) || whole && !strings.HasSuffix(string(body), "half") {
				t.Errorf("secure %t, %s: %q and %v", secure, path, body, err)
			}
			_ = conn.Close()
		}
		s.Close()
		if n := c.Count(); n != 0 {
			t.Errorf("%d connections are open", n)
		}
	}
}
