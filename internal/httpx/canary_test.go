package httpx_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/logtest"
)

// awaitRequests waits until so many requests are in the log, and returns it.
func awaitRequests(t *testing.T, log *logtest.Log, requests int) string {
	t.Helper()
	gittest.Await(t, fmt.Sprintf("%d requests are logged", requests), func() bool {
		return log.Count(`"msg":"request"`) >= requests
	})
	return log.String()
}

// secretHeaders carry what lets somebody act as another.
var secretHeaders = []string{
	"Authorization", "Proxy-Authorization", "Cookie", "Mcp-Session-Id", "If-Range", "If-Match", "If-None-Match",
	"Last-Event-ID", "X-Api-Key",
	"X-Amz-Security-Token", "Referer",
}

// loggedRoutes are one request for each route, with others that are refused.
var loggedRoutes = []struct{ verb, path string }{
	{http.MethodGet, "/"}, {http.MethodGet, "/healthz"}, {http.MethodGet, "/repositories"},
	{http.MethodGet, "/repositories/"},
	{http.MethodGet, "/refs/hello"}, {http.MethodGet, "/raw/hello/main/README.md"},
	{http.MethodHead, "/raw/hello/main/README.md"},
	{http.MethodGet, "/archive/hello/main.tar.gz"}, {http.MethodHead, "/archive/hello/main.tar"},
	{http.MethodGet, "/raw/none/main/x"},
	{http.MethodGet, "/raw/hello/main/none"}, {http.MethodGet, "/mcp"}, {http.MethodDelete, "/mcp"},
	{http.MethodPost, "/mcp"},
	{http.MethodGet, "/ws"}, {http.MethodGet, "/none"}, {http.MethodPut, "/mcp"}, {http.MethodOptions, "/mcp"},
	{http.MethodGet, "/dl/none"},
}

// Nothing that lets a reader of the log act as a client is in it, whatever the
// request, and whether it is well or not.
func TestSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	logged := &logtest.Log{}
	s := newTarget(t, targetOptions{
		links: newLinks(t).linking(t),
		http: httpx.Options{Logger: slog.New(slog.NewJSONHandler(logged,
			&slog.HandlerOptions{Level: slog.LevelDebug}))},
	})
	secrets := make(map[string]string) // what it is, by its text
	for version, session := range s.sessions {
		secrets[session] = "the session of " + version
	}
	canary := func(what string) string {
		text := fmt.Sprintf("canary%dx", len(secrets))
		secrets[text] = what
		return text
	}
	requests := len(s.sessions)
	ask := func(c *call) {
		t.Helper()
		s.do(t, c)
		requests++
	}
	for _, route := range loggedRoutes {
		for _, name := range secretHeaders {
			ask(&call{verb: route.verb, path: route.path,
				header: http.Header{name: {`"` + canary(name+" of "+route.path) + `"`}}})
		}
		for _, form := range []string{"?token=%s", "?X-Amz-Signature=%s&prefix=x/", "?prefix=a/&sig=%s", "?%s",
			"?access_token=%[1]s&prefix=b/&code=%[1]s"} {
			ask(&call{verb: route.verb, path: route.path + fmt.Sprintf(form, canary(form+" of "+route.path))})
		}
	}
	for scheme, form := range map[string]func(string) string{
		"Bearer":    func(token string) string { return "Bearer " + token },
		"Basic":     func(token string) string { return basic(token, token) },
		"a scheme":  func(token string) string { return token + " x" },
		"two words": func(token string) string { return "Bearer x " + token },
	} {
		for _, route := range loggedRoutes {
			token := canary(scheme + " of " + route.path)
			secrets[form(token)] = "the header of " + scheme
			ask(&call{verb: route.verb, path: route.path, header: http.Header{"Authorization": {form(token)}}})
		}
	}
	// Sessions and links that are good.
	ask(s.call(sessionVersion, "ping", nil))
	for _, form := range []string{"/dl/%s", "//dl/%s", "/dl/%s/", "/dl/%s?x", "/dl/%s/file.tar", "/prefix/dl/%s",
		"/DL/%s"} {
		link := at(t, s.downloadURL(t, modernVersion, "repo://hello/archive/main.tar"))
		requests++
		token := strings.TrimPrefix(link, "/dl/")
		secrets[token] = "a link as " + form
		a := s.do(t, &call{verb: http.MethodGet, path: fmt.Sprintf(form, token)})
		requests++
		if _, mark, ok := strings.Cut(strings.Trim(a.header.Get("ETag"), `"`), "~"); ok {
			secrets[mark] = "the right to go on with a download"
		}
	}
	conn, _, err := websocket.Dial(t.Context(), s.url+"/ws?token="+canary("the query of a WebSocket"),
		&websocket.DialOptions{
			HTTPHeader: http.Header{"Authorization": {"Bearer " + canary("Authorization of a WebSocket")}},
		})
	if err != nil {
		t.Fatal(err)
	}
	client := &socket{t, conn}
	client.call(rpc(modernVersion, 1, methodRead, map[string]any{"uri": "repo://hello"}))
	_ = conn.CloseNow() // so that the request ends
	requests += 2
	text := awaitRequests(t, logged, requests)
	for secret, what := range secrets {
		if secret != "" && strings.Contains(text, secret) {
			t.Errorf("the log has %s: %s", what, secret)
		}
	}
	if least := len(loggedRoutes)*(len(secretHeaders)+5) + 10; len(secrets) < least {
		t.Errorf("%d secrets were tried, want %d", len(secrets), least)
	}
}

