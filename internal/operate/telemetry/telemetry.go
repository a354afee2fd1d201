package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const (
	serviceName = "repomcp"
	// scope names the source of spans and metrics.
	scope = "github.com/repomcp/repomcp"
	// flushTimeout bounds how long the exit of the process waits for a collector.
	flushTimeout = 5 * time.Second
	// logEvery limits the log of failures.
	logEvery = time.Minute
)

// operationBuckets are the buckets of the semantic conventions for MCP, in seconds.
var operationBuckets = []float64{.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300}

// Options of a [Telemetry]. Settings and Logger are required.
type Options struct {
	Settings *Settings
	Version  string // of the program
	// Gatherer has further metrics to send; nil: none.
	Gatherer prometheus.Gatherer
	Logger   *slog.Logger
}

// Telemetry sends spans and metrics until it is closed. It implements [httpx.Observer].
type Telemetry struct {
	tracer     trace.Tracer
	operations metric.Float64Histogram
	sessions   metric.Float64Histogram
	shutdowns  []func(context.Context) error
}

// Start begins sending. The SDK reads the variables of its exporters, samplers, limits and
// intervals from the environment of the process. Start sets the SDK's error handler, which is
// global to the process.
func Start(options Options) (*Telemetry, error) {
	ctx := context.Background()
	otel.SetErrorHandler(&complaints{logger: options.Logger})
	otel.SetLogger(logr.FromSlogHandler(options.Logger.Handler()))
	about, err := resource.New(ctx, resource.WithService(), resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", serviceName), attribute.String("service.version", options.Version),
	), resource.WithFromEnv())
	if err != nil {
		options.Logger.Warn("what the environment says of the service is not all sent", "error", err)
	}
	t := &Telemetry{tracer: noop.NewTracerProvider().Tracer(scope)}
	if options.Settings.traces {
		exporter, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("sending traces: %w", err)
		}
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
		t.tracer = provider.Tracer(scope, trace.WithInstrumentationVersion(options.Version))
		t.shutdowns = append(t.shutdowns, provider.Shutdown)
	}
	reader := []sdkmetric.Option{sdkmetric.WithResource(about)}
	if options.Settings.metrics {
		exporter, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("sending metrics: %w", err)
		}
		var more []sdkmetric.PeriodicReaderOption
		if options.Gatherer != nil {
			more = append(more, sdkmetric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(options.Gatherer))))
		}
		reader = append(reader, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, more...)))
	}
	provider := sdkmetric.NewMeterProvider(reader...) // a provider without a reader stores nothing
	t.shutdowns = append(t.shutdowns, provider.Shutdown)
	return t, t.instruments(provider.Meter(scope, metric.WithInstrumentationVersion(options.Version)))
}

// instruments creates the instruments of the semantic conventions for MCP.
func (t *Telemetry) instruments(meter metric.Meter) error {
	histogram := func(name, about string) (metric.Float64Histogram, error) {
		return meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about),
			metric.WithExplicitBucketBoundaries(operationBuckets...))
	}
	var operations, sessions error
	t.operations, operations = histogram("mcp.server.operation.duration",
		"How long messages of MCP took, from when they were received until the last byte of the answer was sent.")
	t.sessions, sessions = histogram("mcp.server.session.duration",
		"How long connections over WebSocket and stdio lasted.")
	return errors.Join(operations, sessions)
}

// Close sends the remaining data, within flushTimeout, and ends the background work.
func (t *Telemetry) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	var running sync.WaitGroup
	for _, shutdown := range t.shutdowns {
		running.Go(func() {
			if err := shutdown(ctx); err != nil {
				otel.Handle(err)
			}
		})
	}
	running.Wait()
}

// complaints logs failures, at most once in logEvery.
type complaints struct {
	logger *slog.Logger

	mu   sync.Mutex
	last time.Time
	more int
}

// Handle implements [otel.ErrorHandler].
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err // the address may contain a key
	}
	now := time.Now()
	if !c.last.IsZero() && now.Sub(c.last) < logEvery {
		c.more++
		return
	}
	c.logger.Warn("telemetry has trouble; what is served does not", "error", err, "not_logged", c.more)
	c.last, c.more = now, 0
}
