package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/watch"
)

// TestSessionsThatHoldNothingCostNothing opens sessions, uses each once, and
// leaves them. Each of them once cost 10 KB for an hour, and its client's name.
func TestSessionsThatHoldNothingCostNothing(t *testing.T) { //nolint:paralleltest // it measures the heap
	s := newLocal(t, localOptions{})
	session := func(name string) {
		opened := s.do(t, &call{header: http.Header{}, body: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize",` +
			`"params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"` + name +
			`","version":"1"}}}`)})
		if opened.session == "" {
			t.Fatal("initialize has no session id")
		}
		level := s.call(sessionVersion, MethodSetLevel, map[string]any{"level": "error"})
		level.header.Set(HeaderSession, opened.session)
		if a := s.do(t, level); a.failed() {
			t.Fatal(a)
		}
	}
	session("first")
	for name, c := range map[string]struct {
		name     string
		sessions int
	}{
		"many":       {"x", gittest.Volume(2_500, 20_000)},
		"long names": {strings.Repeat("x", 15<<10), gittest.Volume(500, 2_000)},
	} {
		before := gittest.LiveHeap()
		for range c.sessions {
			session(c.name)
		}
		most := int64(gittest.Volume(1<<20, 8<<20)) // some hundred bytes for each would be seen
		if grown := gittest.LiveHeap() - before; grown > most {
			t.Errorf("%s: %d sessions hold %d bytes, want at most %d", name, c.sessions, grown, most)
		}
	}
}

func TestParamsThatAreKeptAreBounded(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
	long := strings.Repeat("x", 1<<14)
	for _, version := range []string{batchVersion, sessionVersion} {
		for member, params := range map[string]map[string]any{
			"name": {"clientInfo": map[string]any{"name": long, "version": "1"},
				"capabilities": map[string]any{}},
			"capabilities": {"clientInfo": map[string]any{"name": "x", "version": "1"},
				"capabilities": map[string]any{"experimental": map[string]any{"x": long}}},
		} {
			params["protocolVersion"] = version
			c := s.call(version, "initialize", params)
			c.header.Del(HeaderSession)
			a := s.do(t, c)
			if a.code != -32602 || a.reason != "invalid_params" || !strings.Contains(string(a.body), "clientInfo") ||
				a.session != "" {
				t.Errorf("%s in %s: %v", member, version, a)
			}
			connection := connected{s.Connect("", ""), t}
			if a := connection.do(c); a.code != -32602 {
				t.Errorf("%s in %s over a connection: %v", member, version, a)
			}
			connection.Close()
		}
	}
	uris := make([]string, 20)
	for i := range uris {
		uris[i] = fmt.Sprintf("repo://hello/contents/%d%s", i, long)
	}
	if a := s.do(t, s.call(modernVersion, "subscriptions/listen",
		map[string]any{"notifications": map[string]any{"resourceSubscriptions": uris}})); a.code != -32602 {
		t.Errorf("subscriptions/listen: %v", a)
	}
}

// initialize negotiates: a version that the server does not know is answered with one that it does.
func TestInitializeAnswersUnknownVersions(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
	for _, version := range []string{"", "2026-07-27", "1"} {
		a := s.do(t, &call{header: http.Header{}, body: initializing(version, "{}")})
		if !strings.Contains(string(a.body), `"protocolVersion":"`+sessionVersion+`"`) {
			t.Errorf("initialize with %q: %v, want %s", version, a, sessionVersion)
		}
	}
}

func TestErrorsNameWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
	const uri = "repo://hello/contents/README.md"
	for _, version := range eras {
		for _, method := range []string{MethodRead, MethodStream} {
			for name, edit := range map[string]func(*call){
				"meta in another case": func(c *call) { c.params()["_META"] = map[string]any{} },
				"unknown version":      func(c *call) { c.header.Set(HeaderVersion, "2020-01-01") },
				"no such file": func(c *call) {
					c.params()["uri"] = uri + "/none"
					c.header.Set(HeaderName, uri+"/none")
				},
			} {
				request := s.call(version, method, map[string]any{"uri": uri})
				edit(request)
				if a := s.do(t, request); a.code == 0 || a.data["uri"] != request.params()["uri"] {
					t.Errorf("%s, %s in %s: %v", name, method, version, a)
				}
			}
		}
	}
}

