package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// load is how many clients of each kind come at the same time, and what the server may
// take meanwhile.
type load struct {
	gzip, zstd, blames, bodies int
	memory                     int64         // of the process
	duration                   time.Duration // how long it lasts once all have been answered
	patience                   time.Duration
	health                     time.Duration // how late a look at the health may be answered
	niceness                   int           // of the clients
}

// The first is what every run can afford; the other wants REPOMCP_SOAK=1 and
// REPOMCP_BENCH_REPO, a mirror of git.git.
var (
	briefLoad = load{
		gzip: 60, zstd: 30, blames: 30, bodies: 60, memory: 256 << 20, duration: time.Second, patience: time.Second,
		health: 2 * time.Second,
	}
	soakLoad = load{
		gzip: 1000, zstd: 500, blames: 500, bodies: 500, memory: 512 << 20, duration: 90 * time.Second,
		patience: 10 * time.Second, health: 100 * time.Millisecond, niceness: 19,
	}
)

// fine are the statuses of a server under load; 0 is that the client had no more patience.
var fine = []int{0, http.StatusOK, http.StatusTooManyRequests, http.StatusServiceUnavailable}

// rushPatience is how long the clients wait for their replies, on a machine that does much else.
const rushPatience = time.Minute

// rushAddresses is from how many addresses they come.
const rushAddresses = 24

// Under any load some requests are served, the others get a refusal with
// Retry-After, the process stays within its memory, and it reports its health.
func TestOverloadIsSurvived(t *testing.T) {
	gittest.Long(t)
	if runtime.GOOS != "linux" {
		t.Skip("it reads /proc")
	}
	l, root, refs, file := briefLoad, "", []string{"main"}, "long.txt"
	name := "repo"
	if mirror := os.Getenv("REPOMCP_BENCH_REPO"); mirror != "" && os.Getenv("REPOMCP_SOAK") == "1" {
		l, root, name, file = soakLoad, filepath.Dir(mirror), strings.TrimSuffix(filepath.Base(mirror),
			".git"), "po/de.po"
		refs = nil
		for major := 20; major < 45; major++ {
			refs = append(refs, fmt.Sprintf("v2.%d.0", major))
		}
	} else {
		root = blamedRoot(t, name, file)
	}
	admin, enter := freeAddress(t), confine(t, l.memory)
	p := startPlain(t, root, "--memory-budget", strconv.FormatInt(l.memory*9/10, 10), "--queue-time",
		l.patience.String(),
		"--log-level", "error", "--admin-listen", admin)
	confined := enter(p.cmd.Process.Pid)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	health := make(chan []time.Duration, 1)
	go func() { health <- watchHealth(ctx, t, "http://"+admin+"/healthz") }()
	statuses := sendRush(t, rushOrders{
		URL: p.url, Repository: name, Refs: refs, File: file, Duration: l.duration,
		Gzip: l.gzip, Zstd: l.zstd, Blames: l.blames, Bodies: l.bodies,
	}, l.niceness)
	cancel()
	waits := <-health
	peak := residentPeak(t, p.cmd.Process.Pid)
	worst := waits[len(waits)-1]
	t.Logf("peak %d MiB of %d, in a cgroup: %v; health asked %d times, median %v, p99 %v, worst %v; %v", peak>>20,
		l.memory>>20, confined, len(waits), waits[len(waits)/2], waits[len(waits)*99/100], worst, statuses)
	if peak > l.memory {
		t.Errorf("the process took %d MiB of %d", peak>>20, l.memory>>20)
	}
	if worst > l.health {
		t.Errorf("the health was told after %v", worst)
	}
	// What is small in memory comes in first, so that of archives any may be served.
	if statuses["tar.gz"][http.StatusOK]+statuses["tar.zst"][http.StatusOK] == 0 {
		t.Error("no archive was served")
	}
	if statuses["blame"][http.StatusOK] == 0 {
		t.Error("no blame was answered")
	}
	refused := 0
	for kind, statuses := range statuses {
		refused += statuses[http.StatusTooManyRequests] + statuses[http.StatusServiceUnavailable]
		for _, status := range slices.Sorted(maps.Keys(statuses)) {
			unfinished := kind == "body" && status == http.StatusBadRequest // it was let in
			if !unfinished && !slices.Contains(fine, status) {
				t.Errorf("%s: status %d, %d times", kind, status, statuses[status])
			}
		}
	}
	if refused == 0 {
		t.Error("no request was refused: that is no overload")
	}
	if status := p.status("/archive/" + name + "/" + refs[0] + ".tar"); status != http.StatusOK {
		t.Errorf("afterwards an archive is answered with %d", status)
	}
}

