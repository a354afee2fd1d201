package metrics

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/mcp"
)

// other is the label of unknown values.
const other = "other"

// durations are the buckets of request durations in seconds: from an answer out of memory to a
// download over a slow line.
var durations = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}

// httpMethods have a label of their own.
var httpMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, http.MethodOptions}

// label returns the value if it is known.
func label(value string, known bool) string {
	if known {
		return value
	}
	return other
}

// requests counts what is served; it implements [httpx.Observer].
type requests struct {
	total    *prometheus.CounterVec   // by route, method, outcome, status
	seconds  *prometheus.HistogramVec // by route
	bytes    *prometheus.CounterVec   // by route
	inFlight prometheus.Gauge

	messages       *prometheus.CounterVec   // by transport, rpc, tool, outcome
	messageSeconds *prometheus.HistogramVec // by rpc, tool

	streams         prometheus.Counter
	streamsInFlight prometheus.Gauge
	streamsAborted  prometheus.Counter
}

func newRequests() requests {
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	histograms := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: durations}, labels)
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	}
	return requests{
		total: counters("http_requests_total",
			"HTTP requests that ended. The outcome is that of the log, the status a class such as 2xx.",
			"route", "method", "outcome", "status"),
		seconds: histograms("http_request_duration_seconds", "How long HTTP requests took, to their last byte.",
			"route"),
		bytes: counters("http_response_bytes_total", "Bytes of the bodies of replies.", "route"),
		inFlight: gauge("http_requests_in_flight",
			"HTTP requests that are being answered, open event streams among them."),
		messages: counters("mcp_requests_total", "Requests of MCP that ended, over HTTP and WebSocket.",
			"transport", "rpc", "tool", "outcome"),
		messageSeconds: histograms("mcp_request_duration_seconds", "How long requests of MCP took.", "rpc", "tool"),
		streams: counter("streams_total",
			"Contents of which bytes were sent, as downloads and by resources/stream."),
		streamsInFlight: gauge("streams_in_flight",
			"Contents of which bytes are being sent, as downloads and by resources/stream."),
		streamsAborted: counter("streams_aborted_total", "Those that broke off, visibly for their client."),
	}
}

func (r *requests) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		r.total, r.seconds, r.bytes, r.inFlight, r.messages, r.messageSeconds, r.streams, r.streamsInFlight,
		r.streamsAborted,
	}
}

// RequestBegan implements [httpx.Observer].
func (r *requests) RequestBegan() { r.inFlight.Inc() }

// Request implements [httpx.Observer].
func (r *requests) Request(q httpx.Request) {
	r.inFlight.Dec()
	route := q.Route
	if route == "" {
		route = other
	}
	class := strconv.Itoa(q.Status/100) + "xx"
	r.total.WithLabelValues(route, label(q.Method, slices.Contains(httpMethods, q.Method)), q.Outcome, class).Inc()
	r.seconds.WithLabelValues(route).Observe(q.Took.Seconds())
	r.bytes.WithLabelValues(route).Add(float64(q.Bytes))
}

// Message implements [mcp.Observer].
func (r *requests) Message(m mcp.Exchange) {
	rpc := label(m.Method, mcp.IsMethod(m.Method))
	r.messages.WithLabelValues(m.Transport, rpc, m.Tool, m.Outcome).Inc()
	r.messageSeconds.WithLabelValues(rpc, m.Tool).Observe(m.Took.Seconds())
}

// Session implements [mcp.Observer]. The number of connections is read from the server.
func (r *requests) Session(mcp.Session) {}

// StreamBegan implements [httpx.Observer].
func (r *requests) StreamBegan() {
	r.streams.Inc()
	r.streamsInFlight.Inc()
}

// StreamEnded implements [httpx.Observer].
func (r *requests) StreamEnded(whole bool) {
	r.streamsInFlight.Dec()
	if !whole {
		r.streamsAborted.Inc()
	}
}
