package httpx_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

func TestForeignOriginIsRefusedOnEveryRoute(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{http: httpx.Options{AllowedOrigins: []string{"https://ide.example"}}})
	_, port, _ := net.SplitHostPort(s.host)
	origins := []string{
		"https://evil.example", "null", "http://127.0.0.1.evil.example", "http://127.0.0.1", "http://127.0.0.1:1",
		"http://localhost:" + port, "file://", "https://ide.example.evil.example",
		"https://ide.example:444", "http://ide.example", "http://" + s.host + "@evil.example",
		"http://evil.example\\@" + s.host, s.host, "*", "about:blank", "ftp://" + s.host,
	}
	cases := 0
	for _, version := range eras {
		for _, route := range routes {
			for _, origin := range origins {
				cases++
				c := s.onRoute(version, route)
				c.header.Set("Origin", origin)
				if a := s.do(t, c); a.status != http.StatusForbidden {
					t.Errorf("%s %s %s with Origin %q: %v, want 403", version, route.verb, route.path, origin, a)
				}
			}
		}
		for _, origin := range []string{"", "http://" + s.host, "https://ide.example"} {
			cases++
			c := s.good(t, version, methodRead)
			c.header.Set("Origin", origin)
			if a := s.do(t, c); a.status != http.StatusOK {
				t.Errorf("%s with the allowed Origin %q: %v", version, origin, a)
			}
		}
	}
	t.Logf("%d cases", cases)
}

func TestForeignHostIsRefusedOnEveryRoute(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{http: httpx.Options{AllowedHosts: []string{"git.example"}}})
	hosts := []string{"evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example",
		"192.0.2.1", "[2001:db8::1]:80", "0.0.0.0", "git.example.evil.example", "xgit.example", "localhost."}
	cases := 0
	for _, version := range eras {
		for _, route := range routes {
			if route.path == "/healthz" {
				continue // TestProbesNameAnyHost
			}
			for _, host := range hosts {
				cases++
				c := s.onRoute(version, route)
				c.host = host
				if a := s.do(t, c); a.status != http.StatusForbidden {
					t.Errorf("%s %s %s with Host %q: %v, want 403", version, route.verb, route.path, host, a)
				}
			}
		}
		for _, host := range []string{"localhost", "localhost:1", "127.0.0.1", "[::1]:80", "git.example",
			"GIT.example:8443"} {
			cases++
			c := s.good(t, version, methodRead)
			c.host = host
			if a := s.do(t, c); a.status != http.StatusOK {
				t.Errorf("%s with the allowed Host %q: %v", version, host, a)
			}
		}
	}
	t.Logf("%d cases", cases)
}

