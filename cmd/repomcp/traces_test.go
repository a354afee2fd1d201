package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/repomcp/repomcp/internal/access/tokens"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestTracesSayWhatWasServed(t *testing.T) {
	gittest.Long(t)
	root, repo := bulkyRoot(t)
	head := strings.TrimSpace(repo.Git("rev-parse", "main"))
	c := newCollector(t)
	p, said := launchBy(t, c.settings(), root)
	checks := []func(){}
	traces := 0
	next := func() (traceparent, name string) {
		traces++
		return partOf(traces)
	}
	message := func(id string, w wanted) {
		checks = append(checks, func() {
			t.Helper()
			c.check(t, c.message(t, id), w)
		})
	}

	// The session era: what the message says is the parent, and the request is linked.
	own, ownName := next()
	carrier, carrierName := next()
	_, answered := p.post(t, http.Header{"Traceparent": {carrier}},
		inMeta("begin", "initialize", initializeParams, `"traceparent":"`+own+`","tracestate":"a=1,b=2"`))
	session := answered.Get("Mcp-Session-Id")
	message("begin", wanted{name: "initialize", parent: ownName, link: carrierName, state: "a=1,b=2",
		attributes: map[string]string{
			"mcp.method.name": "initialize", "mcp.protocol.version": "2025-03-26", "network.transport": "tcp",
			"network.protocol.name": "http", "client.address": "127.0.0.1",
		}})
	sessionHeaders := http.Header{"Mcp-Session-Id": {session}}
	call := func(id, tool, arguments, meta string) string {
		return inMeta(id, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s,`, tool, arguments), meta)
	}
	own, ownName = next()
	reply, _ := p.post(t, sessionHeaders, call("search", "search_code", `{"query":"last","repo":"repo"}`,
		`"traceparent":"`+own+`"`))
	if !strings.Contains(reply, `"result"`) {
		t.Error(reply)
	}
	message("search", wanted{name: "tools/call search_code", parent: ownName, stages: []string{"search"},
		attributes: map[string]string{
			"gen_ai.tool.name": "search_code", "gen_ai.operation.name": "execute_tool",
			"mcp.protocol.version": "2025-03-26",
			"repomcp.repository":   "repo", "error.type": "",
		}})
	p.post(t, sessionHeaders, call("wrong", "get_file_contents", `{"repo":"repo","path":"none"}`, ``))
	message("wrong", wanted{name: "tools/call get_file_contents", failed: true, attributes: map[string]string{
		"error.type": "tool_error", "repomcp.commit": head}})
	p.post(t, sessionHeaders, inMeta("none", "made/up", "", ""))
	message("none", wanted{name: "_OTHER", failed: true, attributes: map[string]string{
		"error.type": "-32601", "rpc.response.status_code": "-32601", "mcp.method.name": "_OTHER"}})

	// A batch has a span of each message.
	first, firstName := next()
	second, secondName := next()
	reply, _ = p.post(t, sessionHeaders, "["+inMeta("batched1", "ping", "", `"traceparent":"`+first+`"`)+","+
		inMeta("batched2", "resources/read", `"uri":"repo://none",`, `"traceparent":"`+second+`"`)+"]")
	if !strings.Contains(reply, "batched2") {
		t.Error(reply)
	}
	message("batched1", wanted{name: "ping", parent: firstName})
	message("batched2", wanted{name: "resources/read", parent: secondName, failed: true,
		attributes: map[string]string{"error.type": "-32002", "mcp.resource.uri": ""}})

	// 2026-07-28, and a request that says what its message does not.
	own, ownName = next()
	p.post(t, modernHeaders("resources/read", "repo://repo/contents/z"),
		inMeta("read", "resources/read", `"uri":"repo://repo/contents/z",`, modernMeta+`,"traceparent":"`+own+`"`))
	message("read", wanted{name: "resources/read", parent: ownName, stages: []string{"open"},
		attributes: map[string]string{
			"mcp.protocol.version": "2026-07-28", "mcp.resource.uri": "repo://repo/contents/z",
			"repomcp.repository": "repo",
			"repomcp.commit":     head,
		}})
	carrier, carrierName = next()
	headers := modernHeaders("tools/list", "")
	headers["Traceparent"], headers["Tracestate"] = []string{carrier}, []string{"x=1", "y=2"}
	p.post(t, headers, inMeta("list", "tools/list", "", modernMeta))
	message("list", wanted{name: "tools/list", parent: carrierName, state: "x=1,y=2"})
	own, ownName = next()
	prompts, _ := p.post(t, modernHeaders("prompts/list", ""), inMeta("prompts", "prompts/list", "", modernMeta))
	var listed struct {
		Result struct{ Prompts []struct{ Name string } }
	}
	if json.Unmarshal([]byte(prompts), &listed) != nil || len(listed.Result.Prompts) == 0 {
		t.Fatal(prompts)
	}
	prompt := listed.Result.Prompts[0].Name
	reply, _ = p.post(t, modernHeaders("prompts/get", prompt),
		inMeta("prompt", "prompts/get", fmt.Sprintf(`"name":%q,"arguments":{"repo":"repo"},`, prompt),
			modernMeta+`,"traceparent":"`+own+`"`))
	if !strings.Contains(reply, `"result"`) {
		t.Error(reply)
	}
	message("prompt", wanted{name: "prompts/get " + prompt, parent: ownName,
		attributes: map[string]string{"gen_ai.prompt.name": prompt}})

	// Invalid trace contexts are ignored, without an error.
	good, goodName := next()
	for i, bad := range []string{
		`"traceparent":"` + strings.Repeat("0", 1<<10) + `"`, `"traceparent":1`, `"traceparent":null`,
		`"traceparent":{}`,
		`"traceparent":"00-00000000000000000000000000000000-00f067aa0ba902b7-01"`,
		`"traceparent":"ff` + good[2:] + `"`, `"traceparent":"` + strings.ToUpper(good) + `"`,
		`"traceparent":"` + good + `-more"`, `"traceparent":"\u0000\r\n"`, `"tracestate":"a=1"`,
	} {
		id := fmt.Sprint("bad", i)
		reply, _ := p.post(t, modernHeaders("tools/list", ""), inMeta(id, "tools/list", "", modernMeta+","+bad))
		if !strings.Contains(reply, `"result"`) {
			t.Errorf("%s: %s", bad, reply)
		}
		message(id, wanted{name: "tools/list"})
	}
	for i, bad := range []string{
		`"` + strings.Repeat("a=1,", 1<<8) + `b=1"`, `"no state"`, `7`, `"a=1,a=2"`,
	} {
		id := fmt.Sprint("state", i)
		p.post(t, modernHeaders("tools/list", ""),
			inMeta(id, "tools/list", "", modernMeta+`,"traceparent":"`+good+`","tracestate":`+bad))
		message(id, wanted{name: "tools/list", parent: goodName})
	}

	// Plain downloads.
	download := func(path, name string, w wanted) *http.Response {
		traceparent, of := next()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Traceparent", traceparent)
		response, err := p.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		w.name, w.parent = name, of
		checks = append(checks, func() {
			t.Helper()
			s := c.of(t, func(s *tracepb.Span) bool { return strings.HasPrefix(of, fmt.Sprintf("%x-", s.TraceId)) })
			c.check(t, s, w)
			if w.stages != nil && (len(s.GetEvents()) != 1 || s.Events[0].Name != "first byte") {
				t.Errorf("%s has the events %v", path, s.GetEvents())
			}
		})
		return response
	}
	response := download("/archive/repo/main.tar", "GET /archive/*", wanted{
		stages: []string{"open", "resolve", "plan", "send"}, attributes: map[string]string{
			"http.route": "/archive/*", "url.path": "/archive/repo/main.tar", "http.response.status_code": "200",
			"repomcp.commit": head, "repomcp.repository": "repo", "url.scheme": "http", "server.address": "127.0.0.1",
			"repomcp.bytes": fmt.Sprint(len(repo.Archive("--format=tar", "main"))), "mcp.method.name": "",
		}})
	if got, err := io.ReadAll(response.Body); err != nil || !bytes.Equal(got, repo.Archive("--format=tar", "main")) {
		t.Errorf("the archive differs: %v", err)
	}
	_ = download("/raw/repo/main/none", "GET /raw/*",
		wanted{attributes: map[string]string{"http.response.status_code": "404"}}).Body.Close()
	_ = download("/none", "GET",
		wanted{attributes: map[string]string{"http.response.status_code": "404", "http.route": ""}}).Body.Close()

	// What breaks off has failed, whatever carried it.
	broken := download("/archive/repo/main.tar", "GET /archive/*",
		wanted{failed: true, attributes: map[string]string{"error.type": "aborted"}})
	_, _ = io.ReadFull(broken.Body, make([]byte, 1<<10))
	_ = broken.Body.Close()
	headers = modernHeaders("resources/stream", "repo://repo/archive/main.tar")
	headers["Accept"] = []string{"application/json, */*"}
	message("stream", wanted{name: "resources/stream", failed: true, stages: []string{"open", "resolve", "plan",
		"send"},
		attributes: map[string]string{"error.type": "aborted", "repomcp.commit": head}})
	streamed, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/mcp", strings.NewReader(
		inMeta("stream", "resources/stream", `"uri":"repo://repo/archive/main.tar",`, modernMeta)))
	if err != nil {
		t.Fatal(err)
	}
	streamed.Header = headers
	streamed.Header.Set("Content-Type", "application/json")
	if broken, err = p.client.Do(streamed); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadFull(broken.Body, make([]byte, 1<<10))
	_ = broken.Body.Close()

	p.stop(t)
	for _, check := range checks {
		check()
	}
	if len(checks) < 28 {
		t.Errorf("%d spans were looked at", len(checks))
	}
	for name, value := range map[string]string{
		"service.name": "mirrors", "deployment.environment.name": "test", "telemetry.sdk.language": "go",
		"service.version": version(),
	} {
		if c.resources[name] != value {
			t.Errorf("%s of the resource is %q, want %q", name, c.resources[name], value)
		}
	}
	if strings.Contains(said.String(), "telemetry") {
		t.Error(said)
	}
}

// Over WebSocket and stdio each message is a part of its own trace, and the
// connection is a session that ends.
func TestTracesOfConnections(t *testing.T) {
	root, _ := helloRoot(t)
	own, ownName := partOf(1)
	const uri = `"uri":"repo://group/hello/contents/README.md",`
	messages := []string{
		inMeta("begin", "initialize", initializeParams, ""),
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		inMeta("read", "resources/read", uri, `"traceparent":"`+own+`"`),
		inMeta("modern", "tools/list", "", modernMeta+`,"traceparent":"`+own+`"`),
		inMeta("refused", "tools/call", `"name":"none",`, `"traceparent":"`+own+`"`),
	}
	check := func(t *testing.T, c *collector, transport, protocol string) {
		at := map[string]string{"network.transport": transport, "network.protocol.name": protocol}
		with := func(more map[string]string) map[string]string {
			maps.Copy(more, at)
			return more
		}
		c.check(t, c.message(t, "begin"),
			wanted{name: "initialize", attributes: with(map[string]string{"mcp.protocol.version": "2025-03-26"})})
		c.check(t, c.message(t, "read"), wanted{name: "resources/read", parent: ownName, stages: []string{"open"},
			attributes: with(map[string]string{"mcp.protocol.version": "2025-03-26",
				"repomcp.repository": "group/hello"})})
		c.check(t, c.message(t, "modern"), wanted{name: "tools/list", parent: ownName,
			attributes: with(map[string]string{"mcp.protocol.version": "2026-07-28"})})
		c.check(t, c.message(t, "refused"), wanted{name: "tools/call", parent: ownName, failed: true,
			attributes: with(map[string]string{"error.type": "-32602", "gen_ai.tool.name": ""})})
		c.check(t, c.of(t, func(s *tracepb.Span) bool { return s.Name == "notifications/initialized" }),
			wanted{name: "notifications/initialized", attributes: with(map[string]string{})})
		points := c.metrics["mcp.server.session.duration"].GetHistogram().GetDataPoints()
		if len(points) != 1 || points[0].Count != 1 || values(points[0].Attributes)["network.transport"] != transport ||
			values(points[0].Attributes)["mcp.protocol.version"] != "2025-03-26" {
			t.Errorf("sessions: %v", points)
		}
	}
	t.Run("WebSocket", func(t *testing.T) {
		c := newCollector(t)
		p, _ := launchBy(t, c.settings(), root)
		conn, _, err := websocket.Dial(t.Context(), p.url+"/ws", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, message := range messages {
			if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(message, `"id"`) {
				if _, _, err := conn.Read(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = conn.Close(websocket.StatusNormalClosure, "") // the server answers
		p.stop(t)
		check(t, c, "tcp", "websocket")
	})
	t.Run("stdio", func(t *testing.T) {
		c := newCollector(t)
		command := exec.Command("sh", "-c", c.settings()+` exec "$0" "$@"`, program(t), "stdio", "--root", root)
		command.Stdin = strings.NewReader(strings.Join(messages, "\n") + "\n")
		replies, err := command.Output()
		if err != nil || strings.Count(string(replies), "\n") != len(messages)-1 {
			t.Fatalf("%v: %s", err, replies)
		}
		check(t, c, "pipe", "")
	})
}

// Traces also contain requests that are refused before anything is served, with the status.
func TestTracesOfRefusals(t *testing.T) {
	gittest.Long(t)
	root, _ := bulkyRoot(t)
	c := newCollector(t)
	file := filepath.Join(t.TempDir(), "tokens")
	var bearers []string
	for _, name := range []string{"one", "another"} {
		token, entry, err := tokens.New(name, nil, 0, time.Now())
		if err := errors.Join(err, tokens.Add(file, entry)); err != nil {
			t.Fatal(err)
		}
		bearers = append(bearers, "Bearer "+token)
	}
	p, _ := launchBy(t, c.settings(), root, "--tokens", file, "--max-streams", "1", "--queue-time", "1ms")
	ask := func(method, path string, header http.Header) *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), method, p.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = header
		if host := header.Get("Host"); host != "" {
			request.Host = host
		}
		response, err := p.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	known, another := bearers[0], bearers[1]
	const archive = "/archive/repo/main.tar"
	held := ask(http.MethodGet, archive, http.Header{"Authorization": {known}})
	if _, err := io.ReadFull(held.Body, make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
	refusals := []struct {
		method, path string
		header       http.Header
		status       int
	}{
		{http.MethodGet, archive, http.Header{}, http.StatusUnauthorized},
		{http.MethodGet, archive, http.Header{"Authorization": {"Bearer unknown"}}, http.StatusUnauthorized},
		{http.MethodPost, "/mcp", http.Header{}, http.StatusUnauthorized},
		{http.MethodGet, archive, http.Header{"Authorization": {known}, "Host": {"evil.example"}},
			http.StatusForbidden},
		{http.MethodPost, "/mcp", http.Header{"Authorization": {known}, "Origin": {"https://evil.example"}},
			http.StatusForbidden},
		{http.MethodGet, archive, http.Header{"Authorization": {known}}, http.StatusTooManyRequests},
		{http.MethodGet, archive, http.Header{"Authorization": {another}}, http.StatusServiceUnavailable},
	}
	for i, refusal := range refusals {
		traceparent, _ := partOf(i)
		refusal.header.Set("Traceparent", traceparent)
		response := ask(refusal.method, refusal.path, refusal.header)
		_ = response.Body.Close() // its status says all
		if response.StatusCode != refusal.status {
			t.Errorf("%+v: %s", refusal, response.Status)
		}
	}
	_ = held.Body.Close() // ends the stream
	p.stop(t)
	for i, refusal := range refusals {
		_, of := partOf(i)
		s := c.of(t, func(s *tracepb.Span) bool { return strings.HasPrefix(of, fmt.Sprintf("%x-", s.TraceId)) })
		c.check(t, s, wanted{name: s.GetName(), parent: of, failed: refusal.status >= http.StatusInternalServerError,
			attributes: map[string]string{
				"http.request.method": refusal.method, "url.path": refusal.path,
				"http.response.status_code": strconv.Itoa(refusal.status),
			}})
	}
}
