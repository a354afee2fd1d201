package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/refresh"
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

func send(to chan<- prometheus.Metric, what *prometheus.Desc, kind prometheus.ValueType, n int64, labels ...string) {
	to <- prometheus.MustNewConstMetric(what, kind, float64(n), labels...)
}

// gauges are what there is at the moment.
type gauges struct {
	sources     Sources
	snapshots   *prometheus.Desc
	descriptors *prometheus.Desc
	tasks       *prometheus.Desc
	workers     *prometheus.Desc
	watched     *prometheus.Desc
	connections *prometheus.Desc
	sockets     *prometheus.Desc
	quarantined *prometheus.Desc
	quarantines *prometheus.Desc
}

func newGauges(s Sources) gauges {
	return gauges{
		sources:     s,
		snapshots:   describe("snapshots_open", "States of repositories that requests hold."),
		descriptors: describe("pack_descriptors_open", "Descriptors of packs and their indexes, in use or kept."),
		tasks:       describe("worker_tasks", "Tasks of archives and searches, by what they do: wait or run.", "state"),
		workers:     describe("workers", "How many tasks run at most."),
		watched:     describe("subscriptions", "Resources that clients watch."),
		connections: describe("connections_open", "Connections of clients, WebSocket among them."),
		sockets:     describe("websocket_connections_open", "WebSocket connections."),
		quarantined: describe("repositories_quarantined", "Repositories that cannot be read and are set aside now."),
		quarantines: describe("quarantines_total", "How often one was set aside, by why: damage or panic.", "why"),
	}
}

// Describe implements [prometheus.Collector].
func (g gauges) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(g, to) }

// Collect implements [prometheus.Collector].
func (g gauges) Collect(to chan<- prometheus.Metric) {
	gauge := func(what *prometheus.Desc, n int64, labels ...string) {
		send(to, what, prometheus.GaugeValue, n, labels...)
	}
	usage := g.sources.Catalogue.Usage()
	gauge(g.snapshots, usage.Snapshots)
	gauge(g.descriptors, usage.Descriptors)
	pending, running := g.sources.Scheduler.Load()
	gauge(g.tasks, int64(pending), "waiting")
	gauge(g.tasks, int64(running), "running")
	gauge(g.workers, int64(g.sources.Scheduler.Workers()))
	gauge(g.watched, int64(g.sources.Subscriptions.Count()))
	gauge(g.connections, int64(g.sources.Server.Connections()))
	gauge(g.sockets, int64(g.sources.Server.Sockets()))
	gauge(g.quarantined, int64(len(g.sources.Catalogue.Quarantined())))
	quarantines := g.sources.Catalogue.QuarantineCounts()
	send(to, g.quarantines, prometheus.CounterValue, quarantines.Panics, "panic")
	send(to, g.quarantines, prometheus.CounterValue, quarantines.Damages, "damage")
}

// cacheCollector has the counts of the cache of archives.
type cacheCollector struct{ cache *cache.Cache }

var (
	cacheRequests = describe("cache_requests_total",
		"Requests by what answered: the disk (hit), object storage (remote_hit), another's build (shared) or a build "+
			"(miss).", "result")
	cacheFaults = describe("cache_faults_total",
		"What failed in the cache, by its part; archives were made instead.", "part")
	cacheBuilds = describe("cache_builds_ended_early_total",
		"Builds that failed, or were abandoned since nobody was left.", "why")
	cacheBytes   = describe("cache_bytes", "What the disk cache takes.")
	cacheEntries = describe("cache_entries", "Archives on disk.")
	cacheEvicted = describe("cache_evicted_total", "Archives that were removed to make room.")
	cacheUploads = describe("cache_uploads_total", "Archives by what became of their upload to object storage.", "result")
)

// cacheCounts is what each count is of.
var cacheCounts = []struct {
	what  *prometheus.Desc
	label string
	count func(s *cache.Stats) int64
}{
	{cacheRequests, "hit", func(s *cache.Stats) int64 { return s.Hits }},
	{cacheRequests, "remote_hit", func(s *cache.Stats) int64 { return s.RemoteHits }},
	{cacheRequests, "shared", func(s *cache.Stats) int64 { return s.Shared }},
	{cacheRequests, "miss", func(s *cache.Stats) int64 { return s.Builds }},
	{cacheFaults, "disk", func(s *cache.Stats) int64 { return s.DiskFaults }},
	{cacheFaults, "disk_content", func(s *cache.Stats) int64 { return s.Damaged }},
	{cacheFaults, "upload", func(s *cache.Stats) int64 { return s.UploadFaults }},
	{cacheFaults, "object_store", func(s *cache.Stats) int64 { return s.RemoteFaults }},
	{cacheFaults, "object_content", func(s *cache.Stats) int64 { return s.RemoteDamaged }},
	{cacheFaults, "lease", func(s *cache.Stats) int64 { return s.LeaseFaults }},
	{cacheBuilds, "failed", func(s *cache.Stats) int64 { return s.Failures }},
	{cacheBuilds, "abandoned", func(s *cache.Stats) int64 { return s.Abandoned }},
	{cacheUploads, "done", func(s *cache.Stats) int64 { return s.Uploads }},
	{cacheUploads, "dropped", func(s *cache.Stats) int64 { return s.UploadDrops }},
}

// Describe implements [prometheus.Collector].
func (c cacheCollector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements [prometheus.Collector].
func (c cacheCollector) Collect(to chan<- prometheus.Metric) {
	stats := c.cache.Stats()
	for _, count := range cacheCounts {
		send(to, count.what, prometheus.CounterValue, count.count(&stats), count.label)
	}
	send(to, cacheBytes, prometheus.GaugeValue, stats.Bytes)
	send(to, cacheEntries, prometheus.GaugeValue, stats.Entries)
	send(to, cacheEvicted, prometheus.CounterValue, stats.Evicted)
}

// hookCollector has the counts of the calls of the fetch hook.
type hookCollector struct{ refresher *refresh.Refresher }

var (
	hookCalls = describe("fetch_hook_calls_total",
		"Calls of the fetch hook that were done, failed, or dropped since too many waited.", "result")
	hookPending = describe("fetch_hook_calls", "Calls of the fetch hook by what they do: wait or run.", "state")
)

// Describe implements [prometheus.Collector].
func (c hookCollector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements [prometheus.Collector].
func (c hookCollector) Collect(to chan<- prometheus.Metric) {
	stats := c.refresher.Stats()
	send(to, hookCalls, prometheus.CounterValue, stats.Done, "done")
	send(to, hookCalls, prometheus.CounterValue, stats.Failed, "failed")
	send(to, hookCalls, prometheus.CounterValue, stats.Dropped, "dropped")
	send(to, hookPending, prometheus.GaugeValue, stats.Waiting, "waiting")
	send(to, hookPending, prometheus.GaugeValue, stats.Running, "running")
}
