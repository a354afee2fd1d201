package httpx_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

func TestDownloadFailuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	long := strings.Repeat("a", 5000)
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/archive/nobody/main.tar": {404,
			`There is no repository "nobody/main.tar". GET /repositories lists them.`},
		"/archive/hello/nothing.tar": {404,
			`The repository hello has no branch, tag or commit "nothing". GET /refs/hello`},
		"/archive/hello/main.rar": {404,
			`There is no format "rar". End the URL with one of: .manifest.json, .tar, .tar.gz`},
		"/archive/hello/main":                  {404, "{format}"},
		"/archive/hello/.tar":                  {404, ""},
		"/archive/hello":                       {404, ""},
		"/archive/":                            {400, "Malformed"},
		"/archive":                             {404, "/archive/{repository}"},
		"/refs/":                               {400, "/refs/{repository}"},
		"/refs/hello/main":                     {404, "GET /refs/hello lists all"},
		"/archive/hello/main.tar?base=nothing": {404, "The option base names no branch"},
		"/raw/hello/main/none":                 {404, `There is no file "none" in hello`},
		"/raw/hello/main/dir": {404,
			"The path is a folder. List it with resources/read of repo://hello/refs/heads/main/contents/dir, or download all files with GET /archive/hello/" + s.Head + ".tar.gz"},
		"/raw/hello/main/dir/":                                {404, "folder"},
		"/raw/hello/main":                                     {404, "folder"},
		"/raw/hello":                                          {404, "folder"},
		"/raw/hello/main/README.md/x":                         {404, `There is no file "README.md/x" in hello`},
		"/raw/empty/HEAD/x":                                   {404, "no commits"},
		"/archive/empty/HEAD.tar":                             {404, "no commits"},
		"/archive/many/" + s.Ambiguous + ".tar":               {409, "Give more digits: " + s.Ambiguous},
		"/raw/many/" + s.Ambiguous + "/x":                     {409, "Give more digits: " + s.Ambiguous},
		"/archive/hello/" + s.Unreachable + ".tar":            {404, "no branch, tag or commit"},
		"/raw/hello/" + s.Unreachable + "/password":           {404, "no branch, tag or commit"},
		"/raw/hello/" + s.Kept + "/password":                  {404, "no branch, tag or commit"},
		"/raw/hello/refs/keep-around/" + s.Kept + "/password": {404, "no branch, tag or commit"},
		"/archive/hello/main.tar?prefix=../x":                 {400, "Malformed"},
		"/archive/hello/main.tar?unknown=1":                   {400, "Malformed"},
		"/archive/hello/main.tar?prefix=a&prefix=b":           {400, "Malformed"},
		"/archive/hello/main.tar?":                            {400, "Malformed"},
		"/archive/hello/main.tar?rev=" + s.Kept:               {400, "Malformed"},
		"/raw/hello/main/README.md?rev=" + s.Head:             {400, "Malformed"},
		"/raw/hello/main/README.md?x=y":                       {400, "Malformed"},
		"/raw/hello/main/" + long:                             {400, "Malformed"},
		"/raw/hello/outside/x":                                {404, ""},
		"/raw/hello/above/x":                                  {404, ""},
		"/raw/hello/loop-a/x":                                 {404, ""},
	} {
		a := s.get(t, path)
		if a.status != want.status || !strings.Contains(string(a.body), want.text) ||
			!strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
			t.Errorf("%.200s: %v, want %d with %q", path, a, want.status, want.text)
		}
		if a.header.Get("Etag") != "" || path != "/archive" && a.header.Get("Cache-Control") != "no-store" ||
			a.header.Get("Content-Disposition") != "" {
			t.Errorf("%.200s: the failure has the headers of a content: %v", path, a.header)
		}
	}
	// A branch like an id does not take the place of the commit's.
	if a := s.get(t, "/raw/hello/"+strings.Repeat("ab", 20)+"/README.md"); a.status != http.StatusNotFound {
		t.Errorf("a branch like an id: %v", a)
	}
	if a := s.get(t, "/raw/hello/refs/heads/"+strings.Repeat("ab", 20)+"/README.md"); string(a.body) != "hello\n" {
		t.Errorf("a branch like an id, by its whole name: %v", a)
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

func TestSubmoduleIsNoFile(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{})
	a := s.get(t, "/raw/team/app/main/sub")
	if a.status != http.StatusNotFound || !strings.Contains(string(a.body), "submodule at commit "+
		strings.Repeat("12", 20)) {
		t.Error(a)
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

func TestLimitsAndFormatsThatAreNotServed(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{limits: archive.Limits{Bytes: 20480}, build: func(root string) {
		repo := gittest.At(t, filepath.Join(root, "repo.git"))
		repo.Commit("main", gittest.Regular("a", gittest.Noise(30_000)))
		repo.Commit("small", gittest.Regular("a", "x"))
		other := gittest.At(t, filepath.Join(root, "other.git"))
		other.Commit("main", gittest.Regular("a", "x"))
		other.Git("config", "core.repositoryformatversion", "1")
		other.Git("config", "extensions.objectformat", "sha256")
	}})
	for path, want := range map[string]int{
		"/archive/repo/main.tar": 403, "/archive/repo/main.tar.gz": 403, "/archive/repo/small.tar": 200,
		"/archive/repo/small.tar.gz": 200, "/raw/repo/main/a": 200,
		"/archive/other/main.tar": 501, "/raw/other/main/a": 501,
	} {
		if a := s.get(t, path); a.status != want || want > 400 && !strings.Contains(string(a.body),
			"Ask the operator") {
			t.Errorf("%s: %v, want %d", path, a, want)
		}
	}
	// A selection is bounded only while it is written.
	if a := s.get(t, "/archive/repo/main.tar.gz?path=a"); a.status != http.StatusOK ||
		!errors.Is(a.err, io.ErrUnexpectedEOF) {
		t.Errorf("a compressed archive beyond the limit: %v", a)
	}
	if a := s.get(t, "/archive/repo/main.tar.gz", "Range: bytes=5-"); a.status != http.StatusForbidden {
		t.Errorf("a part of it: %v", a)
	}
}
