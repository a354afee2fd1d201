package httpx_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// breakage is one way to break a request, whatever its method.
type breakage struct {
	name string
	only string // an era, or "" for both
	edit func(*call)
}

func header(name, value string) func(*call) { return func(c *call) { c.header.Set(name, value) } }

func without(name string) func(*call) { return func(c *call) { c.header.Del(name) } }

func twice(name, first, second string) func(*call) {
	return func(c *call) { c.header[http.CanonicalHeaderKey(name)] = []string{first, second} }
}

func member(name string, value any) func(*call) {
	return func(c *call) { c.message[name] = value }
}

func param(name string, value any) func(*call) {
	return func(c *call) { c.params()[name] = value }
}

// toURI asks for another resource, in the header as well.
func toURI(uri string) func(*call) {
	return func(c *call) {
		c.params()["uri"] = uri
		if c.header.Get("Mcp-Name") != "" {
			c.header.Set("Mcp-Name", headerText(uri))
		}
	}
}

// raw replaces a part of the encoded message.
func raw(old, new string) func(*call) {
	return func(c *call) {
		body, err := json.Marshal(c.message)
		if err != nil || !bytes.Contains(body, []byte(old)) {
			panic(fmt.Sprintf("%s: %q is not in %s", err, old, body))
		}
		c.body = bytes.Replace(body, []byte(old), []byte(new), 1)
	}
}

