// Package metrics counts what the server does, for Prometheus.
//
// A [Metrics] has a registry of its own. It is an [httpx.Observer], which counts requests, and
// reads [Sources] at each scrape. Labels have a bounded number of values: a client's input becomes
// a label only if it is a known value. The only series per repository is the time of its last
// fetch, for at most [MaxMirrorSeries] repositories.
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
	"github.com/repomcp/repomcp/internal/resources/skills"
	"github.com/repomcp/repomcp/internal/watch"
)

// namespace is the prefix of all metrics but those of the Go runtime and the process.
const namespace = "repomcp"

// Metrics are the metrics of one server.
type Metrics struct {
	registry *prometheus.Registry
	requests
}

// New returns metrics of a program with the given version. They describe only the process until
// there is something to observe.
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

// Sources are read at each scrape.
type Sources struct {
	Catalogue     *repos.Catalogue
	Scheduler     *workers.Scheduler
	Subscriptions *watch.Subscriptions
	Cache         *cache.Cache // nil: no cache
	Limits        *limits.Limiter
	Refresher     *refresh.Refresher // nil: no refresher
	Skills        *skills.Library
	// Server counts connections.
	Server interface {
		Connections() int
		Sockets() int
	}
}

// Read registers the sources. Call it once.
func (m *Metrics) Read(s Sources) {
	m.registry.MustRegister(reader(s.readState), &mirrors{catalogue: s.Catalogue}, reader(s.readGates),
		reader(s.readSkills))
	if s.Cache != nil {
		m.registry.MustRegister(reader(s.readCache))
	}
	if s.Refresher != nil {
		m.registry.MustRegister(reader(s.readHook))
	}
}

// Gather implements [prometheus.Gatherer] for exporters to other systems: it omits the series of
// single repositories.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) {
	families, err := m.registry.Gather()
	return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
		return f.GetName() == prometheus.BuildFQName(namespace, "", mirrorFetched)
	}), err
}

// Handler returns a handler for scrapes, in the text formats of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}
