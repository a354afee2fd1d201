package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/repomcp/repomcp/internal/mcp"
)

// maxTraceContext bounds a trace context: a traceparent has 55 bytes, and of a
// tracestate 512 are to be passed on (W3C Trace Context). What is longer is no part of
// a trace.
const maxTraceContext = 512

// parent is the context of a span: what the message itself says that it is a part of,
// which the request that carried it is linked with, or else the request. What cannot be
// read counts as not said.
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

// remote reads a trace context; one that is not valid is none.
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
