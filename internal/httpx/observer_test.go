package httpx_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/mcp"
)

// notebook writes down what a server tells of.
type notebook struct {
	mu       sync.Mutex
	began    int
	open     int
	requests []httpx.Request
	messages []mcp.Exchange
	streams  map[bool]int
	ended    chan struct{}
}

func (n *notebook) RequestBegan() { n.note(func() { n.began++ }) }

func (n *notebook) Request(r httpx.Request) {
	n.note(func() { n.requests = append(n.requests, r) })
	n.ended <- struct{}{}
}
func (n *notebook) Message(m mcp.Exchange) { n.note(func() { n.messages = append(n.messages, m) }) }
func (n *notebook) Session(mcp.Session)    {}
func (n *notebook) StreamBegan()           { n.note(func() { n.open++ }) }
func (n *notebook) StreamEnded(whole bool) { n.note(func() { n.open--; n.streams[whole]++ }) }

func (n *notebook) note(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
}

func TestObserversAreToldOfEachRequest(t *testing.T) {
	t.Parallel()
	n := &notebook{streams: make(map[bool]int), ended: make(chan struct{}, 1000)}
	s := newTarget(t, targetOptions{http: httpx.Options{Observer: n}})
	await := func() {
		t.Helper()
		select {
		case <-n.ended:
		case <-time.After(gittest.Patience):
			t.Fatal("nothing was told of a request")
		}
	}
	for range s.sessions {
		await() // initialize
	}
	for _, c := range []struct {
		verb, path, host string
		want             httpx.Request
	}{
		{http.MethodGet, "/raw/hello/main/README.md", "", httpx.Request{Route: "/raw/", Outcome: "done", Status: 200,
			Bytes: 6}},
		{http.MethodHead, "/archive/hello/main.tar", "", httpx.Request{Route: "/archive/", Outcome: "done",
			Status: 200}},
		{http.MethodGet, "/refs/none", "", httpx.Request{Route: "/refs/", Outcome: "error", Status: 404}},
		{http.MethodGet, "/dl/secret", "", httpx.Request{Route: "/dl/", Outcome: "error", Status: 404}},
		{http.MethodGet, "/none/such", "", httpx.Request{Outcome: "error", Status: 404}},
		{http.MethodPut, "/raw/hello/main/README.md", "", httpx.Request{Route: "/raw/", Outcome: "error", Status: 405}},
		{http.MethodGet, "/repositories", "evil.example", httpx.Request{Outcome: "error", Status: 403}},
		{http.MethodGet, "/healthz", "", httpx.Request{Route: "/healthz", Outcome: "done", Status: 200, Bytes: 3}},
	} {
		s.do(t, &call{verb: c.verb, path: c.path, host: c.host})
		await()
		got := n.requests[len(n.requests)-1]
		c.want.Method = c.verb
		if c.want.Outcome == "error" {
			c.want.Bytes = got.Bytes // that of the explanation
		}
		c.want.Took, c.want.Details = got.Took, got.Details
		if got != c.want || got.Took <= 0 {
			t.Errorf("%s %s: %+v, want %+v", c.verb, c.path, got, c.want)
		}
	}
	if n.began != len(n.requests) || n.open != 0 || n.streams[true] != 1 || n.streams[false] != 0 {
		t.Errorf("%d began of %d, %d streams are open, ended: %v", n.began, len(n.requests), n.open, n.streams)
	}
}

// What is refused is told of once: as a request, and as a message only if that was read.
func TestObserversAreToldOfRefusals(t *testing.T) {
	t.Parallel()
	const outside = "192.0.2.1"
	n := &notebook{streams: make(map[bool]int), ended: make(chan struct{}, 1000)}
	d := newDoors(t, targetOptions{http: httpx.Options{Observer: n, Limits: occupied(t, "token:alice", outside)}})
	for range d.sessions {
		<-n.ended // initialize
	}
	large := d.call(modernVersion, "resources/list", map[string]any{"x": strings.Repeat("x", 100<<10)})
	read := d.call(modernVersion, methodRead, map[string]any{"uri": "repo://hello/contents/README.md"})
	for what, c := range map[string]struct {
		call          *call
		authorization string
		status        int
		told          bool
	}{
		"a message of nobody": {read, "", http.StatusUnauthorized, false},
		"a file for nobody": {&call{verb: http.MethodGet, path: "/raw/hello/main/README.md"}, "",
			http.StatusUnauthorized, false},
		"a connection": {&call{verb: http.MethodGet, path: "/ws"}, "Bearer rmcp_wrong", http.StatusUnauthorized,
			false},
		"a body without room": {large, d.alice(), http.StatusTooManyRequests, false},
		"a file without room": {&call{verb: http.MethodGet, path: "/raw/hello/main/README.md"}, d.alice(),
			http.StatusTooManyRequests, false},
		"a reply without room": {read, d.alice(), http.StatusTooManyRequests, true},
	} {
		asked := *c.call
		asked.header = asked.header.Clone()
		if asked.header == nil {
			asked.header = make(http.Header)
		}
		asked.header.Del("Authorization")
		if c.authorization != "" {
			asked.header.Set("Authorization", c.authorization)
		}
		d.do(t, &asked)
		select {
		case <-n.ended:
		case <-time.After(gittest.Patience):
			t.Fatal("nothing was told of a request")
		}
		n.mu.Lock()
		got := n.requests[len(n.requests)-1]
		n.mu.Unlock()
		if got.Status != c.status || got.Outcome != "error" || got.Details.Told != c.told {
			t.Errorf("%s: %d, %s, a message was told of: %v", what, got.Status, got.Outcome, got.Details.Told)
		}
	}
}

