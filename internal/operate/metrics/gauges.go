package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/repomcp/repomcp/internal/cache"
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

func send(to chan<- prometheus.Metric, what *prometheus.Desc, kind prometheus.ValueType, n int64, labels ...string) {
	to <- prometheus.MustNewConstMetric(what, kind, float64(n), labels...)
}

// reader reads a source at each scrape. It implements [prometheus.Collector].
type reader func(to chan<- prometheus.Metric)

// Describe implements [prometheus.Collector].
func (r reader) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(r, to) }

// Collect implements [prometheus.Collector].
func (r reader) Collect(to chan<- prometheus.Metric) { r(to) }

var (
	snapshots   = describe("snapshots_open", "States of repositories that requests hold.")
	descriptors = describe("pack_descriptors_open", "Descriptors of packs and their indexes, in use or kept.")
	spilled     = describe("object_temporary_bytes", "Bytes of large objects in temporary files.")
	tasks       = describe("worker_tasks", "Tasks of archives and searches, by what they do: wait or run.", "state")
	workerCount = describe("workers", "How many tasks run at most.")
	watched     = describe("subscriptions", "Resources that clients watch.")
	connections = describe("connections_open", "Connections of clients, WebSocket among them.")
	sockets     = describe("websocket_connections_open", "WebSocket connections.")
	quarantined = describe("repositories_quarantined", "Repositories that cannot be read and are quarantined now.")
	quarantines = describe("quarantines_total", "Quarantines since the start, by why: damage or panic.", "why")
)

// readState sends the current state.
func (s Sources) readState(to chan<- prometheus.Metric) {
	usage := s.Catalogue.Usage()
	panics, damages := s.Catalogue.QuarantineCounts()
	pending, running := s.Scheduler.Load()
	for _, gauge := range []struct {
		what  *prometheus.Desc
		n     int64
		label []string
	}{
		{snapshots, usage.Snapshots, nil}, {descriptors, usage.Descriptors, nil},
		{spilled, usage.Spilled, nil},
		{tasks, int64(pending), []string{"waiting"}}, {tasks, int64(running), []string{"running"}},
		{workerCount, int64(s.Scheduler.Workers()), nil}, {watched, int64(s.Subscriptions.Count()), nil},
		{connections, int64(s.Server.Connections()), nil}, {sockets, int64(s.Server.Sockets()), nil},
		{quarantined, int64(len(s.Catalogue.Quarantined())), nil},
	} {
		send(to, gauge.what, prometheus.GaugeValue, gauge.n, gauge.label...)
	}
	send(to, quarantines, prometheus.CounterValue, panics, "panic")
	send(to, quarantines, prometheus.CounterValue, damages, "damage")
}

var (
	cacheRequests = describe("cache_requests_total",
		"Requests by what answered: the disk (hit), object storage (remote_hit), another's build (shared) or a build "+
			"(miss).", "result")
	cacheFaults = describe("cache_faults_total",
		"What failed in the cache, by its part; archives were made instead.", "part")
	cacheBuilds = describe("cache_builds_ended_early_total",
		"Builds that failed, or were abandoned without readers.", "why")
	cacheBytes   = describe("cache_bytes", "What the disk cache takes.")
	cacheEntries = describe("cache_entries", "Archives on disk.")
	cacheEvicted = describe("cache_evicted_total", "Archives that were removed to make room.")
	cacheUploads = describe("cache_uploads_total", "Archives by what became of their upload to object storage.",
		"result")
)

// cacheCounts maps the counts to their metrics.
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

// readCache sends the counts of the cache of archives.
func (s Sources) readCache(to chan<- prometheus.Metric) {
	stats := s.Cache.Stats()
	for _, count := range cacheCounts {
		send(to, count.what, prometheus.CounterValue, count.count(&stats), count.label)
	}
	send(to, cacheBytes, prometheus.GaugeValue, stats.Bytes)
	send(to, cacheEntries, prometheus.GaugeValue, stats.Entries)
	send(to, cacheEvicted, prometheus.CounterValue, stats.Evicted)
}

var (
	hookCalls = describe("fetch_hook_calls_total",
		"Calls of the fetch hook that were done, failed, or dropped since too many waited.", "result")
	hookPending = describe("fetch_hook_calls", "Calls of the fetch hook by what they do: wait or run.", "state")
)

func (s Sources) readHook(to chan<- prometheus.Metric) {
	stats := s.Refresher.Stats()
	send(to, hookCalls, prometheus.CounterValue, stats.Done, "done")
	send(to, hookCalls, prometheus.CounterValue, stats.Failed, "failed")
	send(to, hookCalls, prometheus.CounterValue, stats.Dropped, "dropped")
	send(to, hookPending, prometheus.GaugeValue, stats.Waiting, "waiting")
	send(to, hookPending, prometheus.GaugeValue, stats.Running, "running")
}

var (
	skillsKept  = describe("skill_folders_kept", "Folders of skills that are remembered, refused ones among them.")
	skillsBytes = describe("skill_memory_bytes", "Memory of what is remembered of skills.")
	skillsRead  = describe("skill_reads_total", "Folders and files of skills that were read.", "what")
)

// readSkills sends the counts of what is remembered of skills.
func (s Sources) readSkills(to chan<- prometheus.Metric) {
	stats := s.Skills.Stats()
	send(to, skillsKept, prometheus.GaugeValue, stats.Kept)
	send(to, skillsBytes, prometheus.GaugeValue, stats.Bytes)
	send(to, skillsRead, prometheus.CounterValue, stats.ReadFolders, "folder")
	send(to, skillsRead, prometheus.CounterValue, stats.ReadFiles, "file")
}

var (
	gateRunning = describe("limit_running", "Requests that were let in, by what was looked at.", "gate")
	gateWaiting = describe("limit_waiting", "Requests that wait for their turn.", "gate")
	gateMemory  = describe("limit_reserved_bytes", "Memory that requests have reserved.", "gate")
	gateLimit   = describe("limit_bytes", "Memory that requests may reserve.", "gate")
	gateRefused = describe("limit_refused_total",
		"Requests that were refused, by what was in use: all that a client, a repository or the server may have.",
		"gate", "reason")
)

// readGates sends the reservations of requests by gate.
func (s Sources) readGates(to chan<- prometheus.Metric) {
	for _, gate := range s.Limits.States() {
		for _, gauge := range []struct {
			what *prometheus.Desc
			n    int64
		}{
			{gateRunning, int64(gate.Running)}, {gateWaiting, int64(gate.Waiting)}, {gateMemory, gate.Memory},
			{gateLimit, gate.Limit},
		} {
			send(to, gauge.what, prometheus.GaugeValue, gauge.n, gate.Gate)
		}
		for reason, n := range gate.RefusedByReason {
			send(to, gateRefused, prometheus.CounterValue, n, gate.Gate, string(reason))
		}
	}
}