// blamedRoot has a repository with a file that takes a while to blame.
func blamedRoot(t *testing.T, name, file string) (root string) {
	root = t.TempDir()
	repo := gittest.At(t, filepath.Join(root, name+".git"))
	lines := strings.Split(strings.Repeat("a line of a text that many have written\n", 4000), "\n")
	for commit := range 20 {
		for i := commit; i < len(lines); i += 21 {
			lines[i] = fmt.Sprint("line ", i, " of commit ", commit)
		}
		repo.Commit("main", gittest.Regular(file, strings.Join(lines, "\n")))
	}
	repo.Commit("main", gittest.Regular(file, strings.Join(lines, "\n")),
		gittest.Regular("noise", gittest.Noise(16<<20)))
	return root
}

// rushOrders are the numbers of concurrent clients of each kind.
type rushOrders struct {
	URL, Repository, File      string
	Refs                       []string
	Duration                   time.Duration
	Gzip, Zstd, Blames, Bodies int
}

// rushReport is what has become of them.
type rushReport struct {
	Statuses map[string]map[int]int // counted by what was asked for; 0 is no reply before the end
	Faults   []string
}

// sendRush lets clients loose in a process of their own. A niceness keeps it from taking
// the processor from the server: clients are elsewhere.
func sendRush(t *testing.T, orders rushOrders, niceness int) map[string]map[int]int {
	t.Helper()
	text, err := json.Marshal(orders)
	if err != nil {
		t.Fatal(err)
	}
	clients := exec.CommandContext(t.Context(), "nice", "-n", strconv.Itoa(niceness), "rush")
	clients.Stdin, clients.Stderr = bytes.NewReader(text), os.Stderr
	said, err := clients.Output()
	var report rushReport
	if err = errors.Join(err, json.Unmarshal(said, &report)); err != nil {
		t.Fatal(err)
	}
	for _, fault := range report.Faults {
		t.Error(fault)
	}
	return report.Statuses
}

// rushMain is the process of the clients.
func rushMain() {
	var orders rushOrders
	if err := json.NewDecoder(os.Stdin).Decode(&orders); err != nil {
		panic(err)
	}
	c := newRush(orders)
	ctx, cancel := context.WithTimeout(context.Background(), rushPatience+c.Duration)
	defer cancel()
	var all sync.WaitGroup
	for _, k := range []struct {
		kind string
		n    int
		ask  func(ctx context.Context, i int) (*http.Request, error)
	}{
		{"tar.gz", c.Gzip, c.download("tar.gz")},
		{"tar.zst", c.Zstd, c.download("tar.zst")},
		{"blame", c.Blames, c.blame},
		{"body", c.Bodies, c.body},
	} {
		for i := range k.n {
			all.Go(func() { c.run(ctx, k.kind, i, k.ask) })
		}
	}
	// Clients with endless bodies get no reply, and are not counted.
	for ctx.Err() == nil && c.replies("tar.gz", "tar.zst", "blame") < c.Gzip+c.Zstd+c.Blames {
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(c.Duration) // the load lasts so long
	cancel()
	all.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(c.report); err != nil {
		panic(err)
	}
}

// rush are the clients.
type rush struct {
	rushOrders
	mu     sync.Mutex
	report rushReport
}

func newRush(orders rushOrders) *rush {
	return &rush{rushOrders: orders, report: rushReport{Statuses: make(map[string]map[int]int)}}
}

func (c *rush) count(kind string, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report.Statuses[kind] == nil {
		c.report.Statuses[kind] = make(map[int]int)
	}
	c.report.Statuses[kind][status]++
}

// replies is how many requests of these kinds are over or were answered.
func (c *rush) replies(kinds ...string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kind := range kinds {
		for _, times := range c.report.Statuses[kind] {
			n += times
		}
	}
	return n
}

func (c *rush) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Faults = append(c.report.Faults, fmt.Sprintf(format, args...))
}

