package telemetry

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func TestNothingIsSentUnlessItIsAskedFor(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"
	damaged := filepath.Join(t.TempDir(), "damaged.pem")
	if err := os.WriteFile(damaged, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		variables       string // name=value, with blanks between
		traces, metrics bool
		warns           string
	}{
		{"", false, false, ""},
		{"OTEL_SERVICE_NAME=x OTEL_TRACES_SAMPLER=always_on", false, false, ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=", false, false, ""},
		{endpoint, true, true, ""},
		{endpoint + " OTEL_SDK_DISABLED=true", false, false, ""},
		{endpoint + " OTEL_SDK_DISABLED=false", true, true, ""},
		{endpoint + " OTEL_TRACES_EXPORTER=none", false, true, ""},
		{endpoint + " OTEL_METRICS_EXPORTER=none", true, false, ""},
		{endpoint + " OTEL_METRICS_EXPORTER=prometheus", true, false, ""},
		{endpoint + " OTEL_TRACES_EXPORTER=console", false, true, "no such exporter"},
		{"OTEL_TRACES_EXPORTER=otlp", true, false, ""},
		{"OTEL_METRICS_EXPORTER=prometheus,otlp", false, true, ""},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://localhost/x", true, false, ""},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=https://localhost/x", false, true, ""},
		{endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc", false, false, "only http/protobuf is spoken"},
		{endpoint + " OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json", false, true, "only http/protobuf is spoken"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318", false, false, "is no address"},
		{endpoint + " OTEL_EXPORTER_OTLP_TIMEOUT=10s", false, false, "milliseconds"},
		{endpoint + " OTEL_EXPORTER_OTLP_METRICS_TIMEOUT=0", true, false, "milliseconds"},
		{endpoint + " OTEL_EXPORTER_OTLP_COMPRESSION=zstd", false, false, "neither gzip nor none"},
		{endpoint + " OTEL_EXPORTER_OTLP_HEADERS=key=canary%zz", false, false, "percent-encoded"},
		{endpoint + " OTEL_EXPORTER_OTLP_CERTIFICATE=/none/canary.pem", false, false, "OTEL_EXPORTER_OTLP_CERTIFICATE"},
		{endpoint + " OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE=" + damaged, false, true, "has no certificate"},
		{endpoint + " OTEL_EXPORTER_OTLP_CLIENT_KEY=/none/key", false, false, "_CLIENT_KEY"},
	} {
		variables := make(map[string]string)
		for pair := range strings.FieldsSeq(c.variables) {
			name, value, _ := strings.Cut(pair, "=")
			variables[name] = value
		}
		var logged bytes.Buffer
		s := Read(func(name string) (string, bool) {
			value, ok := variables[name]
			return value, ok
		}, slog.New(slog.NewTextHandler(&logged, nil)))
		traces, metrics := s != nil && s.traces != nil, s.Metrics()
		if traces != c.traces || metrics != c.metrics || (s == nil) != (!traces && !metrics) {
			t.Errorf("%s: traces %v, metrics %v", c.variables, traces, metrics)
		}
		if c.warns == "" && logged.Len() > 0 || !strings.Contains(logged.String(), c.warns) ||
			strings.Contains(logged.String(), "canary%") {
			t.Errorf("%s: %s", c.variables, &logged)
		}
	}
}

func TestTemporalityIsChosen(t *testing.T) {
	t.Parallel()
	for preference, want := range map[string]metricdata.Temporality{
		"": metricdata.CumulativeTemporality, "cumulative": metricdata.CumulativeTemporality,
		"Delta": metricdata.DeltaTemporality, "lowmemory": metricdata.DeltaTemporality,
		"other": metricdata.CumulativeTemporality,
	} {
		s := Read(func(name string) (string, bool) {
			switch name {
			case "OTEL_METRICS_EXPORTER":
				return "otlp", true
			case "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE":
				return preference, true
			}
			return "", false
		}, slog.New(slog.DiscardHandler))
		if got := (metricExporter{temporality: s.temporality}).Temporality(
			metric.InstrumentKindHistogram); got != want {
			t.Errorf("%q: %v, want %v", preference, got, want)
		}
	}
}
