package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// spanExporter sends spans. It implements [sdktrace.SpanExporter].
type spanExporter struct{ client *client }

// ExportSpans sends spans of one provider, which have one resource and one scope.
func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	of := &tracepb.ScopeSpans{Scope: scopeOf(spans[0].InstrumentationScope())}
	for _, span := range spans {
		of.Spans = append(of.Spans, spanOf(span))
	}
	var reply collectorpb.ExportTraceServiceResponse
	err := e.client.send(ctx, &collectorpb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: resourceOf(spans[0].Resource()), ScopeSpans: []*tracepb.ScopeSpans{of},
	}}}, &reply)
	if err != nil {
		return fmt.Errorf("%d spans were not sent: %w", len(spans), err)
	}
	if refused := reply.GetPartialSuccess(); refused.GetRejectedSpans() > 0 {
		return fmt.Errorf("the collector refused %d spans: %s", refused.GetRejectedSpans(), refused.GetErrorMessage())
	}
	return nil
}

// Shutdown implements [sdktrace.SpanExporter].
func (e spanExporter) Shutdown(context.Context) error {
	e.client.close()
	return nil
}

// kinds are those that are made here.
var kinds = map[trace.SpanKind]tracepb.Span_SpanKind{
	trace.SpanKindServer: tracepb.Span_SPAN_KIND_SERVER, trace.SpanKindInternal: tracepb.Span_SPAN_KIND_INTERNAL,
}

func spanOf(s sdktrace.ReadOnlySpan) *tracepb.Span {
	own, parent := s.SpanContext(), s.Parent()
	id, of := own.SpanID(), own.TraceID()
	span := &tracepb.Span{
		TraceId: of[:], SpanId: id[:], TraceState: own.TraceState().String(), Flags: flagsOf(own.TraceFlags(), parent),
		Name: s.Name(), Kind: kinds[s.SpanKind()], StartTimeUnixNano: nano(s.StartTime()),
		EndTimeUnixNano: nano(s.EndTime()), Attributes: keyValues(s.Attributes()),
		DroppedAttributesCount: uint32(s.DroppedAttributes()), DroppedEventsCount: uint32(s.DroppedEvents()),
		DroppedLinksCount: uint32(s.DroppedLinks()),
	}
	if parent.SpanID().IsValid() {
		id := parent.SpanID()
		span.ParentSpanId = id[:]
	}
	if s.Status().Code == codes.Error {
		span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: s.Status().Description}
	}
	for _, event := range s.Events() {
		span.Events = append(span.Events, &tracepb.Span_Event{
			TimeUnixNano: nano(event.Time), Name: event.Name, Attributes: keyValues(event.Attributes),
		})
	}
	for _, link := range s.Links() {
		of, id := link.SpanContext.TraceID(), link.SpanContext.SpanID()
		span.Links = append(span.Links, &tracepb.Span_Link{
			TraceId: of[:], SpanId: id[:], TraceState: link.SpanContext.TraceState().String(),
			Flags:      flagsOf(link.SpanContext.TraceFlags(), link.SpanContext),
			Attributes: keyValues(link.Attributes),
		})
	}
	return span
}

// flagsOf are the flags of a trace, with whether the context beside it came from
// another process.
func flagsOf(flags trace.TraceFlags, of trace.SpanContext) uint32 {
	all := uint32(flags) | uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	if of.IsRemote() {
		all |= uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	return all
}