// run sends one request from an address of its own, and reads the reply slowly.
func (c *rush) run(ctx context.Context, kind string, i int, ask func(context.Context, int) (*http.Request, error)) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(2+i%rushAddresses))}}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(
		ctx context.Context, network, address string,
	) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(16 << 10)
		}
		return conn, err
	}}
	request, err := ask(ctx, i)
	if err != nil {
		c.fault("%s: %v", kind, err)
		return
	}
	reply, err := transport.RoundTrip(request)
	if err != nil {
		c.count(kind, 0)
		return
	}
	defer func() { _ = reply.Body.Close() }()
	c.count(kind, reply.StatusCode)
	if reply.StatusCode == http.StatusTooManyRequests || reply.StatusCode == http.StatusServiceUnavailable {
		if seconds, err := strconv.Atoi(reply.Header.Get("Retry-After")); err != nil || seconds < 1 {
			c.fault("%s: %s with Retry-After %q", kind, reply.Status, reply.Header.Get("Retry-After"))
		}
		return
	}
	for ctx.Err() == nil {
		if _, err := io.CopyN(io.Discard, reply.Body, 1<<10); err != nil {
			return
		}
		time.Sleep(100 * time.Millisecond) // it reads 10 KB a second
	}
}

// download asks for archives of which no two are alike.
func (c *rush) download(format string) func(context.Context, int) (*http.Request, error) {
	return func(ctx context.Context, i int) (*http.Request, error) {
		url := fmt.Sprintf("%s/archive/%s/%s.%s?prefix=p%d/", c.URL, c.Repository, c.Refs[i%len(c.Refs)], format, i)
		return http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	}
}

func (c *rush) blame(ctx context.Context, i int) (*http.Request, error) {
	return c.message(ctx, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+
		`{"name":"get_file_blame","arguments":{"repo":%q,"ref":%q,"path":%q},"_meta":`+
		`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		c.Repository, c.Refs[i%len(c.Refs)], c.File)), "tools/call", "get_file_blame")
}

// body sends a megabyte but for its end.
func (c *rush) body(ctx context.Context, _ int) (*http.Request, error) {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = w.Close() })
	go func() {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"`+
			strings.Repeat("x", 1<<20-100))
	}()
	request, err := c.message(ctx, r, "ping", "")
	if err == nil {
		request.ContentLength = 1 << 20
	}
	return request, err
}

func (c *rush) message(ctx context.Context, body io.Reader, method, name string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/mcp", body)
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method},
	}
	if name != "" {
		request.Header.Set("Mcp-Name", name)
	}
	return request, nil
}

// watchHealth asks the operator's listener how the server is, over new connections, and
// returns how long each reply took, the shortest first.
func watchHealth(ctx context.Context, t *testing.T, url string) (waits []time.Duration) {
	probe := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		start := time.Now()
		request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, url, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		reply, err := probe.Do(request)
		waits = append(waits, time.Since(start))
		if err != nil {
			t.Errorf("after %v: %v", time.Since(start), err)
			continue
		}
		_ = reply.Body.Close()
		if reply.StatusCode != http.StatusOK {
			t.Errorf("the health: %s", reply.Status)
		}
	}
	slices.Sort(waits)
	return waits
}

// status is how a download is answered, which is not read.
func (p *process) status(path string) int {
	p.tb.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, p.url+path, nil)
	if err != nil {
		p.tb.Fatal(err)
	}
	reply, err := p.client.Do(request)
	if err != nil {
		p.tb.Fatal(err)
	}
	_ = reply.Body.Close()
	return reply.StatusCode
}

// confine makes a control group of so much memory, if the machine allows it, and returns a function that
// puts a process into it. Call it before the process starts: the group is removed after the process.
func confine(t *testing.T, memory int64) (enter func(pid int) bool) {
	t.Helper()
	group, err := os.MkdirTemp("/sys/fs/cgroup/memory", "repomcp-test-")
	if err != nil {
		return func(int) bool { return false }
	}
	t.Cleanup(func() {
		if err := gittest.Wait(func() error { return os.Remove(group) }); err != nil {
			t.Error(err)
		}
	})
	write := func(name string, n int64) bool {
		return os.WriteFile(filepath.Join(group, name), []byte(strconv.FormatInt(n, 10)), 0o644) == nil
	}
	return func(pid int) bool { return write("memory.limit_in_bytes", memory) && write("cgroup.procs", int64(pid)) }
}

// residentPeak is the most that a process had in memory. It fails when that has ended.
func residentPeak(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("the process has ended")
	return 0
}