// dial sends bytes over a connection of its own and returns what reads the
// reply.
func (s *target) dial(t *testing.T, request string) *bufio.Reader {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(gittest.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(conn)
}

func TestRefusalDoesNotWaitForABodyThatNeverComes(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	session := "Mcp-Session-Id: " + s.sessions[sessionVersion] + "\r\nAccept: " + acceptBoth + "\r\n"
	tests := []struct {
		name, line, host, header string
		want                     int
	}{
		{"foreign origin", "POST /mcp", s.host, "Origin: https://evil.example\r\nContent-Type: application/json\r\n",
			http.StatusForbidden},
		{"foreign origin, other route", "POST /unknown", s.host, "Origin: https://evil.example\r\n",
			http.StatusForbidden},
		{"foreign host", "POST /mcp", "evil.example", "Content-Type: application/json\r\n", http.StatusForbidden},
		{"duplicate header", "POST /mcp", s.host,
			"Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\nContent-Type: application/json\r\n", http.StatusBadRequest},
		{"unknown route", "POST /unknown", s.host, "", http.StatusNotFound},
		{"other verb", "PUT /mcp", s.host, "", http.StatusMethodNotAllowed},
		{"health with a body", "GET /healthz", s.host, "", http.StatusOK},
		{"content type", "POST /mcp", s.host, "Content-Type: text/plain\r\n", http.StatusUnsupportedMediaType},
		{"content encoding", "POST /mcp", s.host, "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
			http.StatusUnsupportedMediaType},
		{"event stream with a body", "GET /mcp", s.host, session, http.StatusBadRequest},
		{"DELETE with a body", "DELETE /mcp", s.host, session, http.StatusMethodNotAllowed},
	}
	lengths := []string{"Content-Length: 10\r\n", "Transfer-Encoding: chunked\r\n",
		"Content-Length: 10\r\nExpect: 100-continue\r\n"}
	readers := make(map[string]*bufio.Reader)
	for _, test := range tests {
		for _, length := range lengths {
			name := test.name + ", " + length
			reader := s.dial(t, test.line+" HTTP/1.1\r\nHost: "+test.host+"\r\n"+test.header+length+"\r\n")
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatalf("%q: no reply: %v", name, err)
			}
			if response.StatusCode != test.want {
				t.Errorf("%q: %d, want %d", name, response.StatusCode, test.want)
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				t.Errorf("%q: %v", name, err)
			}
			_ = response.Body.Close()
			readers[name] = reader
		}
	}
	// Nor does the server keep the connection, which would cost it a goroutine
	// for as long as the client likes.
	for name, reader := range readers {
		if _, err := reader.ReadByte(); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: the connection is still open", name)
		}
	}
	t.Logf("%d cases", len(readers))
}

func TestOtherMediaTypesAreRefused(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	tests := []struct {
		header, value string
		want          int
	}{
		{"Content-Type", "", 415}, {"Content-Type", "text/plain", 415}, {"Content-Type", "text/plain; application/json",
			415}, {"Content-Type", "application/x-www-form-urlencoded", 415},
		{"Content-Type", "multipart/form-data; boundary=x", 415}, {"Content-Type", "application/jsonp", 415},
		{"Content-Type", "application/json, text/plain", 415}, {"Content-Type", "*/*", 415},
		{"Content-Type", "application/json; charset=utf-8", 200}, {"Content-Type", "APPLICATION/JSON", 200},
		{"Content-Type", ";", 415},
		{"Content-Encoding", "gzip", 415}, {"Content-Encoding", "br", 415}, {"Content-Encoding", "GZIP", 415},
		{"Content-Encoding", "identity", 415},
		{"Accept", "", 406}, {"Accept", "text/html", 406}, {"Accept", "text/event-stream", 406},
		{"Accept", "application/json;q=0, text/event-stream", 406},
		{"Accept", "application/jsonp, text/event-stream", 406},
		{"Accept", "*/*;q=0", 406}, {"Accept", "*/*, application/json;q=0.0", 406}, {"Accept", ",;,", 406},
		{"Accept", "image/*", 406},
		{"Accept", "*/*", 200}, {"Accept", "application/*, text/*;q=0.1", 200},
		{"Accept", "text/event-stream,application/json", 200},
		{"Accept", "application/json;q=0.5;charset=x, */*;q=0.1", 200},
	}
	cases := 0
	for _, version := range eras {
		for _, method := range []string{methodRead, methodStream} {
			for _, test := range tests {
				cases++
				c := s.good(t, version, method)
				if c.header.Del(test.header); test.value != "" {
					c.header.Set(test.header, test.value)
				}
				if a := s.do(t, c); a.status != test.want {
					t.Errorf("%s %s with %s %q: %v, want %d", version, method, test.header, test.value, a, test.want)
				}
			}
		}
		// A stream is bytes; only its errors have a type that is known before.
		for method, want := range map[string]int{methodRead: 406, methodStream: 200} {
			cases++
			c := s.good(t, version, method)
			c.header.Set("Accept", "application/json")
			if a := s.do(t, c); a.status != want {
				t.Errorf("%s %s accepting JSON only: %v, want %d", version, method, a, want)
			}
		}
	}
	for _, accept := range []string{"", "application/json", "text/event-stream;q=0", "text/html"} {
		cases++
		c := s.getCall(s.sessions[sessionVersion])
		if c.header.Del("Accept"); accept != "" {
			c.header.Set("Accept", accept)
		}
		if a := s.do(t, c); a.status != http.StatusNotAcceptable {
			t.Errorf("GET with Accept %q: %v, want 406", accept, a)
		}
	}
	t.Logf("%d cases", cases)
}

