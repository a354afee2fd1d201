package httpx_test

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/logtest"
	"github.com/repomcp/repomcp/internal/resources"
)

// A page of any site may follow a link that it has, as code in a sandbox does;
// it is sent no cookies, and may do nothing else.
func TestPagesFollowLinks(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]httpx.Options{"default": {},
		"with allowed origins": {AllowedOrigins: []string{"https://ide.example"}}} {
		s := newTarget(t, targetOptions{links: newLinks(t).linking(t), http: options})
		link := at(t, s.downloadURL(t, modernVersion, "repo://hello/contents/README.md"))
		preflight := s.fetch(t, http.MethodOptions, link, "Origin: https://sandbox.example",
			"Access-Control-Request-Method: GET", "Access-Control-Request-Headers: range,if-range")
		allowed := strings.ToLower(preflight.header.Get("Access-Control-Allow-Headers"))
		if preflight.status != http.StatusNoContent || preflight.header.Get("Access-Control-Allow-Origin") != "*" ||
			!strings.Contains(allowed, "if-range") {
			t.Errorf("%s, preflight: %v %v", name, preflight, preflight.header)
		}
		a := s.get(t, link, "Origin: https://sandbox.example", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors")
		if a.status != http.StatusOK || string(a.body) != "hello\n" ||
			a.header.Get("Access-Control-Allow-Origin") != "*" ||
			a.header.Get("Access-Control-Allow-Credentials") != "" ||
			a.header.Get("Cross-Origin-Resource-Policy") != "cross-origin" ||
			!strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "Content-Disposition") {
			t.Errorf("%s: %v %v", name, a, a.header)
		}
		if a := s.get(t, link, "Origin: https://sandbox.example"); a.status != http.StatusNotFound ||
			a.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s, a used link: %v", name, a)
		}
		for _, path := range []string{"/raw/hello/main/README.md", "/mcp", "/dl"} {
			if a := s.get(t, path, "Origin: https://sandbox.example"); a.status != http.StatusForbidden {
				t.Errorf("%s, %s: %v", name, path, a)
			}
		}
		if a := s.do(t, &call{verb: http.MethodGet, path: link, host: "evil.example",
			header: http.Header{"Origin": {"https://sandbox.example"}}}); a.status != http.StatusForbidden {
			t.Errorf("%s, a foreign Host: %v", name, a)
		}
	}
}

// newLocal is a server without a public URL, with its log. Its client keeps connections, as programs do.
func newLocal(t *testing.T) (*target, *logtest.Log) {
	t.Helper()
	linkTo := newLinks(t).linking(t)
	log := &logtest.Log{}
	s := newTarget(t, targetOptions{
		http: httpx.Options{
			AllowedHosts: []string{"git.example"}, Logger: slog.New(slog.NewTextHandler(log, nil)),
		},
		links: func(url string) resources.Linking {
			linking := linkTo(url)
			linking.Local = true
			return linking
		},
	})
	s.client = &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: gittest.Patience}
	return s, log
}

// A plain proxy_pass of nginx speaks HTTP/1.0 or ends each connection, names the server's own address as Host, and
// says nothing of itself. What the server guesses for such a request would lead its client to the client's machine.
func TestNoLinksAreGuessedForWhatMayBeAProxy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line, headers string
		linked        bool
	}{
		{"HTTP/1.1", "", true}, {"HTTP/1.1", "Connection: keep-alive\r\n", true},
		{"HTTP/1.0", "", false}, {"HTTP/1.0", "Connection: close\r\n", false},
		{"HTTP/1.0", "Connection: keep-alive\r\n", false}, {"HTTP/1.1", "Connection: close\r\n", false},
	} {
		s, log := newLocal(t)
		for range 3 {
			for _, version := range eras {
				asked := s.linkCall(version, "repo://hello/archive/main.tar.gz")
				body, err := json.Marshal(asked.message)
				if err != nil {
					t.Fatal(err)
				}
				reply := sendRaw(t, s.host, "POST /mcp "+c.line+"\r\nHost: "+s.host+"\r\n"+c.headers+
					headerLines(t, asked.header)+"Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+string(body))
				if linked := strings.Contains(reply, `"downloadUrl":"`+s.url+"/dl/"); linked != c.linked || !c.linked &&
					(!strings.Contains(reply, `"code":-32003`) || !strings.Contains(reply, "--public-url")) {
					t.Errorf("%+v, %s: %s", c, version, reply)
				}
			}
		}
		if told := strings.Count(log.String(), "set --public-url"); told != 1 && !c.linked {
			t.Errorf("%+v: the log says %d times what to set:\n%s", c, told, log)
		}
	}
}

