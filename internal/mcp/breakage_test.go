package mcp

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// breakage is a way to break a request, whatever its method.
type breakage struct {
	name string
	only string // a version, or "" for both eras
	edit func(t *testing.T, c *call)
}

func member(name string, value any) func(*testing.T, *call) {
	return func(_ *testing.T, c *call) { c.message[name] = value }
}

func param(name string, value any) func(*testing.T, *call) {
	return func(_ *testing.T, c *call) { c.params()[name] = value }
}

func meta(name string, value any) func(*testing.T, *call) {
	return func(_ *testing.T, c *call) { c.meta()[name] = value }
}

// replaced replaces a part of the encoded message.
func replaced(old, new string) func(*testing.T, *call) {
	return func(t *testing.T, c *call) {
		t.Helper()
		body := c.encode(t)
		if !bytes.Contains(body, []byte(old)) {
			t.Fatalf("%q is not in %s", old, body)
		}
		c.body = bytes.Replace(body, []byte(old), []byte(new), 1)
	}
}

var breakages = []breakage{
	{"modern body only", sessionVersion, param("_meta", map[string]any{mcp.MetaKeyProtocolVersion: modernVersion})},
	{"session version in the body", modernVersion, meta(mcp.MetaKeyProtocolVersion, sessionVersion)},
	{"version to come", modernVersion, meta(mcp.MetaKeyProtocolVersion, "2099-01-01")},
	{"version is a number", modernVersion, meta(mcp.MetaKeyProtocolVersion, 20260728)},
	{"no version in the body", modernVersion,
		func(_ *testing.T, c *call) { delete(c.meta(), mcp.MetaKeyProtocolVersion) }},
	{"no capabilities", modernVersion,
		func(_ *testing.T, c *call) { delete(c.meta(), mcp.MetaKeyClientCapabilities) }},
	{"capabilities are a list", modernVersion, meta(mcp.MetaKeyClientCapabilities, []any{})},
	{"capabilities are null", modernVersion, meta(mcp.MetaKeyClientCapabilities, nil)},
	{"no meta", modernVersion, func(_ *testing.T, c *call) { delete(c.params(), "_meta") }},
	{"jsonrpc 1.0", "", member("jsonrpc", "1.0")},
	{"jsonrpc is a number", "", member("jsonrpc", 2.0)},
	{"no jsonrpc", "", func(_ *testing.T, c *call) { delete(c.message, "jsonrpc") }},
	{"id null", "", member("id", nil)},
	{"id fraction", "", member("id", 1.5)},
	{"id object", "", member("id", map[string]any{})},
	{"id true", "", member("id", true)},
	{"id huge", "", replaced(`"id":7`, `"id":1e400`)},
	{"id of 1 KB", "", member("id", strings.Repeat("x", 1<<10))},
	{"id twice", "", replaced(`"id":7`, `"id":7,"id":8`)},
	{"method twice", "", replaced(`"id":7`, `"id":7,"method":"ping"`)},
	{"method beside a result", "", member("result", map[string]any{})},
	{"method beside an error", "", member("error", map[string]any{"code": 1, "message": "x"})},
	{"params list", "", member("params", []any{"repo://hello"})},
	{"params null", "", member("params", nil)},
	{"params text", "", member("params", "repo://hello")},
	{"no params", "", func(_ *testing.T, c *call) { delete(c.message, "params") }},
	{"no uri", "", func(_ *testing.T, c *call) { delete(c.params(), "uri") }},
	{"uri number", "", param("uri", 5)},
	{"uri null", "", param("uri", nil)},
	{"uri object", "", param("uri", map[string]any{"uri": "repo://hello"})},
	{"uri list", "", param("uri", []any{"repo://hello"})},
	{"uri empty", "", param("uri", "")},
	{"uri of 1 MB", "", param("uri", "repo://hello/contents/"+strings.Repeat("%61", 300<<10))},
	{"uri in another case", "", replaced(`"uri":`, `"URI":`)},
	{"uri twice in two cases", "", replaced(`"uri":`, `"Uri":"repo://team/app","uri":`)},
	{"uri twice in two cases, the right one first", "",
		replaced(`"uri":`, `"uri":"repo://hello/contents/README.md","URI":"repo://team/app","x":`)},
	{"uri twice", "", replaced(`"uri":`, `"uri":"repo://team/app","uri":`)},
	{"meta in another case", sessionVersion, param("_META",
		map[string]any{mcp.MetaKeyProtocolVersion: modernVersion, mcp.MetaKeyClientCapabilities: map[string]any{}})},
	{"meta number", "", param("_meta", 5)},
	{"meta list", "", param("_meta", []any{})},
	{"meta text", "", param("_meta", "x")},
	{"not JSON", "", func(_ *testing.T, c *call) { c.body = []byte("hello") }},
	{"cut off", "", replaced(`"2.0"`, `"2.0`)},
	{"two texts", "", replaced(`{"id"`, `{}{"id"`)},
	{"lone surrogate", "", replaced(`"repo://hello`, `"repo://\ud800hello`)},
	{"not UTF-8", "", replaced(`"repo://hello`, "\"repo://\xffhello")},
	{"byte order mark", "", replaced(`{"id"`, "\ufeff"+`{"id"`)},
}

// TestBrokenStreamGetsTheAnswerOfABrokenRead breaks both requests in the same ways.
func TestBrokenStreamGetsTheAnswerOfABrokenRead(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
	cases := 0
	for _, b := range breakages {
		for _, version := range eras {
			if b.only != "" && b.only != version {
				continue
			}
			var answers [2]received
			for i, method := range []string{MethodRead, MethodStream} {
				c := s.good(version, method)
				b.edit(t, c)
				if answers[i] = s.do(t, c); !answers[i].failed() {
					t.Errorf("%s %s, %s: is served: %v", version, method, b.name, answers[i])
				}
			}
			read, stream := answers[0], answers[1]
			if read.state != stream.state || read.code != stream.code || read.reason != stream.reason {
				t.Errorf("%s, %s:\n   read %v\n stream %v", version, b.name, read, stream)
			}
			if read.reason == "internal_error" {
				t.Errorf("%s, %s: the client's mistake is taken for the server's: %v", version, b.name, read)
			}
			cases++
		}
	}
	if cases < 75 {
		t.Errorf("only %d cases", cases)
	}
}
