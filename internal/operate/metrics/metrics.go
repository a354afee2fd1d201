// Package metrics counts what the server does, for Prometheus.
//
// A [Metrics] has a registry of its own. It is an [httpx.Observer], which counts
// what is served, and reads [Sources] whenever somebody asks for the numbers. The
// labels of what is counted have a bounded number of values: what a client writes
// is one only if it is known. Series of single repositories exist for their last
// fetch alone, and for [MaxMirrorSeries] of them at most.
package metrics

import (
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/operate/refresh"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/watch"
)

// namespace begins the names of all metrics but those of the Go runtime and the
// process.
const namespace = "repomcp"

// Metrics are the numbers of one server.
type Metrics struct {
	registry *prometheus.Registry
	requests
}

// New makes metrics of a program of that version, which are about the process alone
// until there is something to observe.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), requests: newRequests()}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "1; the version is in the label.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.collectors()...)
	return m
}

// Sources are what is read when the numbers are asked for.
type Sources struct {
	Catalogue     *repos.Catalogue
	Scheduler     *workers.Scheduler
	Subscriptions *watch.Subscriptions
	Cache         *cache.Cache // nil: there is none
	Limits        *limits.Limiter
	Refresher     *refresh.Refresher // nil: there is none
	// Server counts connections.
	Server interface {
		Connections() int
		Sockets() int
	}
}

// Read has the sources read from now on. Call it once.
func (m *Metrics) Read(s Sources) {
	m.registry.MustRegister(reader(s.readState), &mirrors{catalogue: s.Catalogue}, reader(s.readGates))
	if s.Cache != nil {
		m.registry.MustRegister(reader(s.readCache))
	}
	if s.Refresher != nil {
		m.registry.MustRegister(reader(s.readHook))
	}
}

// Gather implements [prometheus.Gatherer]: it has all that is sent elsewhere, which is
// all but the series of single repositories.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) {
	families, err := m.registry.Gather()
	return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
		return f.GetName() == prometheus.BuildFQName(namespace, "", mirrorFetched)
	}), err
}

// Handler answers with the numbers, in the text formats of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}
