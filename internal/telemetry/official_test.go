package telemetry

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collectormetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// recorder is a collector that keeps requests.
type recorder struct {
	*httptest.Server
	requests []*http.Request
	bodies   [][]byte
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body := io.Reader(request.Body)
		if request.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(request.Body); err != nil {
				t.Error(err)
				return
			}
		}
		content, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		r.requests, r.bodies = append(r.requests, request), append(r.bodies, content)
	}))
	t.Cleanup(r.Close)
	return r
}

// same compares the last two requests, of which the one is ours.
func (r *recorder) same(t *testing.T, empty func() proto.Message) {
	t.Helper()
	if len(r.requests) != 2 {
		t.Fatalf("there were %d requests", len(r.requests))
	}
	theirs, ours := r.requests[0], r.requests[1]
	if ours.Method != theirs.Method || ours.URL.String() != theirs.URL.String() {
		t.Errorf("%s %s, want %s %s", ours.Method, ours.URL, theirs.Method, theirs.URL)
	}
	for name := range theirs.Header {
		if name != "User-Agent" && name != "Content-Length" && ours.Header.Get(name) != theirs.Header.Get(name) {
			t.Errorf("%s: %q, want %q", name, ours.Header.Get(name), theirs.Header.Get(name))
		}
	}
	messages := [2]proto.Message{empty(), empty()}
	for i, body := range r.bodies {
		if err := proto.Unmarshal(body, messages[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !proto.Equal(messages[0], messages[1]) {
		t.Errorf("what is sent differs:\n%v\nwant\n%v", messages[1], messages[0])
	}
	r.requests, r.bodies = nil, nil
}

// theEnvironments are all ways to say where to send things.
var theEnvironments = []map[string]string{
	{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL"},
	{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL/"},
	{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL/below/here", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
	{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "URL/t",
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "URL/m/"},
	{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_EXPORTER_OTLP_HEADERS": "x-one=1,x-two = a%20b%2C, x-three=c=d"},
	{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
		"OTEL_EXPORTER_OTLP_TIMEOUT": "5000"},
	{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_EXPORTER_OTLP_HEADERS": "x=1",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x=2", "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION": "gzip"},
}

// The SDK's own exporters send the same to the same place.
func TestTheSameIsSentAsByTheExportersOfTheSDK(t *testing.T) {
	r := newRecorder(t)
	compared := 0
	for _, variables := range theEnvironments {
		for name, value := range variables {
			t.Setenv(name, strings.Replace(value, "URL", r.URL, 1))
		}
		settings := Read(os.LookupEnv, slog.New(slog.DiscardHandler))
		if settings == nil || settings.traces == nil || settings.metrics == nil {
			t.Fatalf("%v: nothing is sent", variables)
		}
		ctx := t.Context()
		officialSpans, err := otlptracehttp.New(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, exporter := range []sdktrace.SpanExporter{officialSpans, spanExporter{testClient(t, settings.traces)}} {
			if err := exporter.ExportSpans(ctx, theSpans().Snapshots()); err != nil {
				t.Error(err)
			}
			if err := exporter.Shutdown(ctx); err != nil {
				t.Error(err)
			}
		}
		r.same(t, func() proto.Message { return &collectortracepb.ExportTraceServiceRequest{} })
		officialMetrics, err := otlpmetrichttp.New(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := officialMetrics.Export(ctx, theMetrics()); err != nil {
			t.Error(err)
		}
		if err := (metricExporter{testClient(t, settings.metrics), settings.temporality}).Export(ctx,
			theMetrics()); err != nil {
			t.Error(err)
		}
		r.same(t, func() proto.Message { return &collectormetricspb.ExportMetricsServiceRequest{} })
		for name := range variables {
			t.Setenv(name, "")
		}
		compared++
	}
	if compared < 7 {
		t.Errorf("%d settings were compared", compared)
	}
}

func testClient(t *testing.T, to *destination) *client {
	t.Helper()
	leaving, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	return newClient(to, "test", leaving, leaving)
}

var (
	theTime     = time.Unix(1_700_000_000, 123)
	theResource = resource.NewSchemaless(attribute.String("service.name", "x"), attribute.Int("n", -1))
	theScope    = instrumentation.Scope{Name: "scope", Version: "1"}
)

func theSpans() tracetest.SpanStubs {
	state, err := trace.ParseTraceState("a=1,b=2")
	if err != nil {
		panic(err)
	}
	context := func(id byte, remote bool, flags trace.TraceFlags) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1, id}, SpanID: trace.SpanID{2, id}, TraceFlags: flags, TraceState: state,
			Remote: remote,
		})
	}
	stub := func(s tracetest.SpanStub) tracetest.SpanStub {
		s.Resource, s.InstrumentationScope = theResource, theScope
		return s
	}
	return tracetest.SpanStubs{
		stub(tracetest.SpanStub{
			Name: "root", SpanContext: context(1, false, trace.FlagsSampled), SpanKind: trace.SpanKindServer,
			StartTime: theTime, EndTime: theTime.Add(time.Second),
			Attributes: []attribute.KeyValue{
				attribute.String("text", "é\n"), attribute.Int64("number", 1<<60), attribute.Bool("yes", true),
				attribute.Float64("part", .5),
			},
			Events: []sdktrace.Event{{Name: "first byte", Time: theTime},
				{Name: "other", Time: theTime, Attributes: []attribute.KeyValue{attribute.Int("k", 1)}}},
			Links: []sdktrace.Link{{SpanContext: context(9, true, trace.FlagsSampled)},
				{SpanContext: context(8, false, 0)}},
			Status:       sdktrace.Status{Code: codes.Error, Description: "why"},
			DroppedLinks: 1, DroppedEvents: 2, DroppedAttributes: 3,
		}),
		stub(tracetest.SpanStub{
			Name: "remote", SpanContext: context(2, false, trace.FlagsSampled),
			Parent:   context(3, true, trace.FlagsSampled),
			SpanKind: trace.SpanKindServer, StartTime: theTime, EndTime: theTime,
		}),
		stub(tracetest.SpanStub{
			Name: "part", SpanContext: context(4, false, trace.FlagsSampled),
			Parent:   context(1, false, trace.FlagsSampled),
			SpanKind: trace.SpanKindInternal, StartTime: theTime, EndTime: theTime,
		}),
	}
}

func theMetrics() *metricdata.ResourceMetrics {
	set := attribute.NewSet(attribute.String("k", "v"), attribute.Bool("b", false))
	numbers := []metricdata.DataPoint[float64]{
		{Attributes: set, StartTime: theTime, Time: theTime.Add(time.Second), Value: 1.5}, {Time: theTime, Value: -1},
	}
	histogram := func(t metricdata.Temporality) metricdata.Histogram[float64] {
		return metricdata.Histogram[float64]{Temporality: t, DataPoints: []metricdata.HistogramDataPoint[float64]{
			{Attributes: set, StartTime: theTime, Time: theTime, Count: 3, Sum: 4.5, Bounds: []float64{1, 2},
				BucketCounts: []uint64{1, 1, 1},
				Min:          metricdata.NewExtrema(.5), Max: metricdata.NewExtrema(3.)},
			{Time: theTime},
		}}
	}
	return &metricdata.ResourceMetrics{Resource: theResource, ScopeMetrics: []metricdata.ScopeMetrics{{
		Scope: theScope, Metrics: []metricdata.Metrics{
			{Name: "gauge", Description: "d", Unit: "By", Data: metricdata.Gauge[float64]{DataPoints: numbers}},
			{Name: "sum", Data: metricdata.Sum[float64]{DataPoints: numbers, IsMonotonic: true,
				Temporality: metricdata.CumulativeTemporality}},
			{Name: "delta", Data: metricdata.Sum[float64]{DataPoints: numbers,
				Temporality: metricdata.DeltaTemporality}},
			{Name: "histogram", Unit: "s", Data: histogram(metricdata.CumulativeTemporality)},
			{Name: "delta histogram", Data: histogram(metricdata.DeltaTemporality)},
			{Name: "summary", Data: metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{
				Attributes: set, StartTime: theTime, Time: theTime, Count: 2, Sum: 3,
				QuantileValues: []metricdata.QuantileValue{{Quantile: .5, Value: 1}, {Quantile: 1, Value: 2}},
			}}}},
		},
	}, {Scope: instrumentation.Scope{Name: "empty"}}}}
}
