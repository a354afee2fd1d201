package httpx_test

import (
	"net/http"
	"strings"
	"testing"
)

func header(name, value string) func(*call) { return func(c *call) { c.header.Set(name, value) } }

func without(name string) func(*call) { return func(c *call) { c.header.Del(name) } }

func twice(name, first, second string) func(*call) {
	return func(c *call) { c.header[http.CanonicalHeaderKey(name)] = []string{first, second} }
}

// TestBrokenStreamGetsTheAnswerOfABrokenRead breaks the headers of both requests in the same ways; internal/mcp
// breaks the messages.
func TestBrokenStreamGetsTheAnswerOfABrokenRead(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for _, b := range []struct {
		name string
		only string // an era, or "" for both
		edit func(*call)
	}{
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
		{"no session", sessionVersion, without("Mcp-Session-Id")},
		{"invented session", sessionVersion, header("Mcp-Session-Id", "invented")},
		{"session with a byte more", sessionVersion, header("Mcp-Session-Id", s.sessions[sessionVersion]+"A")},
		{"no version header", modernVersion, without("Mcp-Protocol-Version")},
		{"session version in the header", modernVersion, header("Mcp-Protocol-Version", sessionVersion)},
		{"no method header", modernVersion, without("Mcp-Method")},
		{"other method header", modernVersion, header("Mcp-Method", "tools/list")},
		{"other name header", modernVersion, header("Mcp-Name", "repo://team/app")},
		{"broken name header", modernVersion, header("Mcp-Name", "=?base64?%%?=")},
		{"not JSON", "", func(c *call) { c.body = []byte("hello") }},
		{"too large", "", func(c *call) { c.body = []byte(strings.Repeat(" ", 1<<20) + "{}") }},
		{"batch", "", func(c *call) { c.body = []byte(`[{"jsonrpc":"2.0","id":1,"method":"resources/stream"}]`) }},
		{"a URI of nothing", "", func(c *call) {
			c.params()["uri"] = "repo://nobody"
			if c.header.Get("Mcp-Name") != "" {
				c.header.Set("Mcp-Name", "repo://nobody")
			}
		}},
	} {
		for _, version := range eras {
			if b.only != "" && b.only != version {
				continue
			}
			var answers [2]answer
			for i, method := range []string{methodRead, methodStream} {
				c := s.good(t, version, method)
				b.edit(c)
				if answers[i] = s.do(t, c); !answers[i].failed() {
					t.Errorf("%s %s, %s: is served: %v", version, method, b.name, answers[i])
				}
			}
			read, stream := answers[0], answers[1]
			if read.status != stream.status || read.code != stream.code || read.reason != stream.reason ||
				read.status >= 500 {
				t.Errorf("%s, %s:\n   read %v\n stream %v", version, b.name, read, stream)
			}
		}
	}
}
