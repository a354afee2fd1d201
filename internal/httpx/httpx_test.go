package httpx_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/logtest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/watch"
)

// fixtures is where the root folders are built that tests have copies of.
var fixtures string

// TestMain looks for goroutines that the server has left. Connections of the
// tests' own clients end a moment after their servers, by themselves.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "httpx")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fixtures = dir
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.Cleanup(func(status int) {
			_ = os.RemoveAll(dir)
			os.Exit(status)
		}),
	)
}

// site is a server with tools, over mirrors that change while it runs.
type site struct {
	*target
	t       *testing.T
	log     *logtest.Log
	mirrors map[string]*gittest.Repo
}

// serve starts a server over empty mirrors, of which there is "repo" unless others are named.
func serve(t *testing.T, names ...string) *site {
	t.Helper()
	s := &site{target: &target{root: t.TempDir()}, t: t, log: &logtest.Log{}, mirrors: make(map[string]*gittest.Repo)}
	if len(names) == 0 {
		names = []string{"repo"}
	}
	for _, name := range names {
		s.mirrors[name] = gittest.At(t, filepath.Join(s.root, name+".git"))
	}
	s.start()
	return s
}

// serveCopy starts a server over a copy of the mirror "repo".
func serveCopy(t *testing.T, mirror *fixture[struct{}]) (s *site, repo *gittest.Repo) {
	t.Helper()
	s = &site{target: &target{root: t.TempDir()}, t: t, log: &logtest.Log{}}
	mirror.copyTo(t, s.root)
	repo = gittest.Existing(t, filepath.Join(s.root, "repo.git"))
	s.mirrors = map[string]*gittest.Repo{"repo": repo}
	s.start()
	return s, repo
}

func (s *site) start() {
	s.t.Helper()
	s.serve(s.t, targetOptions{tools: true, http: httpx.Options{
		Logger: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}})
	// A kept connection that is dialled for a request that was given up outlives its test.
	s.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

// mirrorOf is a fixture of the mirror "repo" with some files.
func mirrorOf(files func() []gittest.File) *fixture[struct{}] {
	return &fixture[struct{}]{build: func(t *testing.T, root string) (none struct{}) {
		gittest.At(t, filepath.Join(root, "repo.git")).Commit("main", files()...)
		return none
	}}
}

// repo is a mirror of the server.
func (s *site) repo(name string) *gittest.Repo {
	s.t.Helper()
	repo, ok := s.mirrors[name]
	if !ok {
		s.t.Fatalf("the server has no mirror %s", name)
	}
	return repo
}

// modern sends a request of 2026-07-28, with resourceStreaming declared.
func (s *site) modern(method string, params map[string]any) *http.Response {
	s.t.Helper()
	full := map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"resourceStreaming": map[string]any{}},
	}}
	for key, value := range params {
		full[key] = value
	}
	header := http.Header{"MCP-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}}
	if uri, ok := params["uri"].(string); ok {
		header["Mcp-Name"] = []string{uri}
	}
	return s.post(header, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": full})
}

// post sends a message with the headers that every request needs.
func (s *site) post(header http.Header, message any) *http.Response {
	s.t.Helper()
	body, err := json.Marshal(message)
	if err != nil {
		s.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/mcp", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream, */*"}}
	for name, values := range header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = response.Body.Close() }) // only read from
	return response
}

// follow keeps subscriptions going until stop is called.
func follow(t *testing.T, subscriptions *watch.Subscriptions, catalogue *repos.Catalogue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { subscriptions.Run(ctx) })
	running.Go(func() { catalogue.Watch(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// initialize opens a session and returns the headers that its requests need.
func (s *site) initialize() http.Header {
	s.t.Helper()
	response := s.post(nil, map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": map[string]any{
		"protocolVersion": "2025-11-25", "clientInfo": map[string]any{"name": "test", "version": "1"},
		"capabilities": map[string]any{"resourceStreaming": map[string]any{}},
	}})
	if body := text(s.t, response); response.StatusCode != http.StatusOK {
		s.t.Fatal(describe(response, body))
	}
	return http.Header{"Mcp-Session-Id": {response.Header.Get("Mcp-Session-Id")},
		"Mcp-Protocol-Version": {"2025-11-25"}}
}

// get opens the event stream of a session.
func (s *site) get(session http.Header) *http.Response {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/mcp", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header = session.Clone()
	request.Header.Set("Accept", "text/event-stream")
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		s.t.Fatal(describe(response, text(s.t, response)))
	}
	return response
}

// text reads a whole reply.
func text(t *testing.T, response *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// describe shortens a failed reply for a test's message.
func describe(response *http.Response, body string) string {
	return fmt.Sprintf("%s %v %.300s", response.Status, response.Header, body)
}