// sendRaw sends a request as it stands and returns the reply to it.
func sendRaw(t *testing.T, address, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // its reply has been read
	if err := conn.SetDeadline(time.Now().Add(gittest.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return text(t, response)
}

func headerLines(t *testing.T, header http.Header) string {
	t.Helper()
	var b strings.Builder
	if err := header.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Without a public URL links lead to where the server listens, for those who
// reach it there and for nobody else.
func TestLocalLinks(t *testing.T) {
	t.Parallel()
	s, _ := newLocal(t)
	_, port, err := net.SplitHostPort(s.host)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host, header string
		linked       bool
	}{
		{"", "", true}, {"localhost:" + port, "", true}, {"[::1]:" + port, "", true},
		{"localhost:1", "", false}, {"localhost", "", false}, {"git.example:" + port, "", false},
		{"git.example", "", false},
		{"", "X-Forwarded-For: 10.0.0.1", false}, {"", "X-Forwarded-Proto: https", false},
		{"", "X-Forwarded-Host: git.example", false}, {"", "Forwarded: for=10.0.0.1", false},
		{"", "Via: 1.1 proxy", false}, {"", "Connection: close", false},
	} {
		send := func(request *call) answer {
			request.host = c.host
			if name, value, ok := strings.Cut(c.header, ": "); ok {
				request.header.Set(name, value)
			}
			return s.do(t, request)
		}
		ask := func(version, method string, params map[string]any) answer {
			return send(s.call(version, method, params))
		}
		for _, version := range []string{sessionVersion, modernVersion} {
			a := send(s.linkCall(version, "repo://hello/archive/main.tar.gz"))
			if c.linked != strings.Contains(string(a.body), `"downloadUrl":"`+s.url+"/dl/") || !c.linked &&
				(a.code != -32003 || a.data["suggestion"] != "Accept: */*") {
				t.Errorf("%+v: %v", c, a)
			}
			if list := ask(version, "resources/list", nil); c.linked != strings.Contains(string(list.body),
				`"httpUrl":"`+s.url+"/dl/") {
				t.Errorf("%+v, list: %v", c, list)
			}
			if read := ask(version, methodRead,
				map[string]any{"uri": "repo://hello/contents/README.md"}); c.linked != strings.Contains(
				string(read.body), "httpUrl") || read.failed() {
				t.Errorf("%+v, read: %v", c, read)
			}
		}
		modes := `"modes":["direct"]`
		if c.linked {
			modes = `"modes":["direct","downloadUrl"]`
		}
		if a := ask(modernVersion, "server/discover", nil); !strings.Contains(string(a.body), modes) ||
			!strings.Contains(string(a.body), `"stream":true`) {
			t.Errorf("%+v: %v", c, a)
		}
	}
	for _, version := range []string{modernVersion, sessionVersion} {
		socket := dial(t, s.url)
		if version == sessionVersion {
			socket.initialize(version)
		}
		f := socket.call(rpc(version, 1, methodStream, map[string]any{"uri": "repo://hello/contents/README.md"}))
		if f.Result == nil {
			t.Fatal(f.raw)
		}
		if (f.Result["resultType"] == "complete") != (version == modernVersion) {
			t.Errorf("%s over WebSocket: %s", version, f.raw)
		}
		if a := s.get(t, at(t, f.Result)); a.status != http.StatusOK ||
			string(a.body) != "hello\n" {
			t.Errorf("%s over WebSocket: %v", version, a)
		}
	}
}