func breakages(s *target) []breakage {
	zero := strings.Repeat("0", 40)
	all := []breakage{
		{"no content type", "", without("Content-Type")},
		{"text/plain", "", header("Content-Type", "text/plain")},
		{"gzip", "", header("Content-Encoding", "gzip")},
		{"no accept", "", without("Accept")},
		{"accepts HTML", "", header("Accept", "text/html")},
		{"accepts events only", "", header("Accept", "text/event-stream")},
		{"foreign origin", "", header("Origin", "https://evil.example")},
		{"foreign host", "", func(c *call) { c.host = "evil.example" }},
		{"two content types", "", twice("Content-Type", "application/json", "application/json")},
		{"two versions", "", twice("Mcp-Protocol-Version", sessionVersion, modernVersion)},
		{"two sessions", "", twice("Mcp-Session-Id", "a", "b")},
		{"two methods", "", twice("Mcp-Method", methodRead, methodStream)},
		{"two names", "", twice("Mcp-Name", "repo://hello", "repo://team/app")},
		{"two origins", "", twice("Origin", "http://"+s.host, "http://"+s.host)},
		{"unknown version", "", header("Mcp-Protocol-Version", "1999-01-01")},
		{"version is no date", "", header("Mcp-Protocol-Version", "v1")},
		{"modern header only", sessionVersion, header("Mcp-Protocol-Version", modernVersion)},
		{"modern body only", sessionVersion, param("_meta", map[string]any{metaVersion: modernVersion})},
		{"no session", sessionVersion, without("Mcp-Session-Id")},
		{"invented session", sessionVersion, header("Mcp-Session-Id", "invented")},
		{"session with a byte more", sessionVersion, header("Mcp-Session-Id", s.sessions[sessionVersion]+"A")},
		{"no version header", modernVersion, without("Mcp-Protocol-Version")},
		{"session version in the header", modernVersion, header("Mcp-Protocol-Version", sessionVersion)},
		{"session version in the body", modernVersion, func(c *call) { c.meta()[metaVersion] = sessionVersion }},
		{"version to come", modernVersion, func(c *call) {
			c.header.Set("Mcp-Protocol-Version", "2099-01-01")
			c.meta()[metaVersion] = "2099-01-01"
		}},
		{"version is a number", modernVersion, func(c *call) { c.meta()[metaVersion] = 20260728 }},
		{"no version in the body", modernVersion, func(c *call) { delete(c.meta(), metaVersion) }},
		{"no capabilities", modernVersion, func(c *call) { delete(c.meta(), metaCapabilities) }},
		{"capabilities are a list", modernVersion, func(c *call) { c.meta()[metaCapabilities] = []any{} }},
		{"capabilities are null", modernVersion, func(c *call) { c.meta()[metaCapabilities] = nil }},
		{"no meta", modernVersion, func(c *call) { delete(c.params(), "_meta") }},
		{"no method header", modernVersion, without("Mcp-Method")},
		{"other method header", modernVersion, header("Mcp-Method", "tools/list")},
		{"other name header", modernVersion, header("Mcp-Name", "repo://team/app")},
		{"broken name header", modernVersion, header("Mcp-Name", "=?base64?%%?=")},
		{"jsonrpc 1.0", "", member("jsonrpc", "1.0")},
		{"jsonrpc is a number", "", member("jsonrpc", 2.0)},
		{"no jsonrpc", "", func(c *call) { delete(c.message, "jsonrpc") }},
		{"id null", "", member("id", nil)},
		{"id fraction", "", member("id", 1.5)},
		{"id object", "", member("id", map[string]any{})},
		{"id true", "", member("id", true)},
		{"id huge", "", raw(`"id":7`, `"id":1e400`)},
		{"id of 1 KB", "", member("id", strings.Repeat("x", 1<<10))},
		{"id twice", "", raw(`"id":7`, `"id":7,"id":8`)},
		{"method twice", "", raw(`"id":7`, `"id":7,"method":"ping"`)},
		{"method beside a result", "", member("result", map[string]any{})},
		{"method beside an error", "", member("error", map[string]any{"code": 1, "message": "x"})},
		{"params list", "", member("params", []any{"repo://hello"})},
		{"params null", "", member("params", nil)},
		{"params text", "", member("params", "repo://hello")},
		{"no params", "", func(c *call) { delete(c.message, "params") }},
		{"no uri", "", func(c *call) { delete(c.params(), "uri") }},
		{"uri number", "", param("uri", 5)},
		{"uri null", "", param("uri", nil)},
		{"uri object", "", param("uri", map[string]any{"uri": "repo://hello"})},
		{"uri list", "", param("uri", []any{"repo://hello"})},
		{"uri empty", "", param("uri", "")},
		{"uri in another case", "", raw(`"uri":`, `"URI":`)},
		{"uri twice in two cases", "", raw(`"uri":`, `"Uri":"repo://team/app","uri":`)},
		{"uri twice in two cases, the right one first", "",
			raw(`"uri":`, `"uri":"repo://hello/contents/README.md","URI":"repo://team/app","x":`)},
		{"uri twice", "", raw(`"uri":`, `"uri":"repo://team/app","uri":`)},
		{"meta in another case", sessionVersion,
			param("_META", map[string]any{metaVersion: modernVersion, metaCapabilities: map[string]any{}})},
		{"meta number", "", param("_meta", 5)},
		{"meta list", "", param("_meta", []any{})},
		{"meta text", "", param("_meta", "x")},
		{"not JSON", "", func(c *call) { c.body = []byte("hello") }},
		{"cut off", "", raw(`"2.0"`, `"2.0`)},
		{"two texts", "", raw(`{"id"`, `{}{"id"`)},
		{"lone surrogate", "", raw(`"repo://hello`, `"repo://\ud800hello`)},
		{"not UTF-8", "", raw(`"repo://hello`, "\"repo://\xffhello")},
		{"byte order mark", "", raw(`{"id"`, "\ufeff"+`{"id"`)},
		{"too large", "", raw(`{"id"`, strings.Repeat(" ", 1<<20)+`{"id"`)},
		{"batch", "", func(c *call) { raw(`{"id"`, `[{"id"`)(c); c.body = append(c.body, ']') }},
	}
	for _, uri := range []string{
		"repo://nobody", "repo://nobody/contents/x", "repo://HELLO", "repo://hello.git/objects", "repo://hello/none",
		"repo://hello/contents/none", "repo://hello/contents/README.md/x", "repo://hello/contents/passwd/x",
		"repo://hello/archive/none.tar", "repo://hello/archive/main.rar", "repo://hello/archive/" + zero + ".tar",
		"repo://hello/archive/" + s.Unreachable + ".tar", "repo://hello/sha/" + s.Kept + "/contents/password",
		"repo://hello/refs/heads/loop-a/contents/x", "repo://hello/refs/keep-around/" + s.Kept,
		"repo://empty/archive/HEAD.tar", "repo://empty/contents/x", "repo://many/archive/" + s.Ambiguous + ".tar",
		"file:///etc/passwd", "https://hello", "hello", "repo:hello",
		"repo:///", "repo://../hello", "repo://hello/../team", "repo://hello%00", "repo://%zz", "repo://hello#x",
		"repo://hello?x=1", "repo://hello/archive/main.tar?prefix=..",
		"repo://hello/archive/main.tar?prefix=a&prefix=a",
		"repo://hello/contents/" + strings.Repeat("a", 5<<10),
	} {
		all = append(all, breakage{fmt.Sprintf("uri %.60q", uri), "", toURI(uri)})
	}
	return all
}

func TestBrokenStreamGetsTheAnswerOfABrokenRead(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	cases := 0
	for _, b := range breakages(s) {
		for _, version := range eras {
			if b.only != "" && b.only != version {
				continue
			}
			cases++
			var answers [2]answer
			for i, method := range []string{methodRead, methodStream} {
				c := s.good(t, version, method)
				b.edit(c)
				a, err := s.send(t.Context(), c)
				if err != nil {
					t.Fatalf("%s %s, %s: %v", version, method, b.name, err)
				}
				s.checkLeaks(t, a)
				if answers[i] = a; !a.failed() {
					t.Errorf("%s %s, %s: is served: %v", version, method, b.name, a)
				}
			}
			read, stream := answers[0], answers[1]
			if read.status != stream.status || read.code != stream.code || read.reason != stream.reason {
				t.Errorf("%s, %s:\n   read %v\n stream %v", version, b.name, read, stream)
			}
			if read.reason == "internal_error" || read.status >= 500 {
				t.Errorf("%s, %s: the client's mistake is taken for the server's: %v", version, b.name, read)
			}
		}
	}
	if cases < 40 {
		t.Errorf("only %d cases", cases)
	}
	t.Logf("%d cases", cases)
}
