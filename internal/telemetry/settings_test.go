package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
)

func TestNothingIsSentUnlessItIsAskedFor(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"
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
		{endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc", false, false, "only http/protobuf is sent"},
		{endpoint + " OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json", false, true, "only http/protobuf is sent"},
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
		traces, metrics := s != nil && s.traces, s.Metrics()
		if traces != c.traces || metrics != c.metrics || (s == nil) != (!traces && !metrics) {
			t.Errorf("%s: traces %v, metrics %v", c.variables, traces, metrics)
		}
		if c.warns == "" && logged.Len() > 0 || !strings.Contains(logged.String(), c.warns) ||
			strings.Contains(logged.String(), "canary%") {
			t.Errorf("%s: %s", c.variables, &logged)
		}
	}
}

// A key can be in the address.
func TestTheAddressIsNotLogged(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	c := &complaints{logger: slog.New(slog.NewTextHandler(&logged, nil))}
	c.Handle(fmt.Errorf("traces export: %w", &url.Error{
		Op: "Post", URL: "http://127.0.0.1:1/canary?key=canary", Err: errors.New("connection refused"),
	}))
	if !strings.Contains(logged.String(), "connection refused") || strings.Contains(logged.String(), "canary") {
		t.Errorf("logged %s; want the cause and not the address", &logged)
	}
}

func TestFailuresAreLoggedNowAndThen(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	c := &complaints{logger: slog.New(slog.NewTextHandler(&logged, nil))}
	for range 100 {
		c.Handle(errors.New("no"))
	}
	if n := strings.Count(logged.String(), "\n"); n != 1 {
		t.Errorf("%d lines, want 1", n)
	}
	c.last = c.last.Add(-2 * logEvery)
	c.Handle(errors.New("again"))
	if n := strings.Count(logged.String(), "\n"); n != 2 || !strings.Contains(logged.String(), "not_logged=99") {
		t.Errorf("%d lines, want 2, the last with not_logged=99: %s", n, &logged)
	}
}
