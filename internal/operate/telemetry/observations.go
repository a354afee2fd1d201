package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

// unknown replaces values of a client's choice, as in the semantic conventions.
const unknown = "_OTHER"

// RequestBegan implements [httpx.Observer].
func (t *Telemetry) RequestBegan() {}

// StreamBegan implements [httpx.Observer].
func (t *Telemetry) StreamBegan() {}

// StreamEnded implements [httpx.Observer].
func (t *Telemetry) StreamEnded(bool) {}

// networks maps transports to attributes.
var networks = map[string]struct{ transport, protocol, version string }{
	"http": {"tcp", "http", "1.1"}, "websocket": {"tcp", "websocket", ""}, "stdio": {"pipe", "", ""},
}

// network describes a transport and its carrier. A client without an address uses a Unix socket.
func network(transport string, from mcp.Origin) []attribute.KeyValue {
	n := networks[transport]
	if n.transport == "tcp" && clientOf(from) == "" {
		n.transport = "unix"
	}
	return present(
		attribute.String("network.transport", n.transport), attribute.String("network.protocol.name", n.protocol),
		attribute.String("network.protocol.version", n.version),
	)
}

// clientOf returns the address of a client; that of a Unix socket has no name.
func clientOf(from mcp.Origin) string { return strings.TrimPrefix(from.Client, "@") }

// present removes empty attributes.
func present(list ...attribute.KeyValue) []attribute.KeyValue {
	return slices.DeleteFunc(list, func(a attribute.KeyValue) bool {
		return a.Value.Type() == attribute.STRING && a.Value.AsString() == ""
	})
}

// Session implements [mcp.Observer].
func (t *Telemetry) Session(s mcp.Session) {
	attributes := append(network(s.Transport, s.Origin), attribute.String("mcp.protocol.version", s.Version))
	t.sessions.Record(context.Background(), s.Took.Seconds(), metric.WithAttributes(attributes...))
}

// Message implements [mcp.Observer].
func (t *Telemetry) Message(m mcp.Exchange) {
	if m.Method == "" {
		return // a response to the server
	}
	attributes := operation(m)
	t.operations.Record(context.Background(), m.Took.Seconds(), metric.WithAttributes(attributes...))
	method, target := methodName(m.Method), m.Tool
	if target == "" {
		target = promptOf(m)
	}
	d := m.Details
	t.span(spanned{
		name: strings.TrimSpace(method + " " + target), took: m.Took, own: d.Request.Params.TraceContext(),
		origin: d.Origin, account: d.Account, bytes: m.Bytes, failure: failureOf(m),
	}, func() []attribute.KeyValue { return append(attributes, details(d)...) })
}

// methodName returns a known method.
func methodName(method string) string {
	if mcp.IsMethod(method) {
		return method
	}
	return unknown
}

// promptOf returns the requested prompt, if it exists.
func promptOf(m mcp.Exchange) string {
	if m.Outcome != "done" {
		return ""
	}
	return m.Details.Request.Prompt()
}

// operation returns the attributes of a message in metrics and in its span: each has few values.
func operation(m mcp.Exchange) []attribute.KeyValue {
	operation, version, code := "", m.Details.Request.Protocol(), ""
	if m.Tool != "" {
		operation = "execute_tool"
	}
	if !slices.Contains(mcp.Versions(), version) {
		version = ""
	}
	if number := m.Details.Account.Summary().Code; number != 0 {
		code = strconv.Itoa(number)
	}
	return append(present(
		attribute.String("mcp.method.name", methodName(m.Method)), attribute.String("gen_ai.tool.name", m.Tool),
		attribute.String("gen_ai.operation.name", operation), attribute.String("gen_ai.prompt.name", promptOf(m)),
		attribute.String("error.type", failureOf(m)), attribute.String("rpc.response.status_code", code),
		attribute.String("mcp.protocol.version", version),
	), network(m.Transport, m.Details.Origin)...)
}

// failureOf returns the class of the failure, or "".
func failureOf(m mcp.Exchange) string {
	switch code := m.Details.Account.Summary().Code; {
	case m.Outcome == "done":
		return ""
	case m.Outcome != "error":
		return m.Outcome // aborted, panicked
	case code != 0:
		return strconv.Itoa(code)
	case m.Tool != "":
		return "tool_error"
	case m.Details.Status != 0:
		return strconv.Itoa(m.Details.Status)
	default:
		return unknown
	}
}

