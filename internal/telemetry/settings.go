package telemetry

import (
	"log/slog"
	"slices"
	"strings"
)

// protocol is the one form of OTLP that is sent.
const protocol = "http/protobuf"

// Settings are the signals that the environment asks for. Nil asks for none. Where and
// how they are sent is read by the exporters, from the variables of the specification.
type Settings struct{ traces, metrics bool }

// Metrics reports whether metrics are sent.
func (s *Settings) Metrics() bool { return s != nil && s.metrics }

// Read reads which signals the environment asks for, by the variables of the
// specification of OpenTelemetry. A value that cannot be used is logged, and that signal
// is not sent: the variables are often those of a whole machine. It returns nil where
// nothing is to be sent.
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

// environment looks variables up.
type environment struct {
	lookup func(name string) (string, bool)
	logger *slog.Logger
}

// get returns a value; an empty one is the same as none.
func (e environment) get(name string) string {
	value, _ := e.lookup(name)
	return strings.TrimSpace(value)
}

// option is a variable of the exporter, of which each signal can have its own.
func (e environment) option(signal, name string) string {
	if own := e.get("OTEL_EXPORTER_OTLP_" + signal + "_" + name); own != "" {
		return own
	}
	return e.get("OTEL_EXPORTER_OTLP_" + name)
}

// exportersElsewhere send nothing by OTLP: nothing at all, or metrics that are scraped.
var exportersElsewhere = []string{"", "none", "prometheus"}

// wants reports whether a signal is sent by OTLP: it is named, or a collector is.
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
