package httpx_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
)

func TestForeignOriginIsRefusedOnEveryRoute(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{http: httpx.Options{AllowedOrigins: []string{"https://ide.example"}}})
	_, port, _ := net.SplitHostPort(s.host)
	origins := []string{
		"https://evil.example", "null", "http://127.0.0.1.evil.example", "http://127.0.0.1", "http://127.0.0.1:1", "http://localhost:" + port, "file://", "https://ide.example.evil.example",
		"https://ide.example:444", "http://ide.example", "http://" + s.host + "@evil.example", "http://evil.example\\@" + s.host, s.host, "*", "about:blank", "ftp://" + s.host,
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
	hosts := []string{"evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "192.0.2.1", "[2001:db8::1]:80", "0.0.0.0", "git.example.evil.example", "xgit.example", "localhost."}
	cases := 0
	for _, version := range eras {
		for _, route := range routes {
			for _, host := range hosts {
				cases++
				c := s.onRoute(version, route)
				c.host = host
				if a := s.do(t, c); a.status != http.StatusForbidden {
					t.Errorf("%s %s %s with Host %q: %v, want 403", version, route.verb, route.path, host, a)
				}
			}
		}
		for _, host := range []string{"localhost", "localhost:1", "127.0.0.1", "[::1]:80", "git.example", "GIT.example:8443"} {
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
	if err := conn.SetDeadline(time.Now().Add(hang)); err != nil {
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
		{"foreign origin", "POST /mcp", s.host, "Origin: https://evil.example\r\nContent-Type: application/json\r\n", http.StatusForbidden},
		{"foreign origin, other route", "POST /unknown", s.host, "Origin: https://evil.example\r\n", http.StatusForbidden},
		{"foreign host", "POST /mcp", "evil.example", "Content-Type: application/json\r\n", http.StatusForbidden},
		{"duplicate header", "POST /mcp", s.host, "Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\nContent-Type: application/json\r\n", http.StatusBadRequest},
		{"unknown route", "POST /unknown", s.host, "", http.StatusNotFound},
		{"other verb", "PUT /mcp", s.host, "", http.StatusMethodNotAllowed},
		{"health with a body", "GET /healthz", s.host, "", http.StatusOK},
		{"content type", "POST /mcp", s.host, "Content-Type: text/plain\r\n", http.StatusUnsupportedMediaType},
		{"content encoding", "POST /mcp", s.host, "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", http.StatusUnsupportedMediaType},
		{"event stream with a body", "GET /mcp", s.host, session, http.StatusBadRequest},
		{"DELETE with a body", "DELETE /mcp", s.host, session, http.StatusMethodNotAllowed},
	}
	lengths := []string{"Content-Length: 10\r\n", "Transfer-Encoding: chunked\r\n", "Content-Length: 10\r\nExpect: 100-continue\r\n"}
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

// awaitEventStream returns once the session can open an event stream.
func (s *target) awaitEventStream(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(hang)
	for {
		ctx, cancel := context.WithCancel(t.Context())
		response, err := s.open(ctx, s.getCall(s.sessions[sessionVersion]))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("an event stream cannot be opened again: %s", response.Status)
		}
		time.Sleep(time.Millisecond)
	}
}

func (s *target) getCall(session string) *call {
	header := http.Header{"Accept": {"text/event-stream"}, "Mcp-Protocol-Version": {sessionVersion}}
	if session != "" {
		header.Set("Mcp-Session-Id", session)
	}
	return &call{verb: http.MethodGet, header: header}
}

func TestInventedSessionIsNotFoundAndMissingOneIsABadRequest(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	good := s.sessions[sessionVersion]
	invented := []string{"x", ".", "..", "mcp-session-6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", good + "x", good[1:], "e30." + strings.Repeat("A", 43), strings.Repeat("A", 8<<10), "null", "../../etc/passwd", good + "." + good}
	calls := map[string]func() *call{
		"POST read":    func() *call { return s.good(t, sessionVersion, methodRead) },
		"POST stream":  func() *call { return s.good(t, sessionVersion, methodStream) },
		"POST unknown": func() *call { return s.call(sessionVersion, "no/such", nil) },
		"POST ping":    func() *call { return s.call(sessionVersion, "ping", nil) },
		"POST batch": func() *call {
			return &call{header: plainHeader(), body: []byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`)}
		},
		"POST notification": func() *call {
			return &call{header: plainHeader(), body: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)}
		},
		"POST reply": func() *call {
			return &call{header: plainHeader(), body: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)}
		},
		"GET":          func() *call { return s.getCall("") },
		"GET resuming": func() *call { c := s.getCall(""); c.header.Set("Last-Event-ID", "1"); return c },
		"DELETE":       func() *call { c := s.getCall(""); c.verb = http.MethodDelete; return c },
	}
	cases := 0
	for name, make := range calls {
		cases++
		c := make()
		c.header.Del("Mcp-Session-Id")
		if a := s.do(t, c); a.status != http.StatusBadRequest {
			t.Errorf("%s without a session: %v, want 400", name, a)
		}
		for _, id := range invented {
			cases++
			c := make()
			c.header.Set("Mcp-Session-Id", id)
			if a := s.do(t, c); a.status != http.StatusNotFound {
				t.Errorf("%s with the session %.60q: %v, want 404", name, id, a)
			}
		}
	}
	t.Logf("%d cases", cases)
}

func TestSecondEventStreamOfASessionConflicts(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	session := s.sessions[sessionVersion]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, err := s.open(ctx, s.getCall(session))
	if err != nil || first.StatusCode != http.StatusOK {
		t.Fatalf("first stream: %v, %v", first, err)
	}
	defer func() { _ = first.Body.Close() }()
	for range 3 {
		if a := s.do(t, s.getCall(session)); a.status != http.StatusConflict {
			t.Errorf("second stream: %v, want 409", a)
		}
	}
	// The conflict is the session's own.
	other, err := s.open(ctx, s.getCall(s.initialize(t, sessionVersion, "{}")))
	if err != nil || other.StatusCode != http.StatusOK {
		t.Fatalf("stream of another session: %v, %v", other, err)
	}
	defer func() { _ = other.Body.Close() }()
	cancel()
	s.awaitEventStream(t)
}

func TestOtherMediaTypesAreRefused(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	tests := []struct {
		header, value string
		want          int
	}{
		{"Content-Type", "", 415}, {"Content-Type", "text/plain", 415}, {"Content-Type", "text/plain; application/json", 415}, {"Content-Type", "application/x-www-form-urlencoded", 415},
		{"Content-Type", "multipart/form-data; boundary=x", 415}, {"Content-Type", "application/jsonp", 415}, {"Content-Type", "application/json, text/plain", 415}, {"Content-Type", "*/*", 415},
		{"Content-Type", "application/json; charset=utf-8", 200}, {"Content-Type", "APPLICATION/JSON", 200}, {"Content-Type", ";", 415},
		{"Content-Encoding", "gzip", 415}, {"Content-Encoding", "br", 415}, {"Content-Encoding", "GZIP", 415}, {"Content-Encoding", "identity", 415},
		{"Accept", "", 406}, {"Accept", "text/html", 406}, {"Accept", "text/event-stream", 406}, {"Accept", "application/json;q=0, text/event-stream", 406}, {"Accept", "application/jsonp, text/event-stream", 406},
		{"Accept", "*/*;q=0", 406}, {"Accept", "*/*, application/json;q=0.0", 406}, {"Accept", ",;,", 406}, {"Accept", "image/*", 406},
		{"Accept", "*/*", 200}, {"Accept", "application/*, text/*;q=0.1", 200}, {"Accept", "text/event-stream,application/json", 200}, {"Accept", "application/json;q=0.5;charset=x, */*;q=0.1", 200},
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

// batchCall is a request with a body as it is.
func (s *target) batchCall(version, body string) *call {
	c := s.call(version, "ping", nil)
	c.body = []byte(body)
	return c
}

const (
	ping     = `{"jsonrpc":"2.0","id":%s,"method":"ping"}`
	initDone = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func TestBatchesAreServedWhereTheyExist(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	read := func(id, uri string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"resources/read","params":{"uri":"` + uri + `"}}`
	}
	unknown := `{"jsonrpc":"2.0","id":"u","method":"no/such"}`
	tests := []struct {
		name   string
		body   string
		status int
		want   string // "id:ok" or "id:code" of each reply, in order
	}{
		{"one", "[" + fmt.Sprintf(ping, "1") + "]", 200, `1:ok`},
		{"mixed", "[" + strings.Join([]string{fmt.Sprintf(ping, "3"), initDone, read(`"b"`, "repo://hello/contents/README.md"), initDone, fmt.Sprintf(ping, "-1")}, ",") + "]", 200, `3:ok "b":ok -1:ok`},
		{"errors inside", "[" + strings.Join([]string{read("1", "repo://nobody"), unknown, read("2", "repo://hello"), read("3", "repo://a/../b")}, ", ") + "]", 200, `1:-32002 "u":-32601 2:ok 3:-32602`},
		{"same id twice", "[" + fmt.Sprintf(ping, "1") + "," + fmt.Sprintf(ping, "1") + "]", 200, `1:ok 1:ok`},
		{"notifications only", "[" + initDone + "," + initDone + "]", 202, ``},
		{"a reply only", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, 202, ``},
		{"fifty", "[" + strings.Repeat(fmt.Sprintf(ping, "1")+",", 49) + fmt.Sprintf(ping, "1") + "]", 200, strings.TrimSpace(strings.Repeat("1:ok ", 50))},
		{"empty", "[]", 400, ``},
		{"too many", "[" + strings.Repeat(fmt.Sprintf(ping, "1")+",", 50) + fmt.Sprintf(ping, "1") + "]", 400, ``},
		{"nested", "[[" + fmt.Sprintf(ping, "1") + "]]", 400, ``},
		{"number", "[1]", 400, ``},
		{"null", "[null]", 400, ``},
		{"one is broken", "[" + fmt.Sprintf(ping, "1") + `,{"jsonrpc":"2.0","id":null,"method":"ping"}]`, 400, ``},
		{"initialize", `[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}]`, 400, ``},
		{"stream", `[{"jsonrpc":"2.0","id":1,"method":"resources/stream","params":{"uri":"repo://hello/contents/README.md"}}]`, 400, ``},
		{"a modern message", `[{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"` + metaVersion + `":"2026-07-28","` + metaCapabilities + `":{}}}}]`, 400, ``},
	}
	for _, test := range tests {
		a := s.do(t, s.batchCall(batchVersion, test.body))
		if a.status != test.status || test.status == 200 && a.header.Get("Content-Type") != "application/json" || outline(t, a) != test.want {
			t.Errorf("%s: %v\n got %s\nwant %d %s", test.name, a, outline(t, a), test.status, test.want)
		}
		if test.status == 202 && len(a.body) > 0 {
			t.Errorf("%s: 202 with the body %s", test.name, a.body)
		}
		for _, version := range eras {
			if a := s.do(t, s.batchCall(version, test.body)); a.status != http.StatusBadRequest {
				t.Errorf("%s in %s, which has no batches: %v, want 400", test.name, version, a)
			}
		}
	}
	t.Logf("%d cases", 3*len(tests))
}

// outline shows a batch of replies on one line.
func outline(t *testing.T, a answer) string {
	t.Helper()
	var replies []struct {
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code int `json:"code"`
			Data struct {
				Reason string `json:"reason"`
			} `json:"data"`
		} `json:"error"`
	}
	if a.status != http.StatusOK {
		return ""
	}
	if err := json.Unmarshal(a.body, &replies); err != nil {
		t.Errorf("a batch is answered with %s: %v", a.body, err)
	}
	shown := make([]string, len(replies))
	for i, reply := range replies {
		shown[i] = string(reply.ID) + ":ok"
		if reply.Error != nil {
			shown[i] = fmt.Sprintf("%s:%d", reply.ID, reply.Error.Code)
			if reply.Error.Data.Reason == "" {
				t.Errorf("error without a reason: %s", a.body)
			}
		} else if reply.Result == nil {
			t.Errorf("reply without a result: %s", a.body)
		}
	}
	return strings.Join(shown, " ")
}

func TestVeryLongURIHarmsNobody(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	long := map[string]string{
		"one segment": "repo://hello/contents/" + strings.Repeat("a", 400<<10),
		"segments":    "repo://hello/contents/" + strings.Repeat("a/", 200<<10),
		"escapes":     "repo://hello/contents/" + strings.Repeat("%61", 130<<10),
		"repository":  "repo://" + strings.Repeat("x/", 200<<10) + "refs/heads/main/contents/y",
		"options":     "repo://hello/archive/main.tar?" + strings.Repeat("prefix=a&", 45<<10),
	}
	cases := 0
	for name, uri := range long {
		for _, method := range []string{methodRead, methodStream, "resources/subscribe", "resources/unsubscribe"} {
			for _, version := range eras {
				// Lengths are checked in one place: each URI goes through a few of
				// the ways, and one through all. Subscribing is not part of the
				// modern era.
				some := version == sessionVersion && method == methodRead || version == modernVersion && method == methodStream
				if !some && name != "segments" || strings.HasSuffix(method, "subscribe") && version == modernVersion {
					continue
				}
				cases++
				s.during(t, func() {
					c := s.call(version, method, map[string]any{"uri": uri})
					// No header has room for it; a stream may do without.
					want := "invalid_uri"
					if c.header.Del("Mcp-Name"); version == modernVersion && method == methodRead {
						c.header.Set("Mcp-Name", uri[:1<<10])
						want = "header_mismatch"
					}
					if a := s.do(t, c); a.reason != want {
						t.Errorf("%s %s %s: %v, want %s", version, method, name, a, want)
					}
				})
			}
		}
		if name != "segments" {
			continue
		}
		cases++
		s.during(t, func() {
			a := s.do(t, s.call(sessionVersion, "completion/complete", map[string]any{
				"ref": map[string]any{"type": "ref/resource", "uri": uri}, "argument": map[string]any{"name": "repo", "value": "h"},
			}))
			if a.status != http.StatusOK {
				t.Errorf("completion of %s: %v", name, a)
			}
		})
	}
	t.Logf("%d cases", cases)
}

func TestModernEraHasOnlyPost(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	verbs := []string{http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodPatch, http.MethodHead, http.MethodOptions}
	for _, verb := range verbs {
		for _, session := range []string{"", s.sessions[sessionVersion], "invented"} {
			c := s.getCall(session)
			c.verb = verb
			c.header.Set("Mcp-Protocol-Version", modernVersion)
			a := s.do(t, c)
			preflight := verb == http.MethodOptions && a.status == http.StatusNoContent
			if a.status != http.StatusMethodNotAllowed && !preflight {
				t.Errorf("modern %s: %v, want 405", verb, a)
			}
			allow := a.header.Get("Allow")
			if !strings.Contains(allow, http.MethodPost) {
				t.Errorf("modern %s: Allow is %q, want POST in it", verb, allow)
			}
			if (verb == http.MethodGet || verb == http.MethodDelete) && allow != http.MethodPost {
				t.Errorf("modern %s: Allow is %q, want POST only", verb, allow)
			}
		}
	}
	t.Logf("%d cases", 3*len(verbs))
}

func TestHeadersThatContradictTheBodyAreRefused(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	set := func(name, value string) func(*call) { return func(c *call) { c.header.Set(name, value) } }
	del := func(name string) func(*call) { return func(c *call) { c.header.Del(name) } }
	tests := []struct {
		name string
		edit func(*call)
	}{
		{"other method", set("Mcp-Method", "tools/call")},
		{"method in another case", func(c *call) { c.header.Set("Mcp-Method", strings.ToUpper(c.header.Get("Mcp-Method"))) }},
		{"no method", del("Mcp-Method")},
		{"other name", set("Mcp-Name", "repo://team/app")},
		{"name with a slash more", set("Mcp-Name", "repo://hello/contents/README.md/")},
		{"name with other escapes", set("Mcp-Name", "repo://hello/contents/README%2Emd")},
		{"encoded other name", set("Mcp-Name", headerText("repo://h\u00e9llo"))},
		{"broken encoding of the name", set("Mcp-Name", "=?base64?!!!?=")},
		{"no version", del("Mcp-Protocol-Version")},
		{"older version", set("Mcp-Protocol-Version", sessionVersion)},
		{"later version", set("Mcp-Protocol-Version", "2027-01-01")},
		{"no version at all", set("Mcp-Protocol-Version", "latest")},
		{"event id", set("Last-Event-Id", "1")},
	}
	cases := 0
	for _, method := range []string{methodRead, methodStream, "no/such"} {
		for _, test := range tests {
			if method == "no/such" && strings.Contains(test.name, "name") {
				continue // names belong to methods
			}
			cases++
			c := s.good(t, modernVersion, method)
			test.edit(c)
			if a := s.do(t, c); a.status != http.StatusBadRequest || a.code != -32020 || a.reason != "header_mismatch" {
				t.Errorf("%s with %s: %v, want 400 and -32020", method, test.name, a)
			}
		}
	}
	// The name of a read is required; that of a stream, whose specification
	// does not know the header, may be left out.
	cases += 2
	c := s.good(t, modernVersion, methodRead)
	c.header.Del("Mcp-Name")
	if a := s.do(t, c); a.code != -32020 {
		t.Errorf("a read without Mcp-Name: %v", a)
	}
	c = s.good(t, modernVersion, methodStream)
	c.header.Del("Mcp-Name")
	if a := s.do(t, c); a.failed() {
		t.Errorf("a stream without Mcp-Name: %v", a)
	}
	t.Logf("%d cases", cases)
}

func TestUnknownMethodsAndVersionsAreSaidSo(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	methods := []string{"no/such", "Resources/Read", "resources/Stream", "resources/read ", "ｒesources/read", "rpc.discover", "../mcp", "initialize/"}
	for _, method := range methods {
		if a := s.do(t, s.call(sessionVersion, method, nil)); a.status != http.StatusOK || a.code != -32601 || a.reason != "method_not_found" {
			t.Errorf("session era %q: %v, want 200 and -32601", method, a)
		}
		c := s.call(modernVersion, method, nil)
		if method != strings.TrimSpace(method) || method[0] > '~' {
			c.header.Del("Mcp-Method") // no header can carry it as it is
			if a := s.do(t, c); a.status != http.StatusBadRequest || a.code != -32020 {
				t.Errorf("modern era %q: %v, want 400 and -32020", method, a)
			}
			continue
		}
		if a := s.do(t, c); a.status != http.StatusNotFound || a.code != -32601 || a.reason != "method_not_found" {
			t.Errorf("modern era %q: %v, want 404 and -32601", method, a)
		}
	}
	versions := []string{"1", "2025-01-01", "2024-11-04", "2025-11-25 ", "2025-11-25x", "latest", "2025-11-2\u0665", "DRAFT-2026-v1", strings.Repeat("9", 300)}
	for _, version := range versions {
		for _, method := range []string{methodRead, methodStream, "ping"} {
			c := s.good(t, sessionVersion, method)
			c.header.Set("Mcp-Protocol-Version", version)
			a := s.do(t, c)
			if strings.TrimSpace(version) == sessionVersion {
				if a.failed() { // HTTP drops blanks around values
					t.Errorf("%s with version %q: %v", method, version, a)
				}
				continue
			}
			if a.status != http.StatusBadRequest {
				t.Errorf("%s with version %q: %v, want 400", method, version, a)
			}
		}
	}
	for _, method := range []string{methodRead, methodStream, "server/discover"} {
		c := s.good(t, modernVersion, method)
		c.header.Set("Mcp-Protocol-Version", "2099-01-01")
		c.meta()[metaVersion] = "2099-01-01"
		a := s.do(t, c)
		supported, _ := a.data["supported"].([]any)
		if a.status != http.StatusBadRequest || a.code != -32022 || !slices.Contains(supported, any(modernVersion)) {
			t.Errorf("%s of a version to come: %v, want 400, -32022 and the versions that are supported", method, a)
		}
	}
	t.Logf("%d cases", 2*len(methods)+3*len(versions)+3)
}

// breakage is one way to break a request, whatever its method.
type breakage struct {
	name string
	only string // an era, or "" for both
	edit func(*call)
}

func header(name, value string) func(*call) { return func(c *call) { c.header.Set(name, value) } }

func without(name string) func(*call) { return func(c *call) { c.header.Del(name) } }

func twice(name, first, second string) func(*call) {
	return func(c *call) { c.header[http.CanonicalHeaderKey(name)] = []string{first, second} }
}

func member(name string, value any) func(*call) {
	return func(c *call) { c.message[name] = value }
}

func param(name string, value any) func(*call) {
	return func(c *call) { c.params()[name] = value }
}

// toURI asks for another resource, in the header as well.
func toURI(uri string) func(*call) {
	return func(c *call) {
		c.params()["uri"] = uri
		if c.header.Get("Mcp-Name") != "" {
			c.header.Set("Mcp-Name", headerText(uri))
		}
	}
}

// raw replaces a part of the encoded message.
func raw(old, new string) func(*call) {
	return func(c *call) {
		body, err := json.Marshal(c.message)
		if err != nil || !bytes.Contains(body, []byte(old)) {
			panic(fmt.Sprintf("%s: %q is not in %s", err, old, body))
		}
		c.body = bytes.Replace(body, []byte(old), []byte(new), 1)
	}
}

func breakages(s *target) []breakage {
	zero := strings.Repeat("0", 40)
	all := []breakage{
		{"no content type", "", without("Content-Type")},
		{"text/plain", "", header("Content-Type", "text/plain")},
		{"gzip", "", header("Content-Encoding", "gzip")},
		{"no accept", "", without("Accept")},
		{"accepts HTML", "", header("Accept", "text/html")},
		{"accepts events only", "", header("Accept", "text/event-stream")},
		{"foreign origin", "", header("Origin", "https://evil.example")},
		{"foreign host", "", func(c *call) { c.host = "evil.example" }},
		{"two content types", "", twice("Content-Type", "application/json", "application/json")},
		{"two versions", "", twice("Mcp-Protocol-Version", sessionVersion, modernVersion)},
		{"two sessions", "", twice("Mcp-Session-Id", "a", "b")},
		{"two methods", "", twice("Mcp-Method", methodRead, methodStream)},
		{"two names", "", twice("Mcp-Name", "repo://hello", "repo://team/app")},
		{"two origins", "", twice("Origin", "http://"+s.host, "http://"+s.host)},
		{"unknown version", "", header("Mcp-Protocol-Version", "1999-01-01")},
		{"version is no date", "", header("Mcp-Protocol-Version", "v1")},
		{"modern header only", sessionVersion, header("Mcp-Protocol-Version", modernVersion)},
		{"modern body only", sessionVersion, param("_meta", map[string]any{metaVersion: modernVersion})},
		{"no session", sessionVersion, without("Mcp-Session-Id")},
		{"invented session", sessionVersion, header("Mcp-Session-Id", "invented")},
		{"session with a byte more", sessionVersion, header("Mcp-Session-Id", s.sessions[sessionVersion]+"A")},
		{"no version header", modernVersion, without("Mcp-Protocol-Version")},
		{"session version in the header", modernVersion, header("Mcp-Protocol-Version", sessionVersion)},
		{"session version in the body", modernVersion, func(c *call) { c.meta()[metaVersion] = sessionVersion }},
		{"version to come", modernVersion, func(c *call) {
			c.header.Set("Mcp-Protocol-Version", "2099-01-01")
			c.meta()[metaVersion] = "2099-01-01"
		}},
		{"version is a number", modernVersion, func(c *call) { c.meta()[metaVersion] = 20260728 }},
		{"no version in the body", modernVersion, func(c *call) { delete(c.meta(), metaVersion) }},
		{"no capabilities", modernVersion, func(c *call) { delete(c.meta(), metaCapabilities) }},
		{"capabilities are a list", modernVersion, func(c *call) { c.meta()[metaCapabilities] = []any{} }},
		{"capabilities are null", modernVersion, func(c *call) { c.meta()[metaCapabilities] = nil }},
		{"no meta", modernVersion, func(c *call) { delete(c.params(), "_meta") }},
		{"no method header", modernVersion, without("Mcp-Method")},
		{"other method header", modernVersion, header("Mcp-Method", "tools/list")},
		{"other name header", modernVersion, header("Mcp-Name", "repo://team/app")},
		{"broken name header", modernVersion, header("Mcp-Name", "=?base64?%%?=")},
		{"event id", modernVersion, header("Last-Event-Id", "7")},
		{"jsonrpc 1.0", "", member("jsonrpc", "1.0")},
		{"jsonrpc is a number", "", member("jsonrpc", 2.0)},
		{"no jsonrpc", "", func(c *call) { delete(c.message, "jsonrpc") }},
		{"id null", "", member("id", nil)},
		{"id fraction", "", member("id", 1.5)},
		{"id object", "", member("id", map[string]any{})},
		{"id true", "", member("id", true)},
		{"id huge", "", raw(`"id":7`, `"id":1e400`)},
		{"id of 1 KB", "", member("id", strings.Repeat("x", 1<<10))},
		{"id twice", "", raw(`"id":7`, `"id":7,"id":8`)},
		{"method twice", "", raw(`"id":7`, `"id":7,"method":"ping"`)},
		{"method beside a result", "", member("result", map[string]any{})},
		{"method beside an error", "", member("error", map[string]any{"code": 1, "message": "x"})},
		{"params list", "", member("params", []any{"repo://hello"})},
		{"params null", "", member("params", nil)},
		{"params text", "", member("params", "repo://hello")},
		{"no params", "", func(c *call) { delete(c.message, "params") }},
		{"no uri", "", func(c *call) { delete(c.params(), "uri") }},
		{"uri number", "", param("uri", 5)},
		{"uri null", "", param("uri", nil)},
		{"uri object", "", param("uri", map[string]any{"uri": "repo://hello"})},
		{"uri list", "", param("uri", []any{"repo://hello"})},
		{"uri empty", "", param("uri", "")},
		{"uri in another case", "", raw(`"uri":`, `"URI":`)},
		{"uri twice in two cases", "", raw(`"uri":`, `"Uri":"repo://team/app","uri":`)},
		{"uri twice in two cases, the right one first", "", raw(`"uri":`, `"uri":"repo://hello/contents/README.md","URI":"repo://team/app","x":`)},
		{"uri twice", "", raw(`"uri":`, `"uri":"repo://team/app","uri":`)},
		{"meta in another case", sessionVersion, param("_META", map[string]any{metaVersion: modernVersion, metaCapabilities: map[string]any{}})},
		{"meta number", "", param("_meta", 5)},
		{"meta list", "", param("_meta", []any{})},
		{"meta text", "", param("_meta", "x")},
		{"not JSON", "", func(c *call) { c.body = []byte("hello") }},
		{"cut off", "", raw(`"2.0"`, `"2.0`)},
		{"two texts", "", raw(`{"id"`, `{}{"id"`)},
		{"lone surrogate", "", raw(`"repo://hello`, `"repo://\ud800hello`)},
		{"not UTF-8", "", raw(`"repo://hello`, "\"repo://\xffhello")},
		{"byte order mark", "", raw(`{"id"`, "\ufeff"+`{"id"`)},
		{"too large", "", raw(`{"id"`, strings.Repeat(" ", 1<<20)+`{"id"`)},
		{"batch", "", func(c *call) { raw(`{"id"`, `[{"id"`)(c); c.body = append(c.body, ']') }},
	}
	for _, uri := range []string{
		"repo://nobody", "repo://nobody/contents/x", "repo://HELLO", "repo://hello.git", "repo://hello/none", "repo://hello/contents/none", "repo://hello/contents/README.md/x", "repo://hello/contents/passwd/x",
		"repo://hello/archive/none.tar", "repo://hello/archive/main.rar", "repo://hello/archive/" + zero + ".tar", "repo://hello/archive/" + s.unreachable + ".tar", "repo://hello/sha/" + s.kept + "/contents/password",
		"repo://hello/refs/heads/loop-a/contents/x", "repo://hello/refs/keep-around/" + s.kept, "repo://empty/archive/HEAD.tar", "repo://empty/contents/x", "repo://many/archive/" + s.ambiguous + ".tar", "file:///etc/passwd", "https://hello", "hello", "repo:hello",
		"repo:///", "repo://../hello", "repo://hello/../team", "repo://hello%00", "repo://%zz", "repo://hello#x", "repo://hello?x=1", "repo://hello/archive/main.tar?prefix=..", "repo://hello/archive/main.tar?prefix=a&prefix=a",
		"repo://hello/contents/" + strings.Repeat("a", 5<<10),
	} {
		all = append(all, breakage{fmt.Sprintf("uri %.60q", uri), "", toURI(uri)})
	}
	return all
}

func TestBrokenStreamGetsTheAnswerOfABrokenRead(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	cases := 0
	for _, b := range breakages(s) {
		for _, version := range eras {
			if b.only != "" && b.only != version {
				continue
			}
			cases++
			var answers [2]answer
			for i, method := range []string{methodRead, methodStream} {
				c := s.good(t, version, method)
				b.edit(c)
				a, err := s.send(t.Context(), c)
				if err != nil {
					t.Fatalf("%s %s, %s: %v", version, method, b.name, err)
				}
				s.checkLeaks(t, a)
				if answers[i] = a; !a.failed() {
					t.Errorf("%s %s, %s: is served: %v", version, method, b.name, a)
				}
			}
			read, stream := answers[0], answers[1]
			if read.status != stream.status || read.code != stream.code || read.reason != stream.reason {
				t.Errorf("%s, %s:\n   read %v\n stream %v", version, b.name, read, stream)
			}
			if read.reason == "internal_error" || read.status >= 500 {
				t.Errorf("%s, %s: the client's mistake is taken for the server's: %v", version, b.name, read)
			}
		}
	}
	if cases < 40 {
		t.Errorf("only %d cases", cases)
	}
	t.Logf("%d cases", cases)
}

// httptest's recorder has neither deadlines nor a connection: the handler must
// serve it nonetheless, since programs embed it.
func TestHandlerNeedsNoConnection(t *testing.T) {
	t.Parallel()
	catalogue, err := repos.Open(t.TempDir(), repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = catalogue.Close() }()
	server := httpx.New(httpx.Options{Resources: resources.New(resources.Options{Catalogue: catalogue})})
	defer func() {
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	handler := server.Handler()
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader("{}"))
	request.Header = plainHeader()
	handler.ServeHTTP(recorder, request)
	if recorder.Code != http.StatusBadRequest {
		t.Errorf("%d %s", recorder.Code, recorder.Body)
	}
}