// Nor are tokens in the log of a server that looks at them, whether it lets them in or not;
// who they belong to is.
func TestTokensAreNotLogged(t *testing.T) {
	t.Parallel()
	logged := &logtest.Log{}
	d := newDoors(t, targetOptions{
		http: httpx.Options{Logger: slog.New(slog.NewJSONHandler(logged,
			&slog.HandlerOptions{Level: slog.LevelDebug}))},
	})
	secrets := make(map[string]string)
	requests := len(d.sessions)
	for _, sent := range tried {
		if strings.Contains(sent.name, "the issuer is down") || strings.Contains(sent.name, "key has changed") {
			continue
		}
		values := sent.make(t, d)
		for _, value := range values {
			for word := range strings.FieldsSeq(value) {
				for part := range strings.SplitSeq(word, ".") { // a JSON Web Token has three
					if len(part) > 12 {
						secrets[part] = sent.name
					}
				}
			}
		}
		for _, route := range loggedRoutes {
			c := &call{verb: route.verb, path: route.path, header: http.Header{"Authorization": values}}
			if sent.in != "" {
				c.header, c.path = http.Header{}, route.path+"?"+sent.in+values[0]
			}
			d.do(t, c)
			requests++
		}
	}
	for name, token := range d.static {
		secrets[token] = name
	}
	conn, _, err := websocket.Dial(t.Context(), d.url+"/ws",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {d.alice()}}})
	if err != nil {
		t.Fatal(err)
	}
	client := &socket{t, conn}
	client.call(rpc(modernVersion, 1, methodRead, map[string]any{"uri": "repo://hello"}))
	_ = conn.CloseNow() // so that the request ends
	text := awaitRequests(t, logged, requests+2)
	for secret, what := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("the log has a part of %s: %s", what, secret)
		}
	}
	for _, want := range []string{
		`"principal":"token:alice"`, `"principal":"oauth:alice"`,
		`"denied":"the token is not valid: the token bob has expired"`,
		`"denied":"the token is not valid: no such token"`, `"denied":"there are no credentials"`,
		`"rpc":"resources/read"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	if len(secrets) < 30 {
		t.Errorf("%d secrets were tried", len(secrets))
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, `"path":"/ws"`) && strings.Contains(line, methodRead) &&
			!strings.Contains(line, "token:alice") {
			t.Errorf("a message over WebSocket is nobody's: %s", line)
		}
	}
}