// A message is told of whatever carried it, and so is a stream that breaks off.
func TestObserversAreToldOfMessagesAndBrokenStreams(t *testing.T) {
	t.Parallel()
	n := &notebook{streams: make(map[bool]int), ended: make(chan struct{}, 1000)}
	s := newTarget(t, targetOptions{http: httpx.Options{Observer: n}, build: copyBulky(t)})
	dial(t, s.url).call(rpc(modernVersion, 1, methodRead, map[string]any{"uri": "repo://none"}))
	response, err := s.open(t.Context(), s.call(modernVersion, methodStream, map[string]any{"uri": archiveURI}))
	if err != nil {
		t.Fatal(err)
	}
	begin(t, response)
	n.await(t, "a stream", func() bool { return n.open == 1 })
	_ = response.Body.Close() // which breaks it off
	n.await(t, "its end", func() bool { return n.open == 0 && n.streams[false] == 1 })
	for _, want := range []mcp.Exchange{
		{Transport: "websocket", Method: methodRead, Outcome: "error"},
		{Transport: "http", Method: methodStream, Outcome: "aborted"},
		{Transport: "http", Method: "initialize", Outcome: "done"},
	} {
		n.await(t, want.Method, func() bool {
			return slices.ContainsFunc(n.messages, func(m mcp.Exchange) bool {
				valid := m.Took > 0 && (m.Bytes > 0 || m.Outcome == "aborted")
				m.Took, m.Bytes, m.Details = 0, 0, mcp.Details{}
				return valid && m == want
			})
		})
	}
}

// await waits for something to be written down.
func (n *notebook) await(t *testing.T, what string, seen func() bool) {
	t.Helper()
	gittest.Await(t, what+" is told of", func() (ok bool) {
		n.note(func() { ok = seen() })
		return ok
	})
}

// The date of the last fetch is with every plain download, also with 304 and HEAD.
func TestDownloadsTellWhenTheMirrorWasFetched(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{links: newLinks(t).linking(t)})
	const header = "X-Repomcp-Mirror-Fetched"
	file := filepath.Join(s.root, "hello.git", "FETCH_HEAD")
	paths := []string{"/raw/hello/main/README.md", "/archive/hello/main.tar", "/refs/hello", "/repositories"}
	for _, path := range paths {
		if got := s.get(t, path).header[header]; got != nil {
			t.Errorf("%s, never fetched: %q", path, got)
		}
	}
	write(t, file, "what came\n")
	fetched := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(file, fetched, fetched); err != nil {
		t.Fatal(err)
	}
	const want = "Fri, 02 Jan 2026 03:04:05 GMT"
	for _, path := range paths[:3] {
		first := s.get(t, path)
		if first.header.Get(header) != want {
			t.Errorf("%s: %q", path, first.header.Get(header))
		}
		for status, c := range map[int]*call{
			http.StatusNotModified: {verb: http.MethodGet, path: path,
				header: http.Header{"If-None-Match": first.header["Etag"]}},
			http.StatusOK: {verb: http.MethodHead, path: path},
		} {
			if got := s.do(t, c); got.status != status || got.header.Get(header) != want {
				t.Errorf("%s: %d, %q", path, got.status, got.header.Get(header))
			}
		}
	}
	if got := s.get(t, paths[3]).header[header]; got != nil {
		t.Errorf("the list of all: %q", got)
	}
	reply := dial(t, s.url).call(rpc(modernVersion, 1, methodStream,
		map[string]any{"uri": "repo://hello/archive/main.tar"}))
	if got := s.get(t, at(t, reply.Result)); got.status != http.StatusOK || got.header.Get(header) != want {
		t.Errorf("a link: %d, %q", got.status, got.header.Get(header))
	}
}
