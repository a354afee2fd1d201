package telemetry

import (
	"log/slog"
	"slices"
	"strings"
)

// protocol is the only supported form of OTLP.
const protocol = "http/protobuf"

// Settings are the requested signals; nil requests none. The exporters read the variables of the
// specification that define where and how to send.
type Settings struct{ traces, metrics bool }

// Metrics reports whether metrics are sent.
func (s *Settings) Metrics() bool { return s != nil && s.metrics }

// Read reads the requested signals from the variables of the OpenTelemetry specification. An
// unusable value is logged and disables its signal, because the variables are often those of a
// whole machine. Read returns nil if nothing is to be sent.
func Read(lookup func(name string) (string, bool), logger *slog.Logger) *Settings {
	env := environment{lookup, logger}
	if strings.EqualFold(env.get("OTEL_SDK_DISABLED"), "true") {
		return nil
	}
	s := &Settings{traces: env.wants("TRACES"), metrics: env.wants("METRICS")}
	if !s.traces && !s.metrics {
		return nil
	}
	return s
}

type environment struct {
	lookup func(name string) (string, bool)
	logger *slog.Logger
}

// get returns a value; "" means unset.
func (e environment) get(name string) string {
	value, _ := e.lookup(name)
	return strings.TrimSpace(value)
}

// option returns a variable of the exporter. Each signal can override the common one.
func (e environment) option(signal, name string) string {
	if own := e.get("OTEL_EXPORTER_OTLP_" + signal + "_" + name); own != "" {
		return own
	}
	return e.get("OTEL_EXPORTER_OTLP_" + name)
}

// exportersElsewhere do not use OTLP: none, or metrics that are scraped.
var exportersElsewhere = []string{"", "none", "prometheus"}

// wants reports whether a signal is sent by OTLP: its exporter or a collector is configured.
func (e environment) wants(signal string) bool {
	variable := "OTEL_" + signal + "_EXPORTER"
	wanted := e.get(variable) == "" && e.option(signal, "ENDPOINT") != ""
	for exporter := range strings.SplitSeq(strings.ToLower(e.get(variable)), ",") {
		exporter = strings.TrimSpace(exporter)
		if exporter == "otlp" {
			wanted = true
		} else if !slices.Contains(exportersElsewhere, exporter) {
			e.logger.Warn("there is no such exporter; use otlp or none", "variable", variable, "exporter", exporter)
		}
	}
	if named := e.option(signal, "PROTOCOL"); wanted && named != "" && named != protocol {
		e.logger.Warn("OTEL_EXPORTER_OTLP_PROTOCOL: only "+protocol+" is sent, to which collectors listen on port 4318",
			"protocol", named, "signal", strings.ToLower(signal))
		return false
	}
	return wanted
}
