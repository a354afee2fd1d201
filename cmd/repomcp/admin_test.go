package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// adminAt finds the address of the admin listener.
const adminAt = `metrics and health are served" address=(http://\S+)`

// startWithAdmin starts the program with an admin listener.
func startWithAdmin(t *testing.T, root string, flags ...string) (p *process, admin string) {
	t.Helper()
	p, said := launchBy(t, "", root, append([]string{"--admin-listen", "127.0.0.1:0"}, flags...)...)
	return p, said.Await(t, adminAt)[1]
}

func TestTheAdminListenerTellsWhatTheServerDoes(t *testing.T) {
	gittest.Long(t)
	root, repo := bulkyRoot(t)
	write := func(name, content string) {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(repo.Dir, "FETCH_HEAD"), "what came\n")
	p, admin := startWithAdmin(t, root, "--cache-dir", t.TempDir(), "--cache-bytes", "100MB")
	const counted = `repomcp_http_requests_total{method="GET",outcome="done",route="/archive/",status="2xx"} `
	// A request is counted, and an archive is in the cache, after the last byte; a client that
	// leaves before that has broken off.
	stays := &process{client: &http.Client{Transport: new(http.Transport)}}
	defer stays.client.CloseIdleConnections()
	for _, after := range [][]string{{counted + "1", "repomcp_cache_entries 1"}, {counted + "2"}} {
		if status, _ := stays.get(t, p.url+"/archive/repo/main.tar"); status != http.StatusOK {
			t.Fatal(status)
		}
		awaitMetrics(t, p, admin, after)
	}
	if status, _ := p.get(t, p.url+"/metrics"); status != http.StatusNotFound {
		t.Errorf("clients get the metrics: %d", status)
	}
	want := []string{
		counted + "2",
		`repomcp_cache_requests_total{result="hit"} 1`, `repomcp_cache_requests_total{result="miss"} 1`,
		`repomcp_streams_total 2`, `repomcp_streams_in_flight 0`, `repomcp_mirrors{last_fetch="done"} 1`,
		`repomcp_mirror_fetched_timestamp_seconds{repository="repo"} `, `go_goroutines `, `process_open_fds `,
		`repomcp_worker_tasks{state="waiting"} 0`, `repomcp_build_info{version="`,
	}
	awaitMetrics(t, p, admin, want)
	for path, want := range map[string]string{
		"/healthz": "^ok\n$", "/readyz": "^ok\n$",
		"/readyz?verbose":                `^ok\nmirrors: 1 fetched; the oldest fetch was \d+s ago\nmirror "repo" fetched \d+s ago\n$`,
		"/debug/pprof/goroutine?debug=1": "^goroutine profile: ", "/debug/pprof/": "(?i)heap",
	} {
		if status, body := p.get(t, admin+path); status != http.StatusOK ||
			!regexp.MustCompile(want).MatchString(body) {
			t.Errorf("%s: %d %.200q", path, status, body)
		}
	}
	for host, want := range map[string]int{
		"localhost:9": http.StatusOK, "192.0.2.1": http.StatusOK, "[::1]:80": http.StatusOK,
		"evil.example": http.StatusForbidden,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, admin+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := p.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // only its status was of interest
		if response.StatusCode != want {
			t.Errorf("Host %s: %d, want %d", host, response.StatusCode, want)
		}
	}
}

// awaitMetrics waits until the metrics have lines that begin like these.
func awaitMetrics(t *testing.T, p *process, admin string, want []string) {
	t.Helper()
	if err := gittest.Wait(func() error {
		_, numbers := p.get(t, admin+"/metrics")
		missing := slices.DeleteFunc(slices.Clone(want),
			func(line string) bool { return strings.Contains(numbers, "\n"+line) })
		if len(missing) != 0 {
			return fmt.Errorf("%q is not among the metrics:\n%s", missing, numbers)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// While downloads finish the server is not ready, and the operator can still read metrics.
func TestADrainingServerIsNotReady(t *testing.T) {
	gittest.Long(t)
	root, _ := bulkyRoot(t)
	p, admin := startWithAdmin(t, root)
	body := p.stream("repo://repo/archive/main.tar.gz")
	if _, err := io.ReadFull(body, make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	status, text := 0, ""
	for end := time.Now().Add(10 * time.Second); status != http.StatusServiceUnavailable && time.Now().Before(end); {
		status, text = p.get(t, admin+"/readyz")
	}
	if status != http.StatusServiceUnavailable || text != "the server is stopping\n" {
		t.Errorf("ready: %d %q", status, text)
	}
	if status, _ := p.get(t, admin+"/healthz"); status != http.StatusOK {
		t.Errorf("health: %d", status)
	}
	if _, numbers := p.get(t, admin+"/metrics"); !strings.Contains(numbers, "\nrepomcp_streams_in_flight 1\n") {
		t.Error("the stream is not in flight")
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Error(err)
	}
	if err := <-p.done; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// A server without its root cannot answer.
func TestAServerWithoutItsRootIsNotReady(t *testing.T) {
	gittest.Long(t)
	root, _ := bulkyRoot(t)
	moved := filepath.Join(t.TempDir(), "moved")
	p, admin := startWithAdmin(t, root)
	if err := os.Rename(root, moved); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, text := p.get(t, admin+path); status != http.StatusServiceUnavailable ||
			!strings.Contains(text, "root") {
			t.Errorf("%s: %d %q", path, status, text)
		}
	}
}

// A client that leaves with the last byte of an archive has all of it, although the server still counts and caches.
func TestAClientThatHasEverythingHasNotBrokenOff(t *testing.T) {
	gittest.Long(t)
	root, _ := bulkyRoot(t)
	p, admin := startWithAdmin(t, root, "--cache-dir", t.TempDir(), "--cache-bytes", "100MB")
	server, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	const times = 200
	for range times {
		connection, err := net.Dial("tcp", server.Host)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(connection, "GET /archive/repo/main.tar HTTP/1.1\r\nHost: %s\r\n\r\n", server.Host)
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.CopyN(io.Discard, response.Body, response.ContentLength)
		if err != nil || n == 0 {
			t.Fatalf("%d bytes of %d, %v", n, response.ContentLength, err)
		}
		_ = connection.Close()
	}
	awaitMetrics(t, p, admin, []string{fmt.Sprint("repomcp_streams_total ", times), "repomcp_streams_in_flight 0"})
	if aborted := p.number(t, admin, "repomcp_streams_aborted_total"); aborted != 0 {
		t.Errorf("%.0f of %d downloads count as broken off", aborted, times)
	}
}
