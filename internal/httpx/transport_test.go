package httpx_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
)

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
	invented := []string{"x", ".", "..", "mcp-session-6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		"6ba7b810-9dad-11d1-80b4-00c04fd430c8", good + "x", good[1:], "e30." +
			strings.Repeat("A", 43), strings.Repeat("A", 8<<10), "null", "../../etc/passwd", good + "." + good}
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

// A client that has lost its stream opens another one before the server notices.
func TestEventStreamEndsTheEarlierOneOfItsSession(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	open := func(session string) io.ReadCloser {
		response, err := s.open(t.Context(), s.getCall(session))
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", response, err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response.Body
	}
	session := s.sessions[sessionVersion]
	other := open(s.initialize(t, sessionVersion, "{}"))
	last := open(session)
	for range 5 {
		next := open(session)
		if text, err := io.ReadAll(last); err != nil || len(text) > 0 {
			t.Fatalf("the earlier stream has %q and ends with %v", text, err)
		}
		last = next
	}
	for name, stream := range map[string]io.ReadCloser{"the last one": last, "that of another session": other} {
		ended := make(chan error, 1)
		go func() {
			_, err := stream.Read(make([]byte, 1))
			ended <- err
		}()
		if a := s.do(t, s.good(t, sessionVersion, methodRead)); a.failed() {
			t.Errorf("a good request beside the streams got %v", a)
		}
		select {
		case err := <-ended:
			t.Errorf("%s ended with %v", name, err)
		default:
		}
	}
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
		{"mixed",
			"[" +
				strings.Join([]string{fmt.Sprintf(ping, "3"), initDone, read(`"b"`, "repo://hello/contents/README.md"),
					initDone, fmt.Sprintf(ping, "-1")}, ",") + "]", 200, `3:ok "b":ok -1:ok`},
		{"errors inside", "[" + strings.Join([]string{read("1", "repo://nobody"), unknown, read("2", "repo://hello"),
			read("3", "repo://a/../b")}, ", ") + "]", 200, `1:-32002 "u":-32601 2:ok 3:-32602`},
		{"same id twice", "[" + fmt.Sprintf(ping, "1") + "," + fmt.Sprintf(ping, "1") + "]", 200, `1:ok 1:ok`},
		{"notifications only", "[" + initDone + "," + initDone + "]", 202, ``},
		{"a reply only", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, 202, ``},
		{"fifty", "[" + strings.Repeat(fmt.Sprintf(ping, "1")+",", 49) + fmt.Sprintf(ping, "1") + "]", 200,
			strings.TrimSpace(strings.Repeat("1:ok ", 50))},
		{"empty", "[]", 400, ``},
		{"too many", "[" + strings.Repeat(fmt.Sprintf(ping, "1")+",", 50) + fmt.Sprintf(ping, "1") + "]", 400, ``},
		{"nested", "[[" + fmt.Sprintf(ping, "1") + "]]", 400, ``},
		{"number", "[1]", 400, ``},
		{"null", "[null]", 400, ``},
		{"one is broken", "[" + fmt.Sprintf(ping, "1") + `,{"jsonrpc":"2.0","id":null,"method":"ping"}]`, 400, ``},
		{"initialize",
			`[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}]`, 400, ``},
		{"stream",
			`[{"jsonrpc":"2.0","id":1,"method":"resources/stream","params":{"uri":"repo://hello/contents/README.md"}}]`,
			400, ``},
		{"a modern message", `[{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"` + metaVersion +
			`":"2026-07-28","` + metaCapabilities + `":{}}}}]`, 400, ``},
	}
	const first = "2024-11-05"
	s.sessions[first] = s.initialize(t, first, `{}`)
	for _, test := range tests {
		for _, version := range []string{first, batchVersion} {
			a := s.do(t, s.batchCall(version, test.body))
			if a.status != test.status || test.status == 200 && a.header.Get("Content-Type") != "application/json" ||
				outline(t, a) != test.want {
				t.Errorf("%s in %s: %v\n got %s\nwant %d %s", test.name, version, a, outline(t, a), test.status,
					test.want)
			}
			if test.status == 202 && len(a.body) > 0 {
				t.Errorf("%s in %s: 202 with the body %s", test.name, version, a.body)
			}
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

func TestModernEraHasOnlyPost(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	verbs := []string{http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodPatch, http.MethodHead,
		http.MethodOptions}
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

// internal/mcp tries all headers.
func TestHeadersThatContradictTheBodyAreRefused(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for _, method := range []string{methodRead, methodStream, "no/such"} {
		for name, edit := range map[string]func(*call){
			"other method":                header("Mcp-Method", "tools/call"),
			"method in another case":      header("Mcp-Method", strings.ToUpper(method)),
			"no method":                   without("Mcp-Method"),
			"other name":                  header("Mcp-Name", "repo://team/app"),
			"name with a slash more":      header("Mcp-Name", "repo://hello/contents/README.md/"),
			"name with other escapes":     header("Mcp-Name", "repo://hello/contents/README%2Emd"),
			"encoded other name":          header("Mcp-Name", headerText("repo://h\u00e9llo")),
			"broken encoding of the name": header("Mcp-Name", "=?base64?!!!?="),
			"no version":                  without("Mcp-Protocol-Version"),
			"older version":               header("Mcp-Protocol-Version", sessionVersion),
			"later version":               header("Mcp-Protocol-Version", "2027-01-01"),
			"version that is no version":  header("Mcp-Protocol-Version", "latest"),
		} {
			if method == "no/such" && strings.Contains(name, "name") {
				continue // names belong to methods
			}
			c := s.good(t, modernVersion, method)
			edit(c)
			if a := s.do(t, c); a.status != http.StatusBadRequest || a.code != -32020 || a.reason != "header_mismatch" {
				t.Errorf("%s with %s: %v, want 400 and -32020", method, name, a)
			}
		}
	}
	// The name of a read is required. That of a stream, whose specification does not know the header, may be left
	// out. Streams cannot be resumed: an event id begins a new one.
	for _, c := range []struct {
		method string
		edit   func(*call)
		code   int
	}{
		{methodRead, without("Mcp-Name"), -32020}, {methodStream, without("Mcp-Name"), 0},
		{methodRead, header("Last-Event-Id", "1"), 0}, {methodStream, header("Last-Event-Id", "1"), 0},
	} {
		request := s.good(t, modernVersion, c.method)
		c.edit(request)
		if a := s.do(t, request); a.code != c.code {
			t.Errorf("%s: %v, want %d", c.method, a, c.code)
		}
	}
}

// internal/mcp tries more methods and versions.
func TestUnknownMethodsAndVersionsAreSaidSo(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for _, method := range []string{"no/such", "Resources/Read", "ｒesources/read", "rpc.discover"} {
		if a := s.do(t, s.call(sessionVersion, method, nil)); a.status != http.StatusOK || a.code != -32601 {
			t.Errorf("session era %q: %v, want 200 and -32601", method, a)
		}
		status, code := http.StatusNotFound, -32601
		c := s.call(modernVersion, method, nil)
		if method[0] > '~' { // no header can carry it
			c.header.Del("Mcp-Method")
			status, code = http.StatusBadRequest, -32020
		}
		if a := s.do(t, c); a.status != status || a.code != code {
			t.Errorf("modern era %q: %v, want %d and %d", method, a, status, code)
		}
	}
	for version, want := range map[string]int{
		"1": 400, "2025-01-01": 400, "2025-11-25x": 400, "latest": 400, "2025-11-2\u0665": 400, strings.Repeat("9", 300): 400,
		sessionVersion + " ": 200, // HTTP drops blanks around values
	} {
		for _, method := range []string{methodRead, methodStream, "ping"} {
			c := s.good(t, sessionVersion, method)
			c.header.Set("Mcp-Protocol-Version", version)
			if a := s.do(t, c); a.status != want {
				t.Errorf("%s with version %q: %v, want %d", method, version, a, want)
			}
		}
	}
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
	found := resources.New(resources.Options{Catalogue: catalogue})
	server := httpx.New(httpx.Options{Resources: found,
		MCP: mcp.New(mcp.Options{Catalogue: catalogue, Resources: found})})
	defer func() {
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	handler := server.Handler()
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp",
		strings.NewReader("{}"))
	request.Header = plainHeader()
	handler.ServeHTTP(recorder, request)
	if recorder.Code != http.StatusBadRequest {
		t.Errorf("%d %s", recorder.Code, recorder.Body)
	}
}

// A version that the server does not know is answered with those that it does, before a session is missed.
// internal/mcp tries more versions and methods.
func TestUnknownVersionsAreBadRequests(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	const version = "2026-07-27"
	for _, method := range []string{"server/discover", "tools/list", methodStream} {
		c := s.call(modernVersion, method, map[string]any{"uri": "repo://hello"})
		c.meta()[metaVersion] = version
		bare, unopened := s.call(sessionVersion, method, nil), s.call(sessionVersion, method, nil)
		unopened.header.Del("Mcp-Session-Id")
		for what, request := range map[string]*call{"with _meta": c, "without _meta": bare, "without a session": unopened} {
			request.header.Set("Mcp-Protocol-Version", version)
			a := s.do(t, request)
			supported, _ := a.data["supported"].([]any)
			if a.status != http.StatusBadRequest || a.code != -32022 || a.data["requested"] != version ||
				!slices.Contains(supported, any(modernVersion)) {
				t.Errorf("%s %s of %s: %v", method, what, version, a)
			}
		}
	}
}
