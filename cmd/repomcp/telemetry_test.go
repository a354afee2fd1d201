package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	collectormetricspb "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	collectortracepb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector takes what is sent by OTLP.
type collector struct {
	*httptest.Server
	mu        sync.Mutex
	raw       bytes.Buffer
	resources map[string]string
	spans     []*tracepb.Span
	metrics   map[string]*metricspb.Metric // the last of each
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{metrics: make(map[string]*metricspb.Metric)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = c.take(r.URL.Path, body)
		}
		if err != nil || r.Header.Get("X-Key") != "let me in" {
			t.Errorf("%s: %v, %v", r.URL, err, r.Header)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(path string, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	switch path {
	case "/v1/traces":
		var request collectortracepb.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			return err
		}
		for _, of := range request.ResourceSpans {
			c.resources = values(of.Resource.Attributes)
			for _, scope := range of.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
		return nil
	case "/v1/metrics":
		var request collectormetricspb.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			return err
		}
		for _, of := range request.ResourceMetrics {
			for _, scope := range of.ScopeMetrics {
				for _, metric := range scope.Metrics {
					c.metrics[metric.Name] = metric
				}
			}
		}
		return nil
	default:
		return fmt.Errorf("there is no such path")
	}
}

// settings are the variables that send everything there, for a shell.
func (c *collector) settings() string {
	return "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL + ` OTEL_EXPORTER_OTLP_HEADERS=x-key=let%20me%20in ` +
		"OTEL_SERVICE_NAME=mirrors OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test "
}

// values are attributes by their names.
func values(list []*commonpb.KeyValue) map[string]string {
	all := make(map[string]string, len(list))
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			all[a.Key] = v.StringValue
		default:
			all[a.Key] = strings.TrimSpace(strings.SplitN(a.Value.String(), ":", 2)[1])
		}
	}
	return all
}

// of finds the span of a message by the id of that, or of a download by its trace.
func (c *collector) of(t *testing.T, which func(s *tracepb.Span) bool) *tracepb.Span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*tracepb.Span
	for _, s := range c.spans {
		if s.Kind == tracepb.Span_SPAN_KIND_SERVER && which(s) {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Errorf("there are %d spans, want 1", len(found))
		return nil
	}
	return found[0]
}

func (c *collector) message(t *testing.T, id string) *tracepb.Span {
	t.Helper()
	return c.of(t, func(s *tracepb.Span) bool { return values(s.Attributes)["jsonrpc.request.id"] == id })
}

// stages are the names of what a span is made of, in the order in which they began.
func (c *collector) stages(s *tracepb.Span) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := slices.SortedFunc(slices.Values(c.spans), func(a, b *tracepb.Span) int {
		return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano))
	})
	for _, part := range parts {
		if bytes.Equal(part.ParentSpanId, s.SpanId) && bytes.Equal(part.TraceId, s.TraceId) {
			names = append(names, part.Name)
		}
	}
	return names
}

// wanted is what a span must be.
type wanted struct {
	name, parent, link, state string // parent and link are trace and span; "" is none
	attributes                map[string]string
	failed                    bool
	stages                    []string // nil: any
}

