package telemetry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
)

const (
	// defaultEndpoint and defaultTimeout are those of the specification.
	defaultEndpoint = "http://localhost:4318"
	defaultTimeout  = 10 * time.Second

	protocol = "http/protobuf"
)

// Settings are what the environment asks for. Nil asks for nothing.
type Settings struct {
	traces, metrics *destination // nil: not asked for
	temporality     metric.TemporalitySelector
}

// destination is where a signal is sent, and how.
type destination struct {
	url     string
	headers map[string]string
	timeout time.Duration // of a batch, with all attempts
	gzip    bool
	tls     *tls.Config // nil: that of the system
}

// Metrics reports whether metrics are sent.
func (s *Settings) Metrics() bool { return s != nil && s.metrics != nil }

// Read reads the variables of the specification of OpenTelemetry. What has a value
// that cannot be used is logged, and that signal is not sent: the variables are often
// those of a whole machine. Nil is returned where nothing is to be sent.
func Read(lookup func(name string) (string, bool), logger *slog.Logger) *Settings {
	env := environment(lookup)
	if strings.EqualFold(env.get("OTEL_SDK_DISABLED"), "true") {
		return nil
	}
	s := &Settings{
		traces:  env.signal("TRACES", "/v1/traces", logger),
		metrics: env.signal("METRICS", "/v1/metrics", logger),
	}
	s.temporality = temporalities[strings.ToLower(env.get("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"))]
	if s.temporality == nil {
		s.temporality = metric.CumulativeTemporalitySelector
	}
	if s.traces == nil && s.metrics == nil {
		return nil
	}
	return s
}

var temporalities = map[string]metric.TemporalitySelector{
	"cumulative": metric.CumulativeTemporalitySelector, "delta": metric.DeltaTemporalitySelector,
	"lowmemory": metric.LowMemoryTemporalitySelector,
}

// environment looks variables up.
type environment func(name string) (string, bool)

// get returns a value; an empty one is none.
func (e environment) get(name string) string {
	value, _ := e(name)
	return strings.TrimSpace(value)
}

// option is a variable of the exporter, of which each signal can have its own.
func (e environment) option(signal, name string) string {
	if own := e.get("OTEL_EXPORTER_OTLP_" + signal + "_" + name); own != "" {
		return own
	}
	return e.get("OTEL_EXPORTER_OTLP_" + name)
}

// signal is where a signal goes, or nil.
func (e environment) signal(name, path string, logger *slog.Logger) *destination {
	if !e.wants(name, logger) {
		return nil
	}
	d, err := e.destination(name, path)
	if err != nil {
		logger.Warn("no telemetry of a kind is sent: a variable of the environment cannot be used", "kind",
			strings.ToLower(name), "error", err)
		return nil
	}
	return d
}

// exportersElsewhere need nothing to be sent: there are none, or they ask.
var exportersElsewhere = []string{"", "none", "prometheus"}

// wants reports whether a signal is to be sent by OTLP: it is named, or a collector
// is.
func (e environment) wants(signal string, logger *slog.Logger) bool {
	variable := "OTEL_" + signal + "_EXPORTER"
	exporters := strings.ToLower(e.get(variable))
	if exporters == "" {
		return e.option(signal, "ENDPOINT") != ""
	}
	wanted := false
	for exporter := range strings.SplitSeq(exporters, ",") {
		exporter = strings.TrimSpace(exporter)
		if exporter == "otlp" {
			wanted = true
		} else if !slices.Contains(exportersElsewhere, exporter) {
			logger.Warn("there is no such exporter; use otlp or none", "variable", variable, "exporter", exporter)
		}
	}
	return wanted
}

func (e environment) destination(signal, path string) (*destination, error) {
	if named := e.option(signal, "PROTOCOL"); named != "" && named != protocol {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q: only %s is spoken, to which collectors listen on "+
			"port 4318", named, protocol)
	}
	d := &destination{timeout: defaultTimeout, headers: make(map[string]string)}
	var err error
	if d.url, err = e.endpoint(signal, path); err != nil {
		return nil, err
	}
	if text := e.option(signal, "TIMEOUT"); text != "" {
		milliseconds, err := strconv.Atoi(text)
		if err != nil || milliseconds <= 0 {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT %q is no number of milliseconds", text)
		}
		d.timeout = time.Duration(milliseconds) * time.Millisecond
	}
	switch compression := e.option(signal, "COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		d.gzip = true
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_COMPRESSION %q is neither gzip nor none", compression)
	}
	for pair := range strings.SplitSeq(e.option(signal, "HEADERS"), ",") {
		name, value, _ := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if d.headers[name], err = url.PathUnescape(strings.TrimSpace(value)); err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: the value of %q is not percent-encoded", name)
		}
	}
	d.tls, err = e.tls(signal)
	return d, err
}

// endpoint is the address of a signal: its own, or a path below that of all.
func (e environment) endpoint(signal, path string) (string, error) {
	own := e.get("OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT")
	address := own
	if own == "" {
		base := e.get("OTEL_EXPORTER_OTLP_ENDPOINT")
		if base == "" {
			base = defaultEndpoint
		}
		address = strings.TrimSuffix(base, "/") + path
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("OTEL_EXPORTER_OTLP_ENDPOINT is no address such as http://localhost:4318")
	}
	return address, nil
}

// tls is what is demanded of the collector, and shown to it.
func (e environment) tls(signal string) (*tls.Config, error) {
	authorities := e.option(signal, "CERTIFICATE")
	cert, key := e.option(signal, "CLIENT_CERTIFICATE"), e.option(signal, "CLIENT_KEY")
	if authorities == "" && cert == "" && key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		content, err := os.ReadFile(authorities)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, errors.New("OTEL_EXPORTER_OTLP_CERTIFICATE: the file has no certificate (PEM)")
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
