package metrics

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// mirrorFetched has a series per repository.
	mirrorFetched = "mirror_fetched_timestamp_seconds"
	// MaxMirrorSeries bounds the repositories with a series: those with the oldest fetches, which
	// are the ones that need attention.
	MaxMirrorSeries = 500
	// lookEvery is the maximal age of the times: reading them takes a disk access per repository.
	lookEvery = 10 * time.Second
)

// mirrors collects the times of the last fetches.
type mirrors struct {
	catalogue *repos.Catalogue

	mu     sync.Mutex
	looked time.Time
	found  fetches
}

// fetches is the result of reading the disk.
type fetches struct {
	states map[git.FetchState]int64
	done   []mirror // sorted by age, oldest first
}

type mirror struct {
	name string
	at   time.Time
}

var (
	mirrorStates = describe("mirrors",
		"Repositories by their last git fetch: done, unfinished (it failed, or is under way), never or unreadable.",
		"last_fetch")
	fetched = describe(mirrorFetched,
		"When the last git fetch ended, of the repositories where that is the longest ago.",
		"repository")
	oldestFetch = describe("mirror_fetched_oldest_timestamp_seconds",
		"The earliest of these times; 0 where there is none.")
)

// Describe implements [prometheus.Collector] without reading the disk.
func (m *mirrors) Describe(to chan<- *prometheus.Desc) {
	for _, what := range []*prometheus.Desc{mirrorStates, fetched, oldestFetch} {
		to <- what
	}
}

// Collect implements [prometheus.Collector].
func (m *mirrors) Collect(to chan<- prometheus.Metric) {
	found := m.recentFetches(time.Now())
	for _, state := range []git.FetchState{git.FetchDone, git.FetchUnfinished, git.FetchNever, unreadable} {
		send(to, mirrorStates, prometheus.GaugeValue, found.states[state], string(state))
	}
	oldest := int64(0)
	if len(found.done) > 0 {
		oldest = found.done[0].at.Unix()
	}
	send(to, oldestFetch, prometheus.GaugeValue, oldest)
	for _, mirror := range found.done[:min(len(found.done), MaxMirrorSeries)] {
		send(to, fetched, prometheus.GaugeValue, mirror.at.Unix(), strings.ToValidUTF8(mirror.name, "\uFFFD"))
	}
}

// unreadable is the state of a repository that cannot be read.
const unreadable git.FetchState = "unreadable"

// recentFetches returns a recent result.
func (m *mirrors) recentFetches(now time.Time) fetches {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.looked) < lookEvery {
		return m.found
	}
	found := fetches{states: make(map[git.FetchState]int64)}
	for _, name := range m.catalogue.Names() {
		repository, err := m.catalogue.Known(name)
		if err != nil {
			continue // deleted meanwhile
		}
		last, err := repository.LastFetch()
		if err != nil {
			last.State = unreadable
		}
		found.states[last.State]++
		if last.State == git.FetchDone {
			found.done = append(found.done, mirror{name, last.At})
		}
	}
	slices.SortFunc(found.done, func(a, b mirror) int {
		return cmp.Or(a.at.Compare(b.at), strings.Compare(a.name, b.name))
	})
	m.looked, m.found = now, found
	return found
}