// details returns the attributes of a message that only its span has.
func details(d mcp.Details) []attribute.KeyValue {
	uri := ""
	if d.Account.Summary().Repository != "" {
		// A URI that is no resource may contain anything.
		uri, _, _ = strings.Cut(d.Request.Params.URI, "?")
	}
	return present(
		attribute.String("jsonrpc.request.id", requestID(d.Request.ID)),
		attribute.String("mcp.resource.uri", resources.ClipLong(resources.Text(uri))),
		attribute.String("mcp.session.id", sessionID(d.Request.Session)),
	)
}

// requestID returns an id as a string.
func requestID(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return resources.Clip(text)
}

// sessionID returns a digest that distinguishes sessions: the id itself would grant access to the
// session.
func sessionID(id string) string {
	if id == "" {
		return ""
	}
	const bytes = 16
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:bytes])
}

// Request implements [httpx.Observer]. It skips messages, which have spans of their own unless they
// were refused unread, and frequent health checks.
func (t *Telemetry) Request(r httpx.Request) {
	d := r.Details
	if d.Probes() || d.CarriesMessages() && (d.Told || r.Status < http.StatusBadRequest) {
		return
	}
	method, failure := r.Method, ""
	if !slices.Contains(httpMethods, method) {
		method = unknown
	}
	switch {
	case r.Outcome == "aborted":
		failure = r.Outcome
	case r.Status >= http.StatusInternalServerError:
		failure = strconv.Itoa(r.Status)
	}
	t.span(spanned{
		name: strings.TrimSpace(strings.Replace(method, unknown, "HTTP", 1) + " " + d.Pattern), took: r.Took,
		origin: d.Origin, account: d.Account, bytes: r.Bytes, failure: failure,
	}, func() []attribute.KeyValue {
		scheme := "http"
		if d.HTTP.TLS != nil {
			scheme = "https"
		}
		return append(present(
			attribute.String("http.request.method", method), attribute.String("http.route", d.Pattern),
			attribute.String("url.path", d.Path()), attribute.String("url.query", d.Query()),
			attribute.String("url.scheme", scheme), attribute.Int("http.response.status_code", r.Status),
			attribute.String("server.address", d.Host()), attribute.String("error.type", failure),
		), network("http", d.Origin)...)
	})
}

// httpMethods are the methods of routes.
var httpMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, http.MethodOptions}

// spanned is the input of a span.
type spanned struct {
	name    string
	took    time.Duration // ending now
	own     mcp.TraceContext
	origin  mcp.Origin
	account *resources.Account
	bytes   int64
	failure string
}

// span records a span that ends now, with its stages. attributes is called only if the span is
// sampled.
func (t *Telemetry) span(s spanned, attributes func() []attribute.KeyValue) {
	end := time.Now()
	ctx, links := parent(s.own, s.origin.Trace)
	ctx, span := t.tracer.Start(ctx, s.name, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithTimestamp(end.Add(-s.took)), trace.WithLinks(links...))
	defer span.End(trace.WithTimestamp(end))
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attributes()...)
	summary := s.account.Summary()
	span.SetAttributes(present(
		attribute.String("client.address", clientOf(s.origin)), attribute.String("enduser.id", s.origin.Principal),
		attribute.String("repomcp.request_id", s.origin.RequestID),
		attribute.String("repomcp.repository", resources.Clip(summary.Repository)),
		attribute.String("repomcp.commit", summary.Commit), attribute.Int64("repomcp.bytes", s.bytes),
	)...)
	if s.failure != "" {
		span.SetStatus(codes.Error, "")
	}
	for _, stage := range s.account.Stages() {
		if stage.End.IsZero() {
			span.AddEvent(stage.Name, trace.WithTimestamp(stage.Begin))
			continue
		}
		_, part := t.tracer.Start(ctx, stage.Name, trace.WithTimestamp(stage.Begin))
		part.End(trace.WithTimestamp(stage.End))
	}
}
