package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// Metrics have the names and buckets of the semantic conventions, and those of
// Prometheus beside them. Repositories, commits and what clients make up are no
// attributes of them.
func TestMetricsReachACollector(t *testing.T) {
	root, _ := helloRoot(t)
	c := newCollector(t)
	p, _ := launchBy(t, c.settings(), root)
	const calls = 20
	for i := range calls {
		p.post(t, modernHeaders("resources/read", "repo://group/hello"),
			inMeta(fmt.Sprint(i), "resources/read", `"uri":"repo://group/hello",`, modernMeta))
		p.post(t, nil, inMeta(fmt.Sprint(i), fmt.Sprint("made/up", i), "", ""))
	}
	p.get(t, p.url+"/repositories")
	p.stop(t)
	operations := c.metrics["mcp.server.operation.duration"]
	if operations.GetUnit() != "s" {
		t.Error(operations)
	}
	allowed := []string{"mcp.method.name", "error.type", "mcp.protocol.version", "network.transport",
		"network.protocol.name", "network.protocol.version"}
	points := operations.GetHistogram().GetDataPoints()
	for _, point := range points {
		if fmt.Sprint(point.ExplicitBounds) != "[0.01 0.02 0.05 0.1 0.2 0.5 1 2 5 10 30 60 120 300]" ||
			point.Count != calls ||
			point.GetSum() <= 0 {
			t.Error(point)
		}
		for name := range values(point.Attributes) {
			if !slices.Contains(allowed, name) {
				t.Errorf("there is an attribute %s: %v", name, point)
			}
		}
	}
	const cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	if len(points) != 2 || operations.GetHistogram().AggregationTemporality != cumulative {
		t.Errorf("%d points: %v", len(points), operations)
	}
	requests := c.metrics["repomcp_http_requests_total"].GetSum()
	if !requests.GetIsMonotonic() || len(requests.GetDataPoints()) < 3 {
		t.Errorf("those of Prometheus: %v", requests)
	}
	for _, name := range []string{"go_goroutines", "process_open_fds", "repomcp_mirrors", "repomcp_connections_open"} {
		if c.metrics[name] == nil {
			t.Errorf("%s is not sent", name)
		}
	}
	if c.metrics["repomcp_mirror_fetched_timestamp_seconds"] != nil || strings.Contains(c.raw.String(), "made/up") {
		t.Error("what has no bound is in the metrics")
	}
}

// Nothing that lets a reader of traces act as a client, or tells of this machine's
// folders, is sent.
func TestSecretsAreNotTraced(t *testing.T) {
	root, _ := helloRoot(t)
	c := newCollector(t)
	p, _ := launchBy(t, c.settings(), root)
	secrets := map[string]string{root: "the folder"}
	canary := func(what string) string {
		text := fmt.Sprintf("canary%dx", len(secrets))
		secrets[text] = what
		return text
	}
	get := func(path string, header http.Header) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = header
		response, err := p.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // only that it was asked for counts
	}
	for _, path := range []string{"/raw/group/hello/main/README.md", "/archive/group/hello/main.tar", "/dl/x", "/none",
		"/repositories"} {
		for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "If-Range", "Mcp-Session-Id", "Referer",
			"Baggage"} {
			get(path, http.Header{name: {"Bearer " + canary(name+" of "+path)}})
		}
		for _, form := range []string{"?token=%s", "?X-Amz-Signature=%s&prefix=x/", "?%s",
			"?access_token=%[1]s&prefix=b/&code=%[1]s"} {
			get(path+fmt.Sprintf(form, canary(form+" of "+path)), nil)
		}
	}
	for _, form := range []string{"/dl/%s", "//dl/%s", "/dl/%s/", "/DL/%s", "/prefix/dl/%s"} {
		get(fmt.Sprintf(form, canary("a link as "+form)), nil)
	}
	_, answered := p.post(t, nil, inMeta("begin", "initialize", initializeParams, ""))
	session := answered.Get("Mcp-Session-Id")
	secrets[session] = "a session"
	headers := http.Header{"Mcp-Session-Id": {session},
		"Authorization": {"Bearer " + canary("Authorization of a message")}}
	p.post(t, headers, inMeta("read", "resources/read", `"uri":"repo://group/hello/contents/README.md?ref=main",`,
		`"baggage":"k=`+canary("baggage")+`","token":"`+canary("_meta")+`"`))
	for _, uri := range []string{"repo://group/hello/contents/README.md?token=%s", "https://user:%s@none/x", "%s",
		"repo://x:%s@none/refs"} {
		p.post(t, headers, inMeta("wrong", "resources/read", fmt.Sprintf(`"uri":"`+uri+`",`, canary(uri)), ""))
	}
	p.post(t, headers, inMeta("tool", "tools/call", `"name":"search_code","arguments":{"query":"`+canary("an argument")+
		`"},`, ""))
	p.post(t, headers, inMeta("unknown", canary("a method"), "", ""))
	p.post(t, headers, inMeta("prompt", "prompts/get", `"name":"`+canary("a prompt")+`",`, ""))
	p.stop(t)
	sent := c.raw.String()
	for secret, what := range secrets {
		if strings.Contains(sent, secret) {
			t.Errorf("a trace has %s: %s", what, secret)
		}
	}
	if len(secrets) < 70 || len(c.spans) < 70 {
		t.Errorf("%d secrets, %d spans", len(secrets), len(c.spans))
	}
}

// An absent or silent collector only causes one line in the log.
func TestCollectorsThatFail(t *testing.T) {
	root, _ := helloRoot(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }() // no connections are left
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	defer refusing.Close()
	for name, address := range map[string]string{
		"silent": silent.Addr().String(), "gone": gone, "refusing": strings.TrimPrefix(refusing.URL, "http://"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, said := launchBy(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+address+" OTEL_EXPORTER_OTLP_TIMEOUT=300 "+
				"OTEL_BSP_SCHEDULE_DELAY=20 OTEL_BSP_MAX_QUEUE_SIZE=8 OTEL_BSP_MAX_EXPORT_BATCH_SIZE=8 OTEL_METRIC_EXPORT_INTERVAL=50 ", root)
			slowest := time.Duration(0)
			for range 300 {
				start := time.Now()
				if status, _ := p.get(t, p.url+"/raw/group/hello/main/README.md"); status != http.StatusOK {
					t.Fatal(status)
				}
				slowest = max(slowest, time.Since(start))
			}
			if slowest > 2*time.Second {
				t.Errorf("a download took %v", slowest)
			}
			start := time.Now()
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := <-p.done; err != nil {
				t.Errorf("the server ended with %v", err)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v to end", took)
			}
			if n := strings.Count(said.String(), "telemetry has trouble"); n != 1 {
				t.Errorf("it was logged %d times:\n%s", n, said)
			}
		})
	}
}
