package httpx_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

// logOf does something, and returns the line of the log that says so.
func logOf(t *testing.T, logged lines, do func()) map[string]any {
	t.Helper()
	for len(logged) > 0 {
		<-logged
	}
	do()
	for {
		select {
		case line := <-logged:
			var fields map[string]any
			if err := json.Unmarshal([]byte(line), &fields); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if fields["msg"] == "request" {
				return fields
			}
		case <-time.After(gittest.Patience):
			t.Fatal("nothing was logged")
		}
	}
}

func TestLogSaysWhoDidWhat(t *testing.T) {
	t.Parallel()
	logged := make(lines, 1000)
	s := newTarget(t, targetOptions{http: httpx.Options{Logger: slog.New(slog.NewJSONHandler(logged, nil))}})
	for _, c := range []struct {
		path string
		want map[string]any
	}{
		{"/archive/hello/main.tar?prefix=x/&token=secret&alone", map[string]any{
			"outcome": "error", "client": "127.0.0.1", "user_agent": "tester/1", "query": "prefix=x/&token=-&-",
			"request_id": "abc-1", "status": 400.0,
		}},
		{"/archive/hello/main.tar?prefix=x/", map[string]any{"outcome": "done", "repository": "hello", "ref": "main",
			"commit": s.Head, "query": "prefix=x/", "status": 200.0}},
		{"/raw/hello/main/none", map[string]any{"outcome": "error", "repository": "hello", "status": 404.0}},
	} {
		var reply answer
		fields := logOf(t, logged, func() {
			reply = s.do(t, &call{verb: http.MethodGet, path: c.path, header: http.Header{"User-Agent": {"tester/1"},
				"X-Request-Id": {"abc-1"}}})
		})
		for name, want := range c.want {
			if fields[name] != want {
				t.Errorf("%s: %s is %v, want %v", c.path, name, fields[name], want)
			}
		}
		if _, ok := fields["seconds"].(float64); !ok || reply.header.Get("X-Request-Id") != "abc-1" {
			t.Errorf("%s: %v, %v", c.path, fields, reply.header)
		}
	}
}

func TestInsaneRequestIDsAreReplaced(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	seen := make(map[string]bool)
	for _, id := range []string{"", "a b", "<script>", strings.Repeat("a", 129), `"`} {
		got := s.do(t, &call{verb: http.MethodGet, path: "/repositories",
			header: http.Header{"X-Request-Id": {id}}}).header.Get("X-Request-Id")
		if got == id || len(got) < 20 || seen[got] {
			t.Errorf("%q was replied with %q", id, got)
		}
		seen[got] = true
	}
}

// asPrincipal serves what a server does to somebody who is known.
func asPrincipal(t *testing.T, server *httpx.Server, id string) (url string) {
	t.Helper()
	known := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.Handler().ServeHTTP(w, r.WithContext(access.WithPrincipal(r.Context(), access.Principal{ID: id})))
	}))
	t.Cleanup(func() {
		known.CloseClientConnections()
		known.Close()
	})
	return known.URL
}

// Who asked, from where and for which commit is in the line of every message, over every
// way; nobody else's X-Forwarded-For than a proxy's counts.
func TestLogSaysWhoAskedForWhat(t *testing.T) {
	t.Parallel()
	logged := make(lines, 1000)
	proxies, err := httpx.ParseProxies([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		proxies httpx.Proxies
		client  string
	}{{proxies, "198.51.100.3"}, {httpx.Proxies{}, "127.0.0.1"}} {
		s := newTarget(t, targetOptions{http: httpx.Options{Logger: slog.New(slog.NewJSONHandler(logged, nil)),
			Proxies: test.proxies}})
		url := asPrincipal(t, s.server, "token:ci")
		sent := http.Header{"X-Forwarded-For": {"10.9.8.7, 198.51.100.3"}}
		get := func(path string) func() {
			return func() {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header = sent
				response, err := s.client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, response.Body); err != nil {
					t.Error(err)
				}
				_ = response.Body.Close() // it was only read
			}
		}
		conn := dialAs(t, url, sent)
		for name, c := range map[string]struct {
			do   func()
			want map[string]any
		}{
			"a download": {get("/archive/hello/main.tar"), map[string]any{"repository": "hello", "commit": s.Head,
				"outcome": "done", "status": 200.0}},
			"a refusal": {get("/raw/none/main/f"), map[string]any{"outcome": "error", "status": 404.0}},
			"over WebSocket": {func() {
				conn.send(rpc(modernVersion, 1, methodRead, map[string]any{"uri": "repo://hello/contents/README.md"}))
				conn.next()
			}, map[string]any{"rpc": "resources/read", "repository": "hello", "commit": s.Head, "outcome": "done",
				"path": "/ws"}},
			"a notification over WebSocket": {func() {
				conn.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			}, map[string]any{"rpc": "notifications/initialized", "outcome": "done", "path": "/ws"}},
			"what is refused over WebSocket": {func() {
				conn.send(`{"jsonrpc":"2.0","id":5,"method":"no/such"}`)
				conn.next()
			}, map[string]any{"rpc": "no/such", "outcome": "error", "path": "/ws"}},
			"no message over WebSocket": {func() {
				conn.send(`{"jsonrpc":`)
				conn.next()
			}, map[string]any{"rpc": "", "outcome": "error", "path": "/ws"}},
		} {
			fields := logOf(t, logged, c.do)
			for field, want := range c.want {
				if fields[field] != want {
					t.Errorf("%s: %s is %v, want %v: %v", name, field, fields[field], want, fields)
				}
			}
			_, timed := fields["seconds"].(float64)
			_, sized := fields["bytes"].(float64)
			if fields["principal"] != "token:ci" || fields["client"] != test.client ||
				fields["forwarded_for"] != sent.Get("X-Forwarded-For") || !timed || !sized {
				t.Errorf("%s: %v", name, fields)
			}
		}
		if fields := logOf(t, logged,
			func() { s.do(t, &call{verb: http.MethodGet, path: "/repositories"}) }); fields["principal"] != nil {
			t.Errorf("of nobody: %v", fields)
		}
	}
}

// The line of a tool has the commit that it answered of.
func TestLogHasTheCommitOfATool(t *testing.T) {
	t.Parallel()
	s := serve(t, "hello")
	head := s.repo("hello").Commit("main", gittest.Regular("f", "1\n"))
	session := s.initialize()
	text(t, s.post(session, map[string]any{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": map[string]any{
		"name": "get_file_contents", "arguments": map[string]any{"repo": "hello", "path": "f"},
	}}))
	s.log.Await(t, "tool=get_file_contents repository=hello commit="+head)
	wrong := strings.Split(s.log.String(), "\n")
	if slices.ContainsFunc(wrong, func(line string) bool { return strings.Contains(line, "principal=") }) {
		t.Errorf("nobody has a name: %s", wrong)
	}
}
