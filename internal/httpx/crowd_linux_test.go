package httpx_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

// unfinished is a request of which the server waits for more, or the reply to it.
type unfinished struct {
	net.Conn
	reader *bufio.Reader
}

// sendUnfinished sends a message without its body from an address of this machine.
func (s *target) sendUnfinished(t *testing.T, address string, header ...string) *unfinished {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", s.host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the server may have closed it
	_ = conn.SetDeadline(time.Now().Add(gittest.Patience))
	_, err = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: 1000\r\nExpect: 100-continue\r\n"+strings.Join(append(header, ""), "\r\n")+"\r\n")
	if err != nil {
		t.Fatal(err)
	}
	return &unfinished{conn, bufio.NewReader(conn)}
}

// status is 100 where the server waits for the body. That of any other reply comes whole,
// and says when to come again.
func (u *unfinished) status(t *testing.T) int {
	t.Helper()
	reply, err := http.ReadResponse(u.reader, nil)
	if err != nil {
		t.Fatalf("an unfinished request was not answered: %v", err)
	}
	if reply.StatusCode == http.StatusContinue {
		return reply.StatusCode
	}
	body, err := io.ReadAll(reply.Body)
	if err != nil || reply.Header.Get("Retry-After") != "5" || !reply.Close ||
		!strings.Contains(string(body), `"reason":"busy"`) {
		t.Errorf("a reply of status %d is %+v, %s, want Retry-After: 5, Connection: close and the reason busy: %v",
			reply.StatusCode, reply.Header, body, err)
	}
	return reply.StatusCode
}

// clientAt asks from an address of this machine, each time over a new connection.
func clientAt(t *testing.T, address string) *http.Client {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}, Timeout: gittest.Patience,
	}
}

// answered is the status that a path is answered with; 0 where it is not.
func (s *target) answered(t *testing.T, client *http.Client, path string, header ...string) (status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
	}
	reply, err := client.Do(request)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return 0
	}
	defer func() { _ = reply.Body.Close() }()
	if _, err := io.Copy(io.Discard, reply.Body); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return reply.StatusCode
}

const smallFile = "/raw/hello/main/README.md"

// A client that leaves its requests unfinished has its share of the connections and is told
// so beyond it, over and over; another client notices nothing.
func TestCrowdOfOneClientHarmsNoOther(t *testing.T) {
	t.Parallel()
	const most, share, crowd, times = 40, 20, 100, 20
	s := newTarget(t, targetOptions{http: httpx.Options{Connections: most, ClientShare: 100 * share / most}})
	for i := range crowd {
		want := http.StatusServiceUnavailable
		if i < share {
			want = http.StatusContinue
		}
		if status := s.sendUnfinished(t, "127.0.0.2").status(t); status != want {
			t.Fatalf("unfinished request %d of a client with a share of %d: %d, want %d", i+1, share, status, want)
		}
	}
	other := clientAt(t, "127.0.0.3")
	for i := range times {
		var more [5]*unfinished
		for i := range more {
			more[i] = s.sendUnfinished(t, "127.0.0.2")
		}
		for _, path := range []string{"/healthz", smallFile} {
			if status := s.answered(t, other, path); status != http.StatusOK {
				t.Errorf("%s beside the crowd, time %d: %d", path, i+1, status)
			}
		}
		for _, u := range more {
			if status := u.status(t); status != http.StatusServiceUnavailable {
				t.Errorf("one more unfinished request: %d", status)
			}
		}
	}
}

// Where all connections are busy there is still an answer about the health, and a request
// whose body does not come gives way to that of a client with no more connections.
func TestFullServerLetsUnfinishedRequestsGo(t *testing.T) {
	t.Parallel()
	const most = 8
	s := newTarget(t, targetOptions{http: httpx.Options{Connections: most, ClientShare: 50}})
	var first *unfinished
	for i := range most {
		u := s.sendUnfinished(t, []string{"127.0.0.2", "127.0.0.3"}[i%2])
		if status := u.status(t); status != http.StatusContinue {
			t.Fatalf("unfinished request %d: %d", i+1, status)
		}
		if first == nil {
			first = u
		}
	}
	other := clientAt(t, "127.0.0.4")
	if status := s.answered(t, other, "/healthz"); status != http.StatusOK {
		t.Errorf("the health of a full server: %d", status)
	}
	if status := s.answered(t, other, smallFile); status != http.StatusOK {
		t.Errorf("a file from a full server: %d", status)
	}
	if status := first.status(t); status != http.StatusServiceUnavailable {
		t.Errorf("the request that was unfinished for longest: %d", status)
	}
	// The connections end a moment after their replies.
	gittest.Await(t, "the place of the file is given back", func() bool {
		return s.sendUnfinished(t, "127.0.0.2").status(t) == http.StatusContinue
	})
}

// A trusted proxy has no share, and its clients have one each.
func TestClientsOfProxiesHaveShares(t *testing.T) {
	t.Parallel()
	const most, share = 16, 4
	proxies, err := httpx.ParseProxies([]string{"127.0.0.2"})
	if err != nil {
		t.Fatal(err)
	}
	s := newTarget(t, targetOptions{
		http: httpx.Options{Connections: most, ClientShare: 100 * share / most, Proxies: proxies},
	})
	for i := range share + 3 {
		want := http.StatusServiceUnavailable
		if i < share {
			want = http.StatusContinue
		}
		if status := s.sendUnfinished(t, "127.0.0.2", "X-Forwarded-For: 192.0.2.1").status(t); status != want {
			t.Errorf("unfinished request %d of a proxy's client: %d, want %d", i+1, status, want)
		}
	}
	if status := s.answered(t, clientAt(t, "127.0.0.2"), smallFile, "X-Forwarded-For: 192.0.2.2"); status != http.StatusOK {
		t.Errorf("another client of the proxy: %d", status)
	}
	for i := range share + 3 {
		if status := s.sendUnfinished(t, "127.0.0.2").status(t); status != http.StatusContinue {
			t.Errorf("unfinished request %d of the proxy itself: %d", i+1, status)
		}
	}
}
