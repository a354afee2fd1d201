package client_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
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
		o.heard = append(o.heard,
			strings.TrimSpace(fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Authorization"), " ",
				r.Header.Get("Cookie"))))
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
func newClient(t *testing.T, server *origin, trusted ...string) *client.Client {
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
	return clientOf(t, server, client.Options{HTTP: sender, Authorization: secret, Origins: trusted})
}

func clientOf(t *testing.T, server *origin, options client.Options) *client.Client {
	t.Helper()
	c, err := client.New(server.URL+"/mcp", options)
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

// idOf is the id of the message in a request, as JSON.
func idOf(r *http.Request) string {
	var message struct{ ID json.RawMessage }
	_ = json.NewDecoder(r.Body).Decode(&message) // what has no message has no id
	return string(message.ID)
}

func linkTo(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w,
			`{"jsonrpc":"2.0","id":%s,"result":{"uri":"repo://one/archive/1.tar.gz","downloadUrl":%q}}`, idOf(r), address)
	}
}

func redirectTo(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, address, http.StatusFound) }
}

// TestCredentialsStayAtHome leads the client to another origin in every way, and
// back again.
func TestCredentialsStayAtHome(t *testing.T) {
	t.Parallel()
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
			c := newClient(t, server, other.URL)
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
	t.Parallel()
	other := newOrigin(t, httptest.NewServer, bytesOf("content"))
	for _, lead := range []func(string) http.HandlerFunc{linkTo, redirectTo} {
		server := newOrigin(t, httptest.NewTLSServer, lead(other.URL))
		if _, err := read(t, newClient(t, server, other.URL)); !errors.Is(err, client.ErrInsecure) {
			t.Errorf("%v", err)
		}
	}
	if len(other.heard) != 0 {
		t.Errorf("the other server heard %q", other.heard)
	}
}

func TestAnEndlessRedirectEnds(t *testing.T) {
	t.Parallel()
	server := newOrigin(t, httptest.NewServer, nil)
	server.handler = redirectTo(server.URL + "/mcp")
	if _, err := read(t, newClient(t, server)); err == nil || len(server.heard) > 20 {
		t.Errorf("%v after %d requests", err, len(server.heard))
	}
}

