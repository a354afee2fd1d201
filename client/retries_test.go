package client_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/repomcp/repomcp/client"
)

// answering is a server that counts requests and answers each as a test wants.
func answering(t *testing.T, serve http.HandlerFunc) (c func(client.Options) *client.Client, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		serve(w, r)
	}))
	t.Cleanup(server.Close)
	return func(o client.Options) *client.Client {
		t.Helper()
		o.HTTP = server.Client()
		made, err := client.New(server.URL+"/mcp", o)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}, asked
}

// TestRetriesAreNeverMultiplied: an operation that always fails takes one request more
// than there are retries, whichever layers take part in it.
func TestRetriesAreNeverMultiplied(t *testing.T) {
	t.Parallel()
	const retries = 3
	const uri = "repo://team/app/archive/main.tar"
	busy := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	headersOnly := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.Header().Set("Etag", `"x"`)
		w.WriteHeader(http.StatusOK)
	}
	read := func(c *client.Client) error {
		_, err := c.Read(t.Context(), uri)
		return err
	}
	download := func(begin func(*client.Client) (*client.Download, error)) func(*client.Client) error {
		return func(c *client.Client) error {
			d, err := begin(c)
			if err != nil {
				return err
			}
			defer func() { _ = d.Close() }() // it was only read
			_, err = io.Copy(io.Discard, d)
			return err
		}
	}
	stream := download(func(c *client.Client) (*client.Download, error) { return c.Stream(t.Context(), uri) })
	fetch := download(func(c *client.Client) (*client.Download, error) { return c.Fetch(t.Context(), uri) })
	for name, test := range map[string]struct {
		serve http.HandlerFunc
		do    func(*client.Client) error
		most  int64
	}{
		"a message":                     {busy, read, retries + 1},
		"a download":                    {busy, stream, retries + 1},
		"a fetch":                       {busy, fetch, retries + 1},
		"a download that gives no byte": {headersOnly, stream, retries + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connect, asked := answering(t, test.serve)
			err := test.do(connect(client.Options{Retries: retries}))
			if err == nil || asked.Load() != test.most {
				t.Errorf("%d requests ended with %v, want %d and an error", asked.Load(), err, test.most)
			}
		})
	}
}

// TestALostSessionMultipliesNoRetries: each attempt finds that the session is lost, and
// asks once for another one.
func TestALostSessionMultipliesNoRetries(t *testing.T) {
	t.Parallel()
	const retries = 3
	var lost atomic.Bool
	var greetings, others atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m) // a download has none
		switch {
		case m.Method == "initialize" && lost.Load():
			greetings.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		case m.Method == "initialize":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", "one")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"protocolVersion":"2025-11-25"}}`)
		case m.Method == "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			others.Add(1)
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.Connect(t.Context(), server.URL+"/mcp",
		client.Options{HTTP: server.Client(), Protocol: "2025-11-25", Retries: retries})
	if err != nil {
		t.Fatal(err)
	}
	lost.Store(true)
	_, err = c.Stream(t.Context(), "repo://team/app/archive/main.tar")
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || !refused.Busy() || greetings.Load() != retries+1 || others.Load() != retries+1 {
		t.Errorf("%d requests for a session and %d others ended with %v, want %d of each and that the server is busy",
			greetings.Load(), others.Load(), err, retries+1)
	}
}
