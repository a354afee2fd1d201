package client_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/client"
)

const secret = "Bearer secret"

// origin is a server that notes the credentials of what it is asked.
type origin struct {
	*httptest.Server
	mu      sync.Mutex
	heard   []string // "METHOD PATH authorization cookie" of each request
	handler http.HandlerFunc
}

func newOrigin(t *testing.T, start func(http.Handler) *httptest.Server, handler http.HandlerFunc) *origin {
	t.Helper()
	o := &origin{handler: handler}
	o.Server = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.heard = append(o.heard, strings.TrimSpace(fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Authorization"), " ", r.Header.Get("Cookie"))))
		o.mu.Unlock()
		o.handler(w, r)
	}))
	t.Cleanup(o.Close)
	return o
}

func bytesOf(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/gzip")
		_, _ = io.WriteString(w, text)
	}
}

// newClient is one with a token and a cookie for the server.
func newClient(t *testing.T, server *origin) *client.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	// Cookies know no ports: the other origin is on the same host.
	jar.SetCookies(at, []*http.Cookie{{Name: "session", Value: "1"}})
	sender := server.Client()
	sender.Jar = jar
	c, err := client.New(server.URL+"/mcp", client.Options{HTTP: sender, Authorization: secret})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func read(t *testing.T, c *client.Client) (string, error) {
	t.Helper()
	d, err := c.Stream(t.Context(), "repo://one/archive/main.tar.gz")
	if err != nil {
		return "", err
	}
	defer func() { _ = d.Close() }()
	content, err := io.ReadAll(d)
	return string(content), err
}

func linkTo(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"uri":"repo://one/archive/1.tar.gz","downloadUrl":%q}}`, address)
	}
}

func redirectTo(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, address, http.StatusFound) }
}

// TestCredentialsStayAtHome leads the client to another origin in every way, and
// back again.
func TestCredentialsStayAtHome(t *testing.T) {
	const home, abroad = secret + " session=1", ""
	for _, lead := range []struct {
		name string
		to   func(string) http.HandlerFunc
	}{{"downloadUrl", linkTo}, {"redirect", redirectTo}} {
		t.Run(lead.name, func(t *testing.T) {
			other := newOrigin(t, httptest.NewServer, bytesOf("content"))
			server := newOrigin(t, httptest.NewServer, nil)
			server.handler = func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/mcp":
					lead.to(other.URL+"/away")(w, r)
				default:
					bytesOf("home again")(w, r)
				}
			}
			c := newClient(t, server)
			if got, err := read(t, c); err != nil || got != "content" {
				t.Fatalf("%q, %v", got, err)
			}
			other.handler = redirectTo(server.URL + "/back")
			if got, err := read(t, c); err != nil || got != "home again" {
				t.Fatalf("%q, %v", got, err)
			}
			wantServer := []string{"POST /mcp " + home, "POST /mcp " + home, "GET /back " + home}
			wantOther := []string{strings.TrimSpace("GET /away " + abroad), strings.TrimSpace("GET /away " + abroad)}
			if fmt.Sprint(server.heard) != fmt.Sprint(wantServer) || fmt.Sprint(other.heard) != fmt.Sprint(wantOther) {
				t.Errorf("the server heard %q, the other %q", server.heard, other.heard)
			}
		})
	}
}

func TestNoStepLeadsToPlainHTTP(t *testing.T) {
	other := newOrigin(t, httptest.NewServer, bytesOf("content"))
	for _, lead := range []func(string) http.HandlerFunc{linkTo, redirectTo} {
		server := newOrigin(t, httptest.NewTLSServer, lead(other.URL))
		if _, err := read(t, newClient(t, server)); !errors.Is(err, client.ErrInsecure) {
			t.Errorf("%v", err)
		}
	}
	if len(other.heard) != 0 {
		t.Errorf("the other server heard %q", other.heard)
	}
}

func TestAnEndlessRedirectEnds(t *testing.T) {
	server := newOrigin(t, httptest.NewServer, nil)
	server.handler = redirectTo(server.URL + "/mcp")
	if _, err := read(t, newClient(t, server)); err == nil || len(server.heard) > 20 {
		t.Errorf("%v after %d requests", err, len(server.heard))
	}
}

// TestOnlyWholeDownloadsEnd cuts and alters what is downloaded.
func TestOnlyWholeDownloadsEnd(t *testing.T) {
	content := strings.Repeat("content\n", 10_000)
	sum := sha256.Sum256([]byte(content))
	digest := "sha-512=:AAAA:, sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	trailer := func(w http.ResponseWriter, content string) {
		w.Header().Set("Trailer", "Repr-Digest")
		_, _ = io.WriteString(w, content)
		w.Header().Set("Repr-Digest", digest)
	}
	for name, c := range map[string]struct {
		serve func(http.ResponseWriter)
		whole bool
		err   error
	}{
		"digest before": {func(w http.ResponseWriter) {
			w.Header().Set("Repr-Digest", digest)
			_, _ = io.WriteString(w, content)
		}, true, nil},
		"digest behind": {func(w http.ResponseWriter) { trailer(w, content) }, true, nil},
		"no digest":     {func(w http.ResponseWriter) { _, _ = io.WriteString(w, content) }, true, nil},
		"altered before": {func(w http.ResponseWriter) {
			w.Header().Set("Repr-Digest", digest)
			_, _ = io.WriteString(w, "C"+content[1:])
		}, false, client.ErrDigest},
		"altered behind": {func(w http.ResponseWriter) { trailer(w, "C"+content[1:]) }, false, client.ErrDigest},
		"cut off": {func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, content)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, false, io.ErrUnexpectedEOF},
	} {
		server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/gzip")
			c.serve(w)
		})
		got, err := read(t, newClient(t, server))
		if c.whole && (err != nil || got != content) || !c.whole && !errors.Is(err, c.err) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestErrorsAreTheServers(t *testing.T) {
	for name, c := range map[string]struct {
		status      int
		kind, reply string
		want        client.Error
	}{
		"of the protocol": {400, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"No such thing."}}`, client.Error{Status: 400, Code: -32602, Message: "No such thing."}},
		"of HTTP":         {503, "text/plain", "Busy. Come back.\n", client.Error{Status: 503, Message: "Busy. Come back."}},
		"without bytes":   {200, "application/json", `{"jsonrpc":"2.0","id":1,"result":{}}`, client.Error{Status: 200}},
	} {
		server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.reply)
		})
		_, err := read(t, newClient(t, server))
		var got *client.Error
		if !errors.As(err, &got) || *got != c.want || got.Error() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, address := range []string{"", "git.example.com/mcp", "ftp://git.example.com", "http://", "://"} {
		if _, err := client.New(address, client.Options{}); err == nil {
			t.Errorf("%q is taken for a server", address)
		}
	}
}

func TestCancelledDownloadsFail(t *testing.T) {
	begun := make(chan struct{})
	server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<16))
		_ = http.NewResponseController(w).Flush()
		close(begun)
		<-r.Context().Done()
	})
	c := newClient(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	d, err := c.Stream(ctx, "repo://one/archive/main.tar")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	<-begun
	cancel()
	if _, err := io.Copy(io.Discard, d); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
