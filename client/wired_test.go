package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/stdio"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/watch"
)

// stdioCommand is the argument that makes a server over stdio of the test program.
const stdioCommand = "serve-over-stdio"

// serveStdio serves the repositories below a folder over the standard streams.
func serveStdio(root string) error {
	catalogue, err := repos.Open(root, repos.Options{})
	if err != nil {
		return err
	}
	engine, err := archive.NewEngine(archive.EngineOptions{})
	if err != nil {
		return err
	}
	logger := slog.New(slog.DiscardHandler)
	subscriptions := watch.New(watch.Options{Catalogue: catalogue, Logger: logger})
	go subscriptions.Run(context.Background()) // until the process ends
	go catalogue.Watch(context.Background())   // likewise
	return stdio.Serve(context.Background(), stdio.Options{In: os.Stdin, Out: os.Stdout, MCP: mcp.New(mcp.Options{
		Catalogue: catalogue, Subscriptions: subscriptions, Version: "test", Logger: logger,
		Resources: resources.New(resources.Options{Catalogue: catalogue, Engine: engine, Logger: logger, NoHTTP: true}),
		Sessions:  mcp.NewSessions([]byte(strings.Repeat("k", 32))),
	})})
}

// wiredSites gives the endpoints of servers of one repository, by transport, which
// notice pushes.
func wiredSites(t *testing.T) (repo *gittest.Repo, endpoints map[string]string) {
	t.Helper()
	s := newSite(t, "direct", 1)
	return s.repo, map[string]string{
		"HTTP": s.targets[0].String() + "/mcp", "WebSocket": "ws://" + s.targets[0].Host + "/ws",
		"stdio": `stdio:"` + os.Args[0] + `" ` + stdioCommand + " '" + filepath.Dir(filepath.Dir(s.repo.Dir)) + "'",
	}
}

