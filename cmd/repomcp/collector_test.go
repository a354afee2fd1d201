package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collectormetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
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
	request.Header = http.Header{"Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}}
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