func TestBodyBeyondOneMebibyteIsRefused(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	s := newTarget(t, targetOptions{})
	cases := 0
	for version, method := range map[string]string{sessionVersion: methodRead, modernVersion: methodStream} {
		for _, unknown := range []bool{false, true} {
			for size, want := range map[int]int{limit: 200, limit + 1: 413, 3 * limit: 413} {
				cases++
				c := s.good(t, version, method)
				body, err := json.Marshal(c.message)
				if err != nil {
					t.Fatal(err)
				}
				c.body, c.unknownLength = append(body, bytes.Repeat([]byte(" "), size-len(body))...), unknown
				a, err := s.send(t.Context(), c)
				if err != nil && want == 413 && size > limit+1 {
					continue // the server closed the connection while the client was still writing
				}
				if err != nil || a.status != want {
					t.Errorf("%s %s with %d bytes: %v, %v, want %d", version, method, size, a, err, want)
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

// Probes of a load balancer name the address that they know.
func TestProbesNameAnyHost(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for _, host := range []string{"10.0.0.5:8080", "evil.example", "probe"} {
		c := s.onRoute(modernVersion, call{verb: http.MethodGet, path: "/healthz"})
		c.host = host
		if a := s.do(t, c); a.status != http.StatusOK || string(a.body) != "ok\n" {
			t.Errorf("Host %s: %v", host, a)
		}
	}
	c := s.onRoute(modernVersion, call{verb: http.MethodGet, path: "/repositories"})
	c.host = "build.example:99"
	if a := s.do(t, c); a.status != http.StatusForbidden || !strings.Contains(string(a.body), `"build.example"`) ||
		!strings.Contains(string(a.body), "--allowed-host build.example") {
		t.Errorf("the refusal does not help: %v", a)
	}
}

// A server that lost its root says so.
func TestHealthFails(t *testing.T) {
	t.Parallel()
	s := newTarget(t,
		targetOptions{http: httpx.Options{Health: func() error { return errors.New("/srv/git is gone") }}})
	if a := s.get(t, "/healthz"); a.status != http.StatusServiceUnavailable ||
		strings.Contains(string(a.body), "/srv") {
		t.Errorf("%v", a)
	}
}

// Images and scripts of other sites come without an Origin.
func TestOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{http: httpx.Options{AllowedOrigins: []string{"https://ide.example"}}})
	for _, path := range []string{"/repositories", "/refs/hello", "/archive/hello/main.tar",
		"/raw/hello/main/README.md", "/"} {
		for _, c := range []struct {
			site, origin string
			want         int
		}{
			{"cross-site", "", http.StatusForbidden}, {"cross-site", "https://ide.example", http.StatusOK},
			{"cross-site", "https://evil.example", http.StatusForbidden},
			{"none", "", http.StatusOK}, {"same-origin", "", http.StatusOK}, {"same-site", "", http.StatusOK},
			{"", "", http.StatusOK},
		} {
			a := s.do(t, &call{verb: http.MethodGet, path: path, header: http.Header{"Sec-Fetch-Site": {c.site},
				"Origin": {c.origin}}})
			if a.status != c.want {
				t.Errorf("%s from %q with Origin %q: %v, want %d", path, c.site, c.origin, a, c.want)
			}
			if a.status == http.StatusOK && a.header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("%s can be shown by other sites: %v", path, a.header)
			}
		}
	}
	if a := s.get(t, "/dl/x"); a.header.Get("Cross-Origin-Resource-Policy") != "cross-origin" {
		t.Errorf("links are for any page: %v", a.header)
	}
}