func (c *collector) check(t *testing.T, s *tracepb.Span, w wanted) {
	t.Helper()
	if s == nil {
		t.Errorf("%s has no span", w.name)
		return
	}
	parent, link := "", ""
	if s.ParentSpanId != nil {
		parent = fmt.Sprintf("%x-%x", s.TraceId, s.ParentSpanId)
	}
	if len(s.Links) > 0 {
		link = fmt.Sprintf("%x-%x", s.Links[0].TraceId, s.Links[0].SpanId)
	}
	if s.Name != w.name || parent != w.parent || link != w.link || s.TraceState != w.state {
		t.Errorf("%q has the parent %q, the link %q and the state %q, want %+v", s.Name, parent, link, s.TraceState, w)
	}
	if failed := s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR; failed != w.failed {
		t.Errorf("%s failed: %v", s.Name, failed)
	}
	if s.EndTimeUnixNano < s.StartTimeUnixNano || time.Since(time.Unix(0, int64(s.StartTimeUnixNano))) > time.Minute {
		t.Errorf("%s was from %d to %d", s.Name, s.StartTimeUnixNano, s.EndTimeUnixNano)
	}
	got := values(s.Attributes)
	for name, value := range w.attributes {
		if got[name] != value {
			t.Errorf("%s: %s is %q, want %q", s.Name, name, got[name], value)
		}
	}
	if stages := c.stages(s); w.stages != nil && !slices.Equal(stages, w.stages) {
		t.Errorf("%s has the stages %q, want %q", s.Name, stages, w.stages)
	}
}

// partOf is the trace context of the n-th trace, and its name as check has it.
func partOf(n int) (traceparent, name string) {
	name = fmt.Sprintf("%032x-%016x", 0xabc000+n, 0xdef000+n)
	return "00-" + name + "-01", name
}

// post sends a message over HTTP and returns the reply.
func (p *process) post(t *testing.T, headers http.Header, message string) (reply string, answered http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/mcp", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	maps.Copy(request.Header, headers)
	response, err := p.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // only read from
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), response.Header
}