func TestDeclaredStreamCapabilityDecides(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
	const size = len("hello\n")
	tests := []struct {
		capabilities string
		want         string // reason, or "" when it is served
	}{
		{`{}`, "client_capability_missing"}, {`{"resourceStreaming":null}`, "client_capability_missing"},
		{`{"resourceStreaming":true}`, "client_capability_missing"},
		{`{"resourceStreaming":"yes"}`, "client_capability_missing"},
		{`{"resourceStreaming":[]}`, "client_capability_missing"},
		{`{"resourcestreaming":{}}`, "client_capability_missing"},
		{`{"ResourceStreaming":{}}`, "client_capability_missing"}, {`{"RESOURCESTREAMING":{"maxStreamSize":9}}`,
			"client_capability_missing"},
		{`{"resourceStreaming":{}}`, ""}, {`{"resourceStreaming":{"maxStreamSize":null}}`, ""},
		{`{"resourceStreaming":{"other":[1]}}`, ""},
		{`{"resourceStreaming":{"maxStreamSize":6}}`, ""}, {`{"resourceStreaming":{"maxStreamSize":6.9}}`, ""},
		{`{"resourceStreaming":{"maxStreamSize":1e18}}`, ""}, {`{"resourceStreaming":{"maxStreamSize":1e300}}`, ""},
		{`{"resourceStreaming":{"maxStreamSize":9223372036854775808}}`, ""},
		{`{"resourceStreaming":{"maxStreamSize":5}}`, "too_large"}, {`{"resourceStreaming":{"maxStreamSize":5.99}}`,
			"too_large"}, {`{"resourceStreaming":{"maxStreamSize":1}}`, "too_large"},
		{`{"resourceStreaming":{"maxStreamSize":0}}`, "invalid_params"},
		{`{"resourceStreaming":{"maxStreamSize":-0.0}}`, "invalid_params"},
		{`{"resourceStreaming":{"maxStreamSize":-1}}`, "invalid_params"},
		{`{"resourceStreaming":{"maxStreamSize":-1e300}}`, "invalid_params"},
		{`{"resourceStreaming":{"maxStreamSize":1e-300}}`, "invalid_params"},
		// An invalid number must not count as "no limit": the error names it.
		{`{"resourceStreaming":{"maxStreamSize":"6"}}`, "invalid_params"},
		{`{"resourceStreaming":{"maxStreamSize":true}}`, "invalid_params"},
		{`{"resourceStreaming":{"maxStreamSize":[5]}}`, "invalid_params"},
		{`{"resourceStreaming":{"maxStreamSize":1e400}}`, "invalid_params"},
		{`{"resourceStreaming":{"maxStreamSize":-1e400}}`, "invalid_params"},
		// Where typed clients can put it; the place of the SEP comes first.
		{`{"experimental":{"resourceStreaming":{"maxStreamSize":5}}}`, "too_large"},
		{`{"extensions":{"io.github.repomcp/resource-stream":{}}}`, ""},
		{`{"resourceStreaming":{"maxStreamSize":5},"experimental":{"resourceStreaming":{}}}`, "too_large"},
		{`{"experimental":{"resourceStreaming":5}}`, "client_capability_missing"},
	}
	for _, test := range tests {
		for _, version := range eras {
			c := s.good(version, MethodStream)
			if version == modernVersion {
				c.meta()[mcp.MetaKeyClientCapabilities] = json.RawMessage(test.capabilities)
			} else {
				c.header.Set(HeaderSession, s.initialize(t, version, test.capabilities))
			}
			a := s.do(t, c)
			if test.want == "" {
				if !a.streamed || string(a.body) != "hello\n" {
					t.Errorf("%s %s: %v, want the file", version, test.capabilities, a)
				}
				continue
			}
			expect(t, a, version, test.want, test.capabilities)
			if a.data["uri"] != "repo://hello/contents/README.md" {
				t.Errorf("%s %s: no uri in %v", version, test.capabilities, a)
			}
			if test.want == "too_large" && (a.data["size"] != float64(size) || a.data["limit"] == nil) {
				t.Errorf("%s %s: size and limit are not in %v", version, test.capabilities, a)
			}
		}
	}
	t.Logf("%d cases", 2*len(tests))
}

func TestOneAddressCannotHaveAllSubscriptions(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{watch: watch.Options{PerSession: 3, Total: 8}})
	subscribe := func(i int) *call {
		c := s.call(sessionVersion, MethodSubscribe, map[string]any{"uri": fmt.Sprintf("repo://none/contents/%d", i)})
		c.header.Set(HeaderSession, s.initialize(t, sessionVersion, "{}"))
		c.address = "192.0.2.1"
		return c
	}
	granted := 0
	for i := range 8 {
		if a := s.do(t, subscribe(i)); !a.failed() {
			granted++
		}
	}
	if granted != 4 {
		t.Errorf("%d of 8 subscriptions were granted to one address, want 4", granted)
	}
	socket := connected{s.Connect("192.0.2.1", ""), t}
	defer socket.Close()
	if a := socket.do(&call{body: initializing(sessionVersion, "{}")}); a.failed() {
		t.Fatal(a)
	}
	if a := socket.do(subscribe(9)); a.code != -32000 || !strings.Contains(string(a.body), "of your address") {
		t.Errorf("over a connection: %v", a)
	}
	other := subscribe(10)
	other.address = "192.0.2.2"
	if a := s.do(t, other); a.failed() {
		t.Errorf("another address: %v", a)
	}
}