// TestOnlyWholeDownloadsEnd cuts and alters what is downloaded.
func TestOnlyWholeDownloadsEnd(t *testing.T) {
	t.Parallel()
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
		"no digest": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, content) }, false,
			client.ErrNotVerified},
		"announced digest that does not come": {func(w http.ResponseWriter) {
			w.Header().Set("Trailer", "Repr-Digest")
			_, _ = io.WriteString(w, content)
		}, false, client.ErrNotVerified},
		"length": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			_, _ = io.WriteString(w, content)
		}, true, nil},
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
	t.Parallel()
	for name, c := range map[string]struct {
		status      int
		kind, reply string
		want        client.Error
	}{
		"of the protocol": {400, "application/json",
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"No such thing.","data":{"reason":"not_found"}}}`,
			client.Error{Operation: "resources/stream repo://one/archive/main.tar.gz", Status: 400, Code: -32602,
				Reason: "not_found", Message: "No such thing."}},
		"of HTTP": {503, "text/plain", "Busy. Come back.\n",
			client.Error{Operation: "resources/stream repo://one/archive/main.tar.gz", Status: 503,
				Message: "Busy. Come back."}},
		"of a proxy": {503, "application/json", `{"message":"Service Unavailable"}`,
			client.Error{Operation: "resources/stream repo://one/archive/main.tar.gz", Status: 503,
				Message: `{"message":"Service Unavailable"}`}},
		"of a proxy, a list": {504, "application/json", `["x"]`,
			client.Error{Operation: "resources/stream repo://one/archive/main.tar.gz", Status: 504, Message: `["x"]`}},
		"of a proxy, with an error": {401, "application/json", `{"error":{"code":401}}`,
			client.Error{Operation: "resources/stream repo://one/archive/main.tar.gz", Status: 401,
				Message: `{"error":{"code":401}}`}},
		"without bytes": {200, "application/json", `{"jsonrpc":"2.0","id":1,"result":{}}`,
			client.Error{Operation: "resources/stream repo://one/archive/main.tar.gz", Status: 200}},
	} {
		server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.reply)
		})
		_, err := read(t, clientOf(t, server, client.Options{Retries: -1}))
		var got *client.Error
		if !errors.As(err, &got) || *got != c.want || !strings.HasPrefix(got.Error(), c.want.Operation+": ") {
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
	t.Parallel()
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

// TestEveryRedirectIsFollowedByGET: SEP-2532 has servers redirect with 302 or 307
// to the bytes.
func TestEveryRedirectIsFollowedByGET(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{301: false, 302: true, 303: true, 307: true, 308: true} {
		other := newOrigin(t, httptest.NewServer, bytesOf("content"))
		server := newOrigin(t, httptest.NewServer,
			func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/there", status) })
		got, err := read(t, newClient(t, server, other.URL))
		if want != (err == nil && got == "content" && fmt.Sprint(other.heard) == "[GET /there]") {
			t.Errorf("%d: %q, %v, the other heard %q", status, got, err, other.heard)
		}
	}
}

// TestOnlyNamedOriginsAreFollowedTo leads the client astray.
func TestOnlyNamedOriginsAreFollowedTo(t *testing.T) {
	t.Parallel()
	other := newOrigin(t, httptest.NewServer, bytesOf("content"))
	for name, lead := range map[string]func(string) http.HandlerFunc{"downloadUrl": linkTo, "redirect": redirectTo} {
		server := newOrigin(t, httptest.NewServer, lead(other.URL+"/secret"))
		_, err := read(t, newClient(t, server, "https://archives.example"))
		if !errors.Is(err, client.ErrOrigin) || !strings.Contains(err.Error(), other.URL) ||
			strings.Contains(err.Error(), "/secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(other.heard) != 0 {
		t.Errorf("the other server heard %q", other.heard)
	}
	if _, err := client.New("https://git.example.com/mcp",
		client.Options{Origins: []string{"archives.example"}}); err == nil {
		t.Error("an origin without a scheme is taken")
	}
}

// TestNothingLargerIsTaken: the client sends its limit and enforces it, whether
// it says the length or not.
func TestNothingLargerIsTaken(t *testing.T) {
	t.Parallel()
	const limit = 1000
	for name, c := range map[string]struct {
		size    int
		chunked bool
		err     error
	}{
		"announced": {limit + 1, false, client.ErrTooLarge}, "not announced": {limit + 1, true, client.ErrTooLarge},
		"far too large": {limit * 1000, true, client.ErrTooLarge},
		"just right":    {limit, false, nil}, "just right in chunks": {limit, true, client.ErrNotVerified},
	} {
		told := make(chan string, 9)
		server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			told <- string(body)
			w.Header().Set("Content-Type", "application/gzip")
			if c.chunked {
				_ = http.NewResponseController(w).Flush()
			} else {
				w.Header().Set("Content-Length", fmt.Sprint(c.size))
			}
			_, _ = io.WriteString(w, strings.Repeat("x", c.size))
		})
		got, err := read(t, clientOf(t, server, client.Options{MaxStreamSize: limit}))
		if !errors.Is(err, c.err) || len(got) > limit || err == nil && len(got) != c.size {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if said := <-told; !strings.Contains(said, `"resourceStreaming":{"maxStreamSize":1000}`) {
			t.Errorf("%s: the server was told %s", name, said)
		}
	}
	if _, err := client.New("https://git.example.com/mcp", client.Options{MaxStreamSize: -1}); err == nil {
		t.Error("a negative limit is taken")
	}
}

// TestAnExpiredLinkIsAskedForAgain, once.
func TestAnExpiredLinkIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for gone, want := range map[int64]bool{0: true, 1: true, 2: false} {
		server := newOrigin(t, httptest.NewServer, nil)
		var links atomic.Int64
		server.handler = func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost:
				linkTo(fmt.Sprint(server.URL, "/dl/", links.Add(1)))(w, r)
			case links.Load() <= gone:
				http.Error(w, "The link has expired.", http.StatusGone)
			default:
				bytesOf("content")(w, r)
			}
		}
		got, err := read(t, newClient(t, server))
		var refused *client.Error
		if want != (err == nil && got == "content") || !want &&
			(!errors.As(err, &refused) || refused.Status != http.StatusGone ||
				refused.Operation != "download of repo://one/archive/main.tar.gz") || links.Load() > 2 {
			t.Errorf("%d links have expired: %q, %v after %d", gone, got, err, links.Load())
		}
	}
}

// TestErrorsTellNoAddress: the address of a link is a credential.
func TestErrorsTellNoAddress(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	other := newOrigin(t, httptest.NewServer, nil)
	other.Close()
	server := newOrigin(t, httptest.NewServer, linkTo(other.URL+"/secret"))
	_, err := read(t, newClient(t, server, other.URL))
	if err == nil || strings.Contains(err.Error(), "/secret") ||
		!strings.HasPrefix(err.Error(), "download of repo://one/archive/main.tar.gz: ") {
		t.Error(err)
	}
}

// A downloadUrl that is relative is one of the server's own.
func TestARelativeLinkIsTheServers(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"/dl/token", "dl/token", "//HOST/dl/token"} {
		server := newOrigin(t, httptest.NewServer, nil)
		server.handler = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/dl/token" {
				w.Header().Set("Content-Length", "7")
				bytesOf("content")(w, r)
				return
			}
			linkTo(strings.Replace(link, "HOST", strings.TrimPrefix(server.URL, "http://"), 1))(w, r)
		}
		if got, err := read(t, newClient(t, server)); got != "content" || err != nil {
			t.Errorf("%s: %q, %v", link, got, err)
		}
	}
	server := newOrigin(t, httptest.NewServer, linkTo("%zz"))
	if _, err := read(t, newClient(t, server)); !errors.Is(err, client.ErrDamaged) {
		t.Errorf("a link that is none: %v", err)
	}
}

// A reply is the answer to the request that it came for (JSON-RPC 2.0, section 5).
func TestAnswersToOthersAreRefused(t *testing.T) {
	t.Parallel()
	for reply, err := range map[string]error{
		`{"jsonrpc":"2.0","id":2,"result":{"downloadUrl":"/x"}}`:             client.ErrDamaged,
		`{"jsonrpc":"2.0","id":"1","result":{"downloadUrl":"/x"}}`:           client.ErrDamaged,
		`{"jsonrpc":"2.0","result":{"downloadUrl":"/x"}}`:                    client.ErrDamaged,
		`{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"other"}}`: client.ErrDamaged,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                           client.ErrDamaged,
		`[1]`: client.ErrDamaged, `{`: client.ErrDamaged, ``: client.ErrDamaged,
		`{"jsonrpc":"2.0","id":1,"result":[]}`: client.ErrDamaged,
	} {
		server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, reply)
		})
		if _, got := read(t, newClient(t, server)); !errors.Is(got, err) {
			t.Errorf("%s: %v", reply, got)
		}
	}
	for _, id := range []string{"", `"id":null,`} { // an error may leave it out
		server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0",`+id+`"error":{"code":-32602,"message":"No such thing."}}`)
		})
		var refused *client.Error
		if _, got := read(t, newClient(t, server)); !errors.As(got, &refused) || refused.Code != -32602 {
			t.Errorf("%s: %v", id, got)
		}
	}
}

// A link that fails is asked for anew (SEP-2532: clients should treat failures of downloads
// as ones that pass).
func TestALinkThatFailsIsAskedForAnew(t *testing.T) {
	t.Parallel()
	asked := 0
	server := newOrigin(t, httptest.NewServer, nil)
	server.handler = func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mcp":
			asked++
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{"downloadUrl":"/dl/%d"}}`, asked, asked)
		case "/dl/3":
			w.Header().Set("Content-Length", "7")
			bytesOf("content")(w, r)
		default:
			http.Error(w, "Internal error.", http.StatusInternalServerError)
		}
	}
	if got, err := read(t, newClient(t, server)); got != "content" || err != nil || asked != 3 {
		t.Errorf("%q after %d links, %v", got, asked, err)
	}
}