// inMeta makes a message with members of _meta.
func inMeta(id, method, params, meta string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":{%s"_meta":{%s}}}`, id, method, params, meta)
}

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"resourceStreaming":{}}`

func modernHeaders(method, name string) http.Header {
	h := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}}
	if name != "" {
		h.Set("Mcp-Name", name)
	}
	return h
}

const initializeParams = `"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"},`

func TestTracesSayWhatWasServed(t *testing.T) {
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
	message("begin", wanted{name: "initialize", parent: ownName, link: carrierName, state: "a=1,b=2", attributes: map[string]string{
		"mcp.method.name": "initialize", "mcp.protocol.version": "2025-03-26", "network.transport": "tcp",
		"network.protocol.name": "http", "client.address": "127.0.0.1",
	}})
	sessionHeaders := http.Header{"Mcp-Session-Id": {session}}
	call := func(id, tool, arguments, meta string) string {
		return inMeta(id, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s,`, tool, arguments), meta)
	}
	own, ownName = next()
	reply, _ := p.post(t, sessionHeaders, call("search", "search_code", `{"query":"last","repo":"repo"}`, `"traceparent":"`+own+`"`))
	if !strings.Contains(reply, `"result"`) {
		t.Error(reply)
	}
	message("search", wanted{name: "tools/call search_code", parent: ownName, stages: []string{"search"}, attributes: map[string]string{
		"gen_ai.tool.name": "search_code", "gen_ai.operation.name": "execute_tool", "mcp.protocol.version": "2025-03-26",
		"repomcp.repository": "repo", "error.type": "",
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
	message("read", wanted{name: "resources/read", parent: ownName, stages: []string{"open"}, attributes: map[string]string{
		"mcp.protocol.version": "2026-07-28", "mcp.resource.uri": "repo://repo/contents/z", "repomcp.repository": "repo",
		"repomcp.commit": head,
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
	message("prompt", wanted{name: "prompts/get " + prompt, parent: ownName, attributes: map[string]string{"gen_ai.prompt.name": prompt}})

	// What is no trace context is passed over, and nothing fails of it.
	good, goodName := next()
	for i, bad := range []string{
		`"traceparent":"` + strings.Repeat("0", 1<<10) + `"`, `"traceparent":1`, `"traceparent":null`, `"traceparent":{}`,
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
	_ = download("/raw/repo/main/none", "GET /raw/*", wanted{attributes: map[string]string{"http.response.status_code": "404"}}).Body.Close()
	_ = download("/none", "GET", wanted{attributes: map[string]string{"http.response.status_code": "404", "http.route": ""}}).Body.Close()

	// What breaks off has failed, whatever carried it.
	broken := download("/archive/repo/main.tar", "GET /archive/*", wanted{failed: true, attributes: map[string]string{"error.type": "aborted"}})
	_, _ = io.ReadFull(broken.Body, make([]byte, 1<<10))
	_ = broken.Body.Close()
	headers = modernHeaders("resources/stream", "repo://repo/archive/main.tar")
	headers["Accept"] = []string{"application/json, */*"}
	message("stream", wanted{name: "resources/stream", failed: true, stages: []string{"open", "resolve", "plan", "send"},
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
		c.check(t, c.message(t, "begin"), wanted{name: "initialize", attributes: with(map[string]string{"mcp.protocol.version": "2025-03-26"})})
		c.check(t, c.message(t, "read"), wanted{name: "resources/read", parent: ownName, stages: []string{"open"},
			attributes: with(map[string]string{"mcp.protocol.version": "2025-03-26", "repomcp.repository": "group/hello"})})
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

// Metrics have the names and buckets of the semantic conventions, and those of
// Prometheus beside them. Repositories, commits and what clients make up are no
// attributes of them.
func TestMetricsReachACollector(t *testing.T) {
	root, _ := helloRoot(t)
	c := newCollector(t)
	p, _ := launchBy(t, c.settings(), root)
	const calls = 20
	for i := range calls {
		p.post(t, modernHeaders("resources/read", "repo://group/hello"),
			inMeta(fmt.Sprint(i), "resources/read", `"uri":"repo://group/hello",`, modernMeta))
		p.post(t, nil, inMeta(fmt.Sprint(i), fmt.Sprint("made/up", i), "", ""))
	}
	p.get(t, p.url+"/repositories")
	p.stop(t)
	operations := c.metrics["mcp.server.operation.duration"]
	if operations.GetUnit() != "s" {
		t.Error(operations)
	}
	allowed := []string{"mcp.method.name", "error.type", "mcp.protocol.version", "network.transport",
		"network.protocol.name", "network.protocol.version"}
	points := operations.GetHistogram().GetDataPoints()
	for _, point := range points {
		if fmt.Sprint(point.ExplicitBounds) != "[0.01 0.02 0.05 0.1 0.2 0.5 1 2 5 10 30 60 120 300]" || point.Count != calls ||
			point.GetSum() <= 0 {
			t.Error(point)
		}
		for name := range values(point.Attributes) {
			if !slices.Contains(allowed, name) {
				t.Errorf("there is an attribute %s: %v", name, point)
			}
		}
	}
	if len(points) != 2 || operations.GetHistogram().AggregationTemporality != metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
		t.Errorf("%d points: %v", len(points), operations)
	}
	requests := c.metrics["repomcp_http_requests_total"].GetSum()
	if !requests.GetIsMonotonic() || len(requests.GetDataPoints()) < 3 {
		t.Errorf("those of Prometheus: %v", requests)
	}
	for _, name := range []string{"go_goroutines", "process_open_fds", "repomcp_mirrors", "repomcp_connections_open"} {
		if c.metrics[name] == nil {
			t.Errorf("%s is not sent", name)
		}
	}
	if c.metrics["repomcp_mirror_fetched_timestamp_seconds"] != nil || strings.Contains(c.raw.String(), "made/up") {
		t.Error("what has no bound is in the metrics")
	}
}

// Nothing that lets a reader of traces act as a client, or tells of this machine's
// folders, is sent.
func TestSecretsAreNotTraced(t *testing.T) {
	root, _ := helloRoot(t)
	c := newCollector(t)
	p, _ := launchBy(t, c.settings(), root)
	secrets := map[string]string{root: "the folder"}
	canary := func(what string) string {
		text := fmt.Sprintf("canary%dx", len(secrets))
		secrets[text] = what
		return text
	}
	get := func(path string, header http.Header) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = header
		response, err := p.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // only that it was asked for counts
	}
	for _, path := range []string{"/raw/group/hello/main/README.md", "/archive/group/hello/main.tar", "/dl/x", "/none", "/repositories"} {
		for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "If-Range", "Mcp-Session-Id", "Referer", "Baggage"} {
			get(path, http.Header{name: {"Bearer " + canary(name+" of "+path)}})
		}
		for _, form := range []string{"?token=%s", "?X-Amz-Signature=%s&prefix=x/", "?%s", "?access_token=%[1]s&prefix=b/&code=%[1]s"} {
			get(path+fmt.Sprintf(form, canary(form+" of "+path)), nil)
		}
	}
	for _, form := range []string{"/dl/%s", "//dl/%s", "/dl/%s/", "/DL/%s", "/prefix/dl/%s"} {
		get(fmt.Sprintf(form, canary("a link as "+form)), nil)
	}
	_, answered := p.post(t, nil, inMeta("begin", "initialize", initializeParams, ""))
	session := answered.Get("Mcp-Session-Id")
	secrets[session] = "a session"
	headers := http.Header{"Mcp-Session-Id": {session}, "Authorization": {"Bearer " + canary("Authorization of a message")}}
	p.post(t, headers, inMeta("read", "resources/read", `"uri":"repo://group/hello/contents/README.md?ref=main",`,
		`"baggage":"k=`+canary("baggage")+`","token":"`+canary("_meta")+`"`))
	for _, uri := range []string{"repo://group/hello/contents/README.md?token=%s", "https://user:%s@none/x", "%s", "repo://x:%s@none/refs"} {
		p.post(t, headers, inMeta("wrong", "resources/read", fmt.Sprintf(`"uri":"`+uri+`",`, canary(uri)), ""))
	}
	p.post(t, headers, inMeta("tool", "tools/call", `"name":"search_code","arguments":{"query":"`+canary("an argument")+`"},`, ""))
	p.post(t, headers, inMeta("unknown", canary("a method"), "", ""))
	p.post(t, headers, inMeta("prompt", "prompts/get", `"name":"`+canary("a prompt")+`",`, ""))
	p.stop(t)
	sent := c.raw.String()
	for secret, what := range secrets {
		if strings.Contains(sent, secret) {
			t.Errorf("a trace has %s: %s", what, secret)
		}
	}
	if len(secrets) < 70 || len(c.spans) < 70 {
		t.Errorf("%d secrets, %d spans", len(secrets), len(c.spans))
	}
}

// A collector that is not there, or does not answer, is nobody's trouble but the
// log's, once.
func TestCollectorsThatFail(t *testing.T) {
	root, _ := helloRoot(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }() // nobody is connected
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	defer refusing.Close()
	for name, address := range map[string]string{
		"silent": silent.Addr().String(), "gone": gone, "refusing": strings.TrimPrefix(refusing.URL, "http://"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, said := launchBy(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+address+" OTEL_EXPORTER_OTLP_TIMEOUT=300 "+
				"OTEL_BSP_SCHEDULE_DELAY=20 OTEL_BSP_MAX_QUEUE_SIZE=8 OTEL_BSP_MAX_EXPORT_BATCH_SIZE=8 OTEL_METRIC_EXPORT_INTERVAL=50 ", root)
			slowest := time.Duration(0)
			for range 300 {
				start := time.Now()
				if status, _ := p.get(t, p.url+"/raw/group/hello/main/README.md"); status != http.StatusOK {
					t.Fatal(status)
				}
				slowest = max(slowest, time.Since(start))
			}
			if slowest > 2*time.Second {
				t.Errorf("a download took %v", slowest)
			}
			start := time.Now()
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := <-p.done; err != nil {
				t.Errorf("the server ended with %v", err)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v to end", took)
			}
			if n := strings.Count(said.String(), "telemetry has trouble"); n != 1 {
				t.Errorf("it was logged %d times:\n%s", n, said)
			}
		})
	}
}
