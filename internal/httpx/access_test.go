package httpx_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/access/rules"
	"github.com/repomcp/repomcp/internal/base/operatorfile/filetest"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/resources"
)

// walled is a server with rules of what each principal may read. Requests say themselves which principal asks.
type walled struct {
	*target
	t     *testing.T
	file  string
	rules *rules.Rules
	cache *cache.Cache
}

// headerPrincipal is the principal of a request, as JSON.
const headerPrincipal = "X-Test-Principal"

func newWalled(t *testing.T, text string, build func(root string)) *walled {
	t.Helper()
	w := &walled{t: t, file: filepath.Join(t.TempDir(), "access.yaml"), cache: newCache(t, t.TempDir(), nil),
		target: &target{root: filepath.Join(t.TempDir(), "mirrors")}}
	build(w.root)
	w.write(text)
	var err error
	if w.rules, err = filetest.Open(t, func() (*rules.Rules, error) { return rules.Load(w.file) }); err != nil {
		t.Fatal(err)
	}
	w.serve(t, targetOptions{
		tools: true, cache: w.cache, visible: w.rules.Visible, http: httpx.Options{Sockets: 1000},
		links: func(publicURL string) resources.Linking {
			linking := newLinks(t).linking(t)(publicURL)
			linking.Relevant = w.rules.Relevant
			return linking
		},
	})
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var p access.Principal
		_ = json.Unmarshal([]byte(r.Header.Get(headerPrincipal)), &p) // without one there is no principal
		w.server.Handler().ServeHTTP(rw, r.WithContext(access.WithPrincipal(r.Context(), p)))
	}))
	w.url, w.client = server.URL, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	})
	return w
}

// write puts another text of rules in the place of the file.
func (w *walled) write(text string) {
	w.t.Helper()
	if err := os.WriteFile(w.file+".new", []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(w.file+".new", w.file); err != nil {
		w.t.Fatal(err)
	}
}

// reload has the rules read again, as SIGHUP does.
func (w *walled) reload(text string) {
	w.t.Helper()
	w.write(text)
	if taken, err := filetest.Settle(w.t, w.rules); !taken || err != nil {
		w.t.Fatal(taken, err)
	}
	w.subscriptions.Reconsider()
}

// visitor asks as one principal.
type visitor struct {
	*walled
	principal access.Principal
	session   string // of the era that has them
}

func (w *walled) as(id string, groups ...string) *visitor {
	v := &visitor{walled: w, principal: access.Principal{ID: id, Groups: groups}}
	first := v.message(sessionVersion, "initialize", map[string]any{
		"protocolVersion": sessionVersion, "capabilities": map[string]any{"resourceStreaming": map[string]any{}},
		"clientInfo": map[string]any{"name": "test", "version": "1"},
	})
	v.session = first.header.Get("Mcp-Session-Id")
	if v.session == "" {
		w.t.Errorf("no session: %v", first)
	}
	return v
}

// who is the principal for headerPrincipal.
func (v *visitor) who() string {
	text, _ := json.Marshal(v.principal) // of texts
	return string(text)
}

// ask sends a request and returns the whole reply.
func (v *visitor) ask(method, target string, header http.Header, body []byte) answer {
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.url+target, bytes.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	for name, values := range header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	request.Header.Set(headerPrincipal, v.who())
	response, err := v.client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = response.Body.Close() }() // read to its end
	a := answer{status: response.StatusCode, header: response.Header}
	a.body, a.err = io.ReadAll(response.Body)
	return a
}

func (v *visitor) get(path string) answer { return v.ask(http.MethodGet, path, nil, nil) }

// message sends a request of MCP in one of the eras.
func (v *visitor) message(version, method string, params map[string]any) answer {
	header := http.Header{
		"Content-Type": {"application/json"}, "Accept": {acceptBoth}, "Mcp-Protocol-Version": {version},
	}
	if method == methodStream && params["link"] == nil {
		header.Set("Accept", "*/*, "+acceptBoth)
	}
	full := envelope(version, method, params)
	if version == modernVersion {
		header.Set("Mcp-Method", method)
		if name, ok := firstText(params["uri"], params["name"]); ok {
			header.Set("Mcp-Name", name)
		}
	} else if v.session != "" {
		header.Set("Mcp-Session-Id", v.session)
	}
	body, err := json.Marshal(full)
	if err != nil {
		return answer{err: err}
	}
	return v.ask(http.MethodPost, "/mcp", header, body)
}

// envelope is a request of MCP without its headers.
func envelope(version, method string, params map[string]any) map[string]any {
	with := map[string]any{}
	for key, value := range params {
		if key != "link" {
			with[key] = value
		}
	}
	if version == modernVersion {
		with["_meta"] = map[string]any{
			metaVersion: modernVersion, metaCapabilities: map[string]any{"resourceStreaming": map[string]any{}},
		}
	}
	return map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": with}
}

func firstText(values ...any) (string, bool) {
	for _, value := range values {
		if text, ok := value.(string); ok {
			return text, true
		}
	}
	return "", false
}

// decoded is a JSON object.
func decoded(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return object
}

func encode(object map[string]any) string {
	text, _ := json.Marshal(object) // of texts and numbers
	return string(text)
}

// tool calls a tool.
func (v *visitor) tool(name string, arguments map[string]any) answer {
	return v.message(modernVersion, "tools/call", map[string]any{"name": name, "arguments": arguments})
}

// connect opens a WebSocket connection that has been initialized.
func (v *visitor) connect() *socket {
	v.t.Helper()
	conn, _, err := websocket.Dial(v.t.Context(), v.url+"/ws", &websocket.DialOptions{
		Subprotocols: []string{"mcp"}, HTTPHeader: http.Header{headerPrincipal: {v.who()}},
	})
	if err != nil {
		v.t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	v.t.Cleanup(func() { _ = conn.CloseNow() }) // it may have been closed
	s := &socket{v.t, conn}
	s.call(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + sessionVersion +
		`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

// same is all of a reply but what differs between any two.
func (a answer) same() string {
	var b strings.Builder
	header := a.header.Clone()
	for _, name := range []string{"Date", "X-Request-Id"} {
		header.Del(name)
	}
	_, _ = io.WriteString(&b, http.StatusText(a.status)+"\n")
	if err := header.Write(&b); err != nil {
		return err.Error()
	}
	if a.err != nil {
		b.WriteString(cmp.Or(a.err.Error(), "failed"))
	}
	b.Write(a.body)
	return unlinked.ReplaceAllString(b.String(), "LINK")
}

// unlinked is what no two links have in common.
var unlinked = regexp.MustCompile(`/dl/[A-Za-z0-9_-]+|ExpiresAt":"[^"]+|credentials until [^:]+:[^:]+:[^:]+`)
