package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// spanExporter sends spans. It implements [sdktrace.SpanExporter].
type spanExporter struct{ client *client }

// ExportSpans sends spans of one provider, which have one resource and one scope.
func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	var request, ofResource, ofScope message
	ofScope.part(1, scopeOf(spans[0].InstrumentationScope()))
	for _, span := range spans {
		ofScope.part(2, spanOf(span))
	}
	ofResource.part(1, resourceOf(spans[0].Resource()))
	ofResource.part(2, ofScope)
	request.part(1, ofResource)
	if err := e.client.send(ctx, request); err != nil {
		return fmt.Errorf("%d spans were not sent: %w", len(spans), err)
	}
	return nil
}

// Shutdown implements [sdktrace.SpanExporter].
func (e spanExporter) Shutdown(context.Context) error {
	e.client.close()
	return nil
}

// kinds are the numbers of those that are made here.
var kinds = map[trace.SpanKind]uint64{trace.SpanKindInternal: 1, trace.SpanKindServer: 2}

// spanOf writes a Span.
func spanOf(s sdktrace.ReadOnlySpan) (m message) {
	id, of, parent := s.SpanContext().SpanID(), s.SpanContext().TraceID(), s.Parent()
	m.bytes(1, of[:])
	m.bytes(2, id[:])
	m.text(3, s.SpanContext().TraceState().String())
	if above := parent.SpanID(); above.IsValid() {
		m.bytes(4, above[:])
	}
	m.text(5, s.Name())
	m.number(6, kinds[s.SpanKind()])
	m.time(7, s.StartTime())
	m.time(8, s.EndTime())
	m.attributes(9, s.Attributes())
	m.number(10, uint64(s.DroppedAttributes()))
	for _, event := range s.Events() {
		m.part(11, eventOf(event))
	}
	m.number(12, uint64(s.DroppedEvents()))
	for _, link := range s.Links() {
		m.part(13, linkOf(link))
	}
	m.number(14, uint64(s.DroppedLinks()))
	m.part(15, statusOf(s.Status()))
	m.fixed32(16, flagsOf(s.SpanContext().TraceFlags(), parent))
	return m
}

func eventOf(e sdktrace.Event) (m message) {
	m.time(1, e.Time)
	m.text(2, e.Name)
	m.attributes(3, e.Attributes)
	return m
}

func linkOf(l sdktrace.Link) (m message) {
	of, id := l.SpanContext.TraceID(), l.SpanContext.SpanID()
	m.bytes(1, of[:])
	m.bytes(2, id[:])
	m.attributes(4, l.Attributes)
	m.fixed32(6, flagsOf(l.SpanContext.TraceFlags(), l.SpanContext))
	return m
}

// statusOf writes a Status. That something is well is never said.
func statusOf(s sdktrace.Status) (m message) {
	const failed = 2
	m.text(2, s.Description)
	if s.Code == codes.Error {
		m.number(3, failed)
	}
	return m
}

// flagsOf are the flags of a trace, with whether a context came from another process.
func flagsOf(flags trace.TraceFlags, of trace.SpanContext) uint32 {
	const known, remote = 0x100, 0x200
	all := uint32(flags) | known
	if of.IsRemote() {
		all |= remote
	}
	return all
}
