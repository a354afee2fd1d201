package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/repomcp/repomcp/internal/limits"
)

// gates has what requests have reserved, by the gates that they pass.
type gates struct{ limits *limits.Limiter }

var (
	gateRunning = describe("limit_running", "Requests that were let in, by what was looked at.", "gate")
	gateWaiting = describe("limit_waiting", "Requests that wait for their turn.", "gate")
	gateMemory  = describe("limit_reserved_bytes", "Memory that requests have reserved.", "gate")
	gateLimit   = describe("limit_bytes", "Memory that requests may reserve.", "gate")
	gateRefused = describe("limit_refused_total",
		"Requests that were refused, by what was in use: all that a client, a repository or the server may have.",
		"gate", "reason")
)

// Describe implements [prometheus.Collector].
func (g gates) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(g, to) }

// Collect implements [prometheus.Collector].
func (g gates) Collect(to chan<- prometheus.Metric) {
	for _, s := range g.limits.States() {
		for _, gauge := range []struct {
			what *prometheus.Desc
			n    int64
		}{
			{gateRunning, int64(s.Running)}, {gateWaiting, int64(s.Waiting)}, {gateMemory, s.Memory}, {gateLimit, s.Limit},
		} {
			send(to, gauge.what, prometheus.GaugeValue, gauge.n, s.Gate)
		}
		for reason, n := range s.RefusedByReason {
			send(to, gateRefused, prometheus.CounterValue, n, s.Gate, string(reason))
		}
	}
}
