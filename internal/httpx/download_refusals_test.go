package httpx_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/httpx"
)

// Failures say what to do, for which internal/resources has the words, and show the grammar of URLs.
func TestDownloadFailuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/archive/nobody/main.tar":                {404, "GET /repositories lists them.\nPlain downloads are /archive/"},
		"/archive/hello/main":                     {404, "{format}"},
		"/archive/":                               {400, "/archive/{repository}"},
		"/archive":                                {404, "/archive/{repository}"},
		"/refs/":                                  {400, "/refs/{repository}"},
		"/raw/hello/main":                         {404, "folder"},
		"/archive/many/" + s.Ambiguous + ".tar":   {409, "Give more digits: " + s.Ambiguous},
		"/raw/hello/" + s.Kept + "/password":      {404, "no branch, tag or commit"},
		"/archive/hello/main.tar?":                {400, "Malformed"},
		"/raw/hello/main/README.md?rev=" + s.Head: {400, "Malformed"},
	} {
		a := s.get(t, path)
		if a.status != want.status || !strings.Contains(string(a.body), want.text) ||
			!strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %v, want %d with %q", path, a, want.status, want.text)
		}
		if a.header.Get("Etag") != "" || path != "/archive" && a.header.Get("Cache-Control") != "no-store" ||
			a.header.Get("Content-Disposition") != "" {
			t.Errorf("%s: the failure has the headers of a content: %v", path, a.header)
		}
	}
}

func TestFragmentIsRefused(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{})
	if status, reply := s.rawGet(t, "/raw/team/app/main/dir/#%3F"); status != http.StatusBadRequest ||
		!strings.Contains(reply, "fragment") {
		t.Error(reply)
	}
}

// hostilePaths name nothing, however often somebody decodes them.
var hostilePaths = []string{
	"..", ".", "%2e%2e", "%2E%2e", "..%2f..", "..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e%2fconfig", "../../etc/passwd",
	"a/../b", "./a", "a//b", "/a", "//", "%2f%2fa", "a%2f%2fb",
	"%00", "a%00b", "README.md%00.txt", "%", "%2", "%zz", "%252e%252e", "%252e%252e%252fconfig", "..%252f..",
	"%c0%ae%c0%ae", "%c0%ae%c0%ae/", "..%5c..", "..\\..", "\\..\\", "%0d%0aX-Injected:%201",
	"README.md%2f..%2fpage.html", "dir%2f..%2fREADME.md", "dir/%2e%2e/README.md", "%e2%80%ae", ".git/config",
	"README.md;x=1", "README.md%3fx", "README.md%20", "config", "HEAD", "objects", "~root", "C:", "@{0}",
	"main^{blob}",
}

func TestHostilePathsNameNothing(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	cases := 0
	for _, hostile := range hostilePaths {
		for _, path := range []string{
			"/raw/hello/main/" + hostile, "/raw/hello/" + hostile + "/README.md", "/raw/" + hostile + "/main/README.md",
			"/raw/hello/refs/heads/" + hostile + "/README.md",
			"/archive/hello/" + hostile + ".tar", "/archive/" + hostile + "/main.tar", "/archive/hello/refs/heads/" +
				hostile + ".tar", "/archive/hello/main.tar?prefix=" + hostile + "&x", "/raw/hello/main/dir/" + hostile,
		} {
			if hostile == "HEAD" && (path == "/archive/hello/HEAD.tar" || path == "/raw/hello/HEAD/README.md") {
				continue
			}
			cases++
			status, head := s.rawGet(t, path)
			if status != http.StatusBadRequest && status != http.StatusNotFound {
				t.Errorf("%s: %d %s", path, status, head)
			}
			if strings.Contains(head, "\nX-Injected") {
				t.Errorf("%s sets a header: %s", path, head)
			}
			// The MCP parser gives the same verdict, where the path has a URI.
			if rest, ok := strings.CutPrefix(path, "/archive/hello/"); ok && !strings.Contains(rest, "?") {
				a := s.do(t,
					s.call(sessionVersion, methodStream, map[string]any{"uri": "repo://hello/archive/" + rest}))
				if (a.reason == "invalid_uri") != (status == http.StatusBadRequest) {
					t.Errorf("%s: %d, but %v by MCP", path, status, a)
				}
			}
		}
	}
	for _, path := range []string{"//archive/hello/main.tar", "/archive//hello/main.tar", "/%61rchive/hello/main.tar",
		"/archive%2fhello/main.tar", "/x/../archive/hello/main.tar", "/raw/../archive/hello/main.tar", "/archive/hello/main.tar/..", "/raw/hello/main/README.md#x", "/raw/hello/main/README.md%23x"} {
		cases++
		if status, head := s.rawGet(t, path); status != http.StatusBadRequest && status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, head)
		}
	}
	if cases < 300 {
		t.Errorf("only %d cases", cases)
	}
	t.Logf("%d cases", cases)
}