// TestTransportsAgree compares what real servers give over each transport, in every
// protocol.
func TestTransportsAgree(t *testing.T) {
	repo, endpoints := wiredSites(t)
	compared := 0
	for name, endpoint := range endpoints {
		for _, protocol := range protocols {
			c, err := client.Connect(t.Context(), endpoint, client.Options{Protocol: protocol})
			if err != nil {
				t.Fatalf("%s, %s: %v", name, protocol, err)
			}
			if c.Protocol() != protocol {
				t.Errorf("%s: %s is spoken, not %s", name, c.Protocol(), protocol)
			}
			for path, rest := range map[string]string{"README.md": "README.md", "src/noise": "src/noise",
				"src/empty": "src/empty"} {
				want := repo.Git("cat-file", "blob", "main:"+path)
				uri := "repo://team/app/contents/" + rest
				for way, open := range map[string]func() (*client.Download, error){
					"Stream": func() (*client.Download, error) { return c.Stream(t.Context(), uri) },
					"Fetch":  func() (*client.Download, error) { return c.Fetch(t.Context(), uri) },
				} {
					d, err := open()
					if err != nil {
						t.Fatalf("%s, %s, %s of %s: %v", name, protocol, way, path, err)
					}
					got, err := io.ReadAll(d)
					if err != nil || strings.TrimSuffix(string(got), "\n") != strings.TrimSuffix(want, "\n") ||
						d.Size != int64(len(got)) {
						t.Errorf("%s, %s, %s of %s: %d bytes of %d, %v, %+v", name, protocol, way, path, len(got),
							len(want), err, d)
					}
					// What base64 carries has no checksum.
					if way == "Fetch" && !strings.Contains(d.ETag, "sha256-") {
						t.Errorf("%s, %s: %s came without a stream, ETag %q", name, protocol, path, d.ETag)
					}
					_ = d.Close()
					compared++
				}
			}
			var names []string
			for entry, err := range c.List(t.Context(), "repo://team/app/contents") {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, entry.Name)
			}
			if !slices.Equal(names, []string{"README.md", "src"}) {
				t.Errorf("%s, %s: the list is %q", name, protocol, names)
			}
			var refused *client.Error
			if _, err := c.Fetch(t.Context(), "repo://team/app/contents/none"); !errors.As(err, &refused) ||
				!refused.NotFound() {
				t.Errorf("%s, %s: a missing file gives %v", name, protocol, err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if compared < 72 {
		t.Errorf("%d downloads were compared", compared)
	}
}

// TestWatchOverConnections sees pushes in both generations of the protocol.
func TestWatchOverConnections(t *testing.T) {
	repo, endpoints := wiredSites(t)
	for _, name := range []string{"WebSocket", "stdio"} {
		for _, protocol := range []string{"2026-07-28", "2025-11-25"} {
			options := client.Options{Protocol: protocol, Poll: gittest.Patience}
			c, err := client.Connect(t.Context(), endpoints[name], options)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, protocol, err)
			}
			const uri = "repo://team/app/refs/heads/main"
			w, twice := watchAll(t, c, uri), watchAll(t, c, uri)
			head := strings.TrimSpace(repo.Git("rev-parse", "main"))
			w.until(name+" at first", isCommit(head))
			twice.until(name+" at first", isCommit(head))
			next := repo.Commit("main", gittest.Regular("README.md", name+protocol))
			w.until(name+" after a push", isCommit(next))
			twice.until(name+" after a push", isCommit(next))
			_ = w.stop()
			next = repo.Commit("main", gittest.Regular("README.md", name+protocol+"2"))
			twice.until(name+" with one loop left", isCommit(next))
			_ = twice.stop()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A WebSocket that breaks is opened again, and the session begun again.
func TestWatchComesBackOverWebSocket(t *testing.T) {
	s := newSite(t, "direct", 1)
	for _, protocol := range []string{"2026-07-28", "2025-11-25"} {
		at := &url.URL{Scheme: "http", Host: s.targets[0].Host}
		between := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }})
		retried := make(chan error, 100)
		c, err := client.Connect(t.Context(), "ws"+strings.TrimPrefix(between.URL, "http")+"/ws", client.Options{
			Protocol: protocol, Poll: gittest.Patience, Retrying: func(err error) { retried <- err }})
		if err != nil {
			t.Fatal(err)
		}
		w := watchAll(t, c, "repo://team/app/refs/heads/main")
		w.until("at first", isCommit(strings.TrimSpace(s.repo.Git("rev-parse", "main"))))
		// The connection is hijacked, so that the proxy cannot end it. A connection without a listener is
		// replaced silently.
		for heard := false; !heard; {
			client.BreakConnection(c)
			select {
			case err := <-retried:
				if heard = true; !errors.Is(err, client.ErrNetwork) {
					t.Errorf("the connection ended with %v", err)
				}
			case <-time.After(time.Second):
			}
		}
		w.until("after the break", isCommit(s.repo.Commit("main", gittest.Regular("README.md", protocol))))
		_ = w.stop()
		_ = c.Close()
		between.Close()
	}
}

func TestEndpoints(t *testing.T) {
	for text, want := range map[string][]string{
		"a b  c": {"a", "b", "c"}, `"a b" 'c"d' e"f g"h`: {"a b", `c"d`, "ef gh"},
		`C:\bin\x.exe '' $HOME *`: {`C:\bin\x.exe`, "", "$HOME", "*"},
		"":                        nil, "  ": nil, "a\tb\n": {"a", "b"},
	} {
		if got, err := client.SplitCommand(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	near, far := io.Pipe()
	pipe := struct {
		io.Reader
		io.WriteCloser
	}{near, far}
	for text, o := range map[string]client.Options{
		"stdio:": {}, `stdio:"a`: {}, "stdio:a": {Command: []string{"b"}}, "stdio: ": {Command: []string{}},
		"stdio:''":        {},
		"http://host/mcp": {Command: []string{"b"}}, "ws://host/ws": {Pipe: pipe}, "ftp://host": {}, "ws:///ws": {},
		"stdio:x": {Pipe: pipe},
	} {
		if _, err := client.New(text, o); err == nil {
			t.Errorf("%q with %v is an endpoint", text, o)
		}
	}
}

// deafPipe is a server that says something, and takes nothing.
type deafPipe struct {
	asked chan struct{}
	said  io.Reader
}

func (p *deafPipe) Write([]byte) (int, error) {
	close(p.asked)
	return 0, io.ErrClosedPipe
}

func (p *deafPipe) Read(b []byte) (int, error) {
	<-p.asked
	time.Sleep(10 * time.Millisecond) // the failure to write comes first
	return p.said.Read(b)
}

func (p *deafPipe) Close() error { return nil }

// A program may write its reason, and end, before it reads a request.
func TestWordsOfAServerThatReadsNothingAreReported(t *testing.T) {
	t.Parallel()
	p := &deafPipe{asked: make(chan struct{}), said: strings.NewReader("usage: server ROOT\n")}
	_, err := client.Connect(t.Context(), "stdio:", client.Options{Pipe: p, Retries: -1})
	if err == nil || !strings.Contains(err.Error(), "usage: server") {
		t.Errorf("the error is %v, want the words of the server in it", err)
	}
}

// A program that ends says why, and is not started again.
func TestProgramsThatEnd(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	started := filepath.Join(t.TempDir(), "started")
	o := client.Options{Command: []string{"sh", "-c", `echo x >>"$0"; echo "no such root" >&2; exit 3`, started}}
	_, err := client.Connect(t.Context(), "stdio:", o)
	if !errors.Is(err, client.ErrNetwork) || !strings.Contains(err.Error(), "no such root") ||
		!strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("the error is %v", err)
	}
	if times, err := os.ReadFile(started); err != nil || !bytes.Equal(times, []byte("x\n")) {
		t.Errorf("it was started %q times, %v", times, err)
	}
}
