package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/repomcp/repomcp/internal/mcp"
)

// maxTraceContext bounds a trace context: a traceparent has 55 bytes, and at most 512 bytes of a
// tracestate must be propagated (W3C Trace Context). A longer one is invalid.
const maxTraceContext = 512

// parent returns the parent context of a span: that of the message, linked with the request that
// carried it, or else that of the request. An invalid context counts as absent.
func parent(own, ambient mcp.TraceContext) (ctx context.Context, links []trace.Link) {
	message, carrier := remote(own), remote(ambient)
	switch {
	case !message.IsValid():
		message = carrier
	case carrier.IsValid() && !carrier.Equal(message):
		links = []trace.Link{{SpanContext: carrier}}
	}
	return trace.ContextWithRemoteSpanContext(context.Background(), message), links
}

// remote parses a trace context; an invalid one is empty.
func remote(c mcp.TraceContext) trace.SpanContext {
	if c.Parent == "" || len(c.Parent) > maxTraceContext {
		return trace.SpanContext{}
	}
	carrier := propagation.MapCarrier{"traceparent": c.Parent}
	if len(c.State) <= maxTraceContext {
		carrier["tracestate"] = c.State
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}
