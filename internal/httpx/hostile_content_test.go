package httpx_test

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/gittest"
)

// A client takes what is application/json for an error, and a browser runs
// what is text/html: files of a repository must not be able to be either.
func TestFilesCannotPassForReplies(t *testing.T) {
	t.Parallel()
	event := "event: message\ndata: {}\n\n"
	s := newTarget(t, targetOptions{build: func(root string) {
		gittest.At(t, filepath.Join(root, "hello.git")).Commit("main",
			gittest.Regular("README.md", "hello\n"),
			gittest.Regular("data.json", `{"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"x"}}`),
			gittest.Regular("no-extension", `{"a":1}`),
			gittest.Regular("DATA.JSON", `[]`), gittest.Regular("text/event-stream", event),
			gittest.Regular("x.html", "<script>alert(1)</script>"),
			gittest.Regular("x.svg", `<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>`),
			gittest.Regular("empty", ""), gittest.Regular("empty.json", ""),
		)
	}})
	cases := 0
	for _, name := range []string{"data.json", "no-extension", "DATA.JSON", "text/event-stream", "x.html", "x.svg",
		"empty", "empty.json", "README.md"} {
		for _, version := range eras {
			cases++
			a := s.do(t, s.call(version, methodStream, map[string]any{"uri": "repo://hello/contents/" + name}))
			kind, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
			if a.status != http.StatusOK || err != nil || kind == "application/json" || kind == "text/event-stream" {
				t.Errorf("%s: %v, %v", name, a, err)
			}
			if strings.HasSuffix(strings.ToLower(name), "data.json") &&
				a.header.Get("Mcp-Resource-Type") != "application/json" {
				t.Errorf("%s: its own type is %q", name, a.header.Get("Mcp-Resource-Type"))
			}
			checkStreamHeaders(t, name, a)
			if length := a.header.Get("Content-Length"); length != strconv.Itoa(len(a.body)) {
				t.Errorf("%s: Content-Length is %q of %d bytes", name, length, len(a.body))
			}
		}
	}
	t.Logf("%d cases", cases)
}

// checkStreamHeaders checks what every stream says of itself.
func checkStreamHeaders(t *testing.T, name string, a answer) {
	t.Helper()
	for header, want := range map[string]string{"X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox"} {
		if got := a.header.Get(header); got != want {
			t.Errorf("%q: %s is %q, want %q", name, header, got, want)
		}
	}
	if control := a.header.Get("Cache-Control"); !strings.HasPrefix(control, "private, ") {
		t.Errorf("%q: Cache-Control is %q", name, control)
	}
	if tag := a.header.Get("ETag"); len(tag) < 18 || tag[0] != '"' || tag[len(tag)-1] != '"' ||
		strings.Contains(tag[1:len(tag)-1], `"`) {
		t.Errorf("%q: ETag is %q, no strong one", name, tag)
	}
	if kind, _, err := mime.ParseMediaType(a.header.Get("Content-Disposition")); err != nil || kind != "attachment" {
		t.Errorf("%q: Content-Disposition is %q: %v", name, a.header.Get("Content-Disposition"), err)
	}
	uri := a.header.Get("Mcp-Resource-Uri")
	if u, err := url.Parse(uri); err != nil || u.Scheme != "repo" {
		t.Errorf("%q: MCP-Resource-Uri is %q: %v", name, uri, err)
	}
	for header, values := range a.header {
		for _, value := range values {
			for i := range len(value) {
				if value[i] < ' ' || value[i] > '~' {
					t.Errorf("%q: the header %s is not ASCII: %q", name, header, value)
					break
				}
			}
		}
	}
}

func TestArchiveDescribesItself(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for uri, file := range map[string]string{
		"repo://hello/archive/refs/heads/main.tgz":              "hello-main.tar.gz",
		"repo://caf%C3%A9/archive/main.tar":                     "caf\u00e9-main.tar",
		"repo://team/app/archive/main.tar?prefix=%22%0A%C3%A9/": "app-main.tar",
	} {
		for _, version := range eras {
			a := s.do(t, s.call(version, methodStream, map[string]any{"uri": uri}))
			checkStreamHeaders(t, uri, a)
			_, parameters, _ := mime.ParseMediaType(a.header.Get("Content-Disposition"))
			if parameters["filename"] != file || a.header.Get("Cache-Control") != "private, no-cache" || a.err != nil {
				t.Errorf("%s: %q %v, want the name %q", uri, parameters["filename"], a.header, file)
			}
		}
	}
}

// listing is a folder as resources/read shows it.
type listing struct {
	Entries []struct {
		Name, NameBase64, Type, ID, URI string
	}
}

func (s *target) list(t *testing.T, uri string) listing {
	t.Helper()
	a := s.do(t, s.call(sessionVersion, methodRead, map[string]any{"uri": uri}))
	var reply struct {
		Result struct{ Contents []struct{ Text string } }
	}
	var l listing
	if err := json.Unmarshal(a.body, &reply); err != nil || len(reply.Result.Contents) != 1 {
		t.Fatalf("%s: %v, %v", uri, a, err)
	}
	if err := json.Unmarshal([]byte(reply.Result.Contents[0].Text), &l); err != nil {
		t.Fatalf("%s: %v", uri, err)
	}
	return l
}

func TestHostileFileNamesStayWithinTheirHeaders(t *testing.T) {
	t.Parallel()
	s := &target{root: filepath.Join("..", "..", "testrepos"), sessions: make(map[string]string)}
	s.serve(t, targetOptions{})
	s.sessions[sessionVersion] = s.initialize(t, sessionVersion, `{"resourceStreaming":{}}`)
	cases := 0
	folders := []string{"repo://names/contents", "repo://modes/contents", "repo://media/contents"}
	for len(folders) > 0 {
		folder := folders[0]
		folders = folders[1:]
		for _, entry := range s.list(t, folder).Entries {
			switch entry.Type {
			case "directory":
				folders = append(folders, entry.URI)
			case "file", "symlink":
				cases++
				s.checkFile(t, entry.URI, entry.ID)
			}
		}
	}
	if cases < 60 {
		t.Errorf("only %d files", cases)
	}
	t.Logf("%d cases", 2*cases)
}

// checkFile streams a file in both eras and compares it with its object id.
func (s *target) checkFile(t *testing.T, uri, id string) {
	t.Helper()
	for _, version := range eras {
		a := s.do(t, s.call(version, methodStream, map[string]any{"uri": uri}))
		sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(a.body), a.body))
		if a.status != http.StatusOK || hex.EncodeToString(sum[:]) != id || a.header.Get("ETag") != `"`+id+`"` {
			t.Errorf("%s: %v, want the object %s", uri, a, id)
		}
		checkStreamHeaders(t, uri, a)
		if got := a.header.Get("Mcp-Resource-Uri"); got != uri {
			t.Errorf("%s: MCP-Resource-Uri is %s", uri, got)
		}
		name, err := url.PathUnescape(path.Base(uri))
		if err != nil {
			t.Fatal(err)
		}
		_, parameters, _ := mime.ParseMediaType(a.header.Get("Content-Disposition"))
		got := parameters["filename"]
		plain := utf8.ValidString(name) &&
			!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' })
		if got == "" || plain && got != name || strings.ContainsAny(got, "/\\\r\n\x00") {
			t.Errorf("%s: saved as %q (%s)", uri, got, a.header.Get("Content-Disposition"))
		}
	}
}
