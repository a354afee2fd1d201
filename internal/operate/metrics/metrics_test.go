package metrics_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/operate/metrics"
	"github.com/repomcp/repomcp/internal/operate/refresh"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources/skills"
	"github.com/repomcp/repomcp/internal/watch"
)

// counted is a server with three connections.
type counted struct{}

func (counted) Connections() int { return 3 }
func (counted) Sockets() int     { return 2 }

// newMetrics has all that there can be to read.
func newMetrics(t *testing.T, root string) *metrics.Metrics {
	t.Helper()
	catalogue, err := repos.Open(root, repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	scheduler := workers.New(1)
	archives := cache.New(cache.Options{})
	t.Cleanup(func() {
		archives.Close()
		scheduler.Close()
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	})
	hook, err := refresh.New(refresh.Options{Hook: "http://127.0.0.1:1/"})
	if err != nil {
		t.Fatal(err)
	}
	library, err := skills.New(skills.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := metrics.New("1.2.3")
	m.Read(metrics.Sources{
		Catalogue: catalogue, Scheduler: scheduler, Subscriptions: watch.New(watch.Options{Catalogue: catalogue}),
		Cache: archives, Limits: limits.New(limits.Options{Memory: 1 << 30}), Server: counted{},
		Refresher: hook, Skills: library,
	})
	return m
}

// scrape returns the numbers by their series, as they are written.
func scrape(t *testing.T, m *metrics.Metrics) map[string]string {
	t.Helper()
	reply := httptest.NewRecorder()
	m.Handler().ServeHTTP(reply, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if reply.Code != http.StatusOK {
		t.Fatalf("%d: %s", reply.Code, reply.Body)
	}
	series := make(map[string]string)
	for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
		if line := lines.Text(); !strings.HasPrefix(line, "#") {
			end := strings.LastIndexByte(line, ' ')
			series[line[:end]] = line[end+1:]
		}
	}
	return series
}

// mirror makes what the catalogue takes for a repository, and has it fetched.
func mirror(t *testing.T, root, name string, fetched time.Time) {
	t.Helper()
	dir := filepath.Join(root, name+".git")
	for _, folder := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write := func(file, content string) string {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("HEAD", "ref: refs/heads/main\n")
	if fetched.IsZero() {
		return
	}
	if err := os.Chtimes(write("FETCH_HEAD", "what came\n"), fetched, fetched); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, got map[string]string, want map[string]string) {
	t.Helper()
	for series, value := range want {
		if got[series] != value {
			t.Errorf("%s is %q, want %q", series, got[series], value)
		}
	}
}

func TestWhatIsServedIsCounted(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, t.TempDir())
	for range 2 {
		m.RequestBegan()
		m.Request(httpx.Request{Route: "/raw/", Method: "GET", Outcome: "done", Status: 206, Bytes: 10,
			Took: 3 * time.Millisecond})
	}
	m.RequestBegan()
	m.Message(mcp.Exchange{Transport: "websocket", Method: "tools/call", Tool: "get_commit", Outcome: "error"})
	for _, whole := range []bool{true, false, false} {
		m.StreamBegan()
		m.StreamEnded(whole)
	}
	m.StreamBegan()
	expect(t, scrape(t, m), map[string]string{
		`repomcp_http_requests_total{method="GET",outcome="done",route="/raw/",status="2xx"}`:                  "2",
		`repomcp_http_response_bytes_total{route="/raw/"}`:                                                     "20",
		`repomcp_http_request_duration_seconds_bucket{route="/raw/",le="0.0025"}`:                              "0",
		`repomcp_http_request_duration_seconds_bucket{route="/raw/",le="0.005"}`:                               "2",
		`repomcp_http_requests_in_flight`:                                                                      "1",
		`repomcp_mcp_requests_total{outcome="error",rpc="tools/call",tool="get_commit",transport="websocket"}`: "1",
		`repomcp_streams_total`:                      "4",
		`repomcp_streams_aborted_total`:              "2",
		`repomcp_streams_in_flight`:                  "1",
		`repomcp_connections_open`:                   "3",
		`repomcp_websocket_connections_open`:         "2",
		`repomcp_workers`:                            "1",
		`repomcp_cache_requests_total{result="hit"}`: "0",
		`repomcp_build_info{version="1.2.3"}`:        "1",
	})
}

// What clients write makes no series.
func TestClientsMakeNoSeries(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, t.TempDir())
	tell := func(method string) {
		m.RequestBegan()
		m.Request(httpx.Request{Method: method, Outcome: "error", Status: 404})
		m.Message(mcp.Exchange{Transport: "http", Method: method, Outcome: "error"})
	}
	tell("first")
	before := len(scrape(t, m))
	for i := range 1000 {
		tell(fmt.Sprint("made up ", i))
	}
	got := scrape(t, m)
	if len(got) != before {
		t.Errorf("%d series became %d", before, len(got))
	}
	expect(t, got, map[string]string{
		`repomcp_http_requests_total{method="other",outcome="error",route="other",status="4xx"}`: "1001",
		`repomcp_mcp_requests_total{outcome="error",rpc="other",tool="",transport="http"}`:       "1001",
	})
}

func TestTheOldestMirrorsHaveSeries(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	root, start := t.TempDir(), time.Unix(1_700_000_000, 0)
	const more = 20
	for i := range metrics.MaxMirrorSeries + more {
		// The first by name is the newest.
		mirror(t, root, fmt.Sprintf("m%04d", i), start.Add(-time.Duration(i)*time.Second))
	}
	mirror(t, root, "never", time.Time{})
	got := scrape(t, newMetrics(t, root))
	series := 0
	for name := range got {
		if strings.HasPrefix(name, "repomcp_mirror_fetched_timestamp_seconds{") {
			series++
		}
	}
	if series != metrics.MaxMirrorSeries {
		t.Errorf("%d series, want %d", series, metrics.MaxMirrorSeries)
	}
	last := metrics.MaxMirrorSeries + more - 1
	oldest := fmt.Sprintf("%.9e", float64(start.Unix()-int64(last)))
	expect(t, got, map[string]string{
		`repomcp_mirrors{last_fetch="done"}`:                           fmt.Sprint(last + 1),
		`repomcp_mirrors{last_fetch="never"}`:                          "1",
		`repomcp_mirrors{last_fetch="unfinished"}`:                     "0",
		`repomcp_mirror_fetched_oldest_timestamp_seconds`:              oldest,
		`repomcp_mirror_fetched_timestamp_seconds{repository="m0519"}`: oldest,
		`repomcp_mirror_fetched_timestamp_seconds{repository="m0019"}`: "",
	})
}