// rawGet writes the path into the request line as it is.
func (s *target) rawGet(t *testing.T, path string) (status int, reply string) {
	t.Helper()
	content, err := io.ReadAll(s.dial(t, "GET "+path+" HTTP/1.1\r\nHost: "+s.host+"\r\nConnection: close\r\n\r\n"))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	a := answer{status: 400, body: content}
	s.checkLeaks(t, a)
	if _, err := fmt.Sscanf(string(content), "HTTP/1.1 %d", &status); err != nil {
		t.Fatalf("%s: %.200q", path, content)
	}
	return status, string(content)
}

func TestOtherMethodsAreNotAllowed(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for _, path := range []string{"/archive/hello/main.tar", "/raw/hello/main/README.md"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch,
			"PROPFIND"} {
			a := s.fetch(t, method, path)
			allowed := strings.Split(a.header.Get("Allow"), ", ")
			if a.status != http.StatusMethodNotAllowed || !slices.Contains(allowed, "GET") ||
				!slices.Contains(allowed, "HEAD") || slices.Contains(allowed, method) {
				t.Errorf("%s %s: %v %v", method, path, a, allowed)
			}
		}
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, strings.NewReader("body"))
		response, err := s.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if body := text(t, response); response.StatusCode != http.StatusBadRequest ||
			!strings.Contains(body, "without a body") {
			t.Error(describe(response, body))
		}
		if a := s.get(t, path, "Range: bytes=0-1", "Range: bytes=3-4"); a.status != http.StatusBadRequest {
			t.Errorf("two ranges: %v", a)
		}
	}
}

func TestPagesOfAllowedOriginsReadDownloads(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{http: httpx.Options{AllowedOrigins: []string{"https://ide.example"}}})
	a := s.get(t, "/archive/hello/main.tar", "Origin: https://ide.example", "Range: bytes=0-5")
	if a.status != http.StatusPartialContent || a.header.Get("Access-Control-Allow-Origin") != "https://ide.example" ||
		a.header.Get("Vary") != "Origin" {
		t.Errorf("%v %v", a, a.header)
	}
	exposed := a.header.Get("Access-Control-Expose-Headers")
	for _, name := range []string{"ETag", "Content-Range", "Accept-Ranges", "Link", "Repr-Digest",
		"Content-Disposition", "Last-Modified"} {
		if !strings.Contains(exposed, name) {
			t.Errorf("%s is not exposed by %s", name, exposed)
		}
	}
	a = s.fetch(t, http.MethodOptions, "/archive/hello/main.tar", "Origin: https://ide.example",
		"Access-Control-Request-Method: GET", "Access-Control-Request-Headers: range, if-range")
	if a.status != http.StatusNoContent || !strings.Contains(a.header.Get("Access-Control-Allow-Headers"),
		"If-Range") || !strings.Contains(a.header.Get("Access-Control-Allow-Methods"), "HEAD") {
		t.Errorf("%v %v", a, a.header)
	}
	if a := s.get(t, "/archive/hello/main.tar", "Origin: https://evil.example"); a.status != http.StatusForbidden {
		t.Errorf("%v", a)
	}
}
