package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/logtest"
)

// process is the real program, started.
type process struct {
	tb     testing.TB
	cmd    *exec.Cmd
	url    string
	client *http.Client
	done   chan error
}

// program is the file of the program. testscript puts this very binary on the PATH
// by that name, and then it is nothing else: see TestMain.
func program(tb testing.TB) (binary string) {
	tb.Helper()
	gittest.Long(tb)
	binary, err := exec.LookPath("repomcp")
	if err != nil {
		tb.Fatal(err)
	}
	return binary
}

// start runs the program, which serves root until the test ends.
func start(tb testing.TB, root string, flags ...string) *process {
	tb.Helper()
	return startProgram(tb, program(tb), root, flags...)
}

// startPlain is start for the program without the race detector, which takes several
// times the memory. It is built where the tests have the detector.
func startPlain(tb testing.TB, root string, flags ...string) *process {
	tb.Helper()
	info, _ := debug.ReadBuildInfo()
	if info == nil || !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return start(tb, root, flags...)
	}
	binary := filepath.Join(tb.TempDir(), "repomcp")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, ".")
	build.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, said)
	}
	return startProgram(tb, binary, root, flags...)
}

func startProgram(tb testing.TB, binary, root string, flags ...string) *process {
	tb.Helper()
	p := &process{tb: tb, done: make(chan error, 1), client: &http.Client{Transport: &http.Transport{}}}
	p.cmd = exec.Command(binary, append([]string{"serve", "--root", root, "--listen", "127.0.0.1:0"}, flags...)...)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for p.url == "" && lines.Scan() {
		if match := listening.FindStringSubmatch(lines.Text()); match != nil {
			p.url = match[1]
		}
	}
	go func() {
		for lines.Scan() { // keep the pipe empty
		}
		p.done <- p.cmd.Wait()
	}()
	tb.Cleanup(func() {
		p.client.CloseIdleConnections()
		_ = p.cmd.Process.Kill() // it may have ended
	})
	if p.url == "" {
		tb.Fatal("the server did not say where it listens")
	}
	return p
}

// stream starts a download and returns its body.
func (p *process) stream(uri string) io.ReadCloser {
	p.tb.Helper()
	message := fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"resources/stream","params":{"uri":%q,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"resourceStreaming":{}}}}}`, uri)
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, p.url+"/mcp",
		strings.NewReader(message))
	if err != nil {
		p.tb.Fatal(err)
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, */*"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"resources/stream"},
	}
	response, err := p.client.Do(request)
	if err != nil {
		p.tb.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Mcp-Resource-Uri") == "" {
		body, _ := io.ReadAll(response.Body)
		p.tb.Fatalf("%s: %s", response.Status, body)
	}
	return response.Body
}

// bulk is more than the socket buffers of a loopback connection hold.
const bulk = 16 << 20

func bulkyRoot(t *testing.T) (root string, repo *gittest.Repo) {
	root = t.TempDir()
	repo = gittest.At(t, filepath.Join(root, "repo.git"))
	repo.Commit("main", gittest.Regular("large", gittest.Noise(bulk)), gittest.Regular("z", "last\n"))
	return root, repo
}

func TestSIGTERMDuringAStreamLetsItFinish(t *testing.T) {
	gittest.Long(t)
	root, repo := bulkyRoot(t)
	p := start(t, root)
	body := p.stream("repo://repo/archive/main.tar.gz")
	head := make([]byte, 64<<10)
	if _, err := io.ReadFull(body, head); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// Wait until the server refuses new connections: it is draining now.
	for {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := fresh.Do(request)
		if err != nil {
			break
		}
		_ = response.Body.Close() // only its status was of interest
	}
	zr, err := gzip.NewReader(io.MultiReader(bytes.NewReader(head), body))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(zr)
	if err != nil {
		t.Fatalf("the stream did not survive SIGTERM: %v", err)
	}
	if !bytes.Equal(got, repo.Archive("--format=tar", "main")) {
		t.Error("the archive differs")
	}
	if err := errors.Join(body.Close(), <-p.done); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

func TestEndOfTheDrainTimeAbortsVisibly(t *testing.T) {
	gittest.Long(t)
	root, _ := bulkyRoot(t)
	p := start(t, root, "--drain-timeout", "300ms")
	body := p.stream("repo://repo/archive/main.tar.gz")
	if _, err := io.ReadFull(body, make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := <-p.done; !errors.As(err, &exit) || exit.ExitCode() != cli.ExitFailed {
		t.Errorf("the server ended with %v, want exit code %d", err, cli.ExitFailed)
	}
	if n, err := io.Copy(io.Discard, body); err == nil {
		t.Errorf("after the drain time the stream ended cleanly, %d bytes on", n)
	}
	_ = body.Close() // the connection is gone
}

// launchBy starts the program by a shell's command, in which $0 is the program,
// and returns what it says until it listens.
func launchBy(t *testing.T, command, root string, flags ...string) (p *process, said *logtest.Log) {
	t.Helper()
	p = &process{tb: t, done: make(chan error, 1),
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}}
	p.cmd = exec.Command("sh", append([]string{"-c", command + ` exec "$0" "$@"`, program(t), "serve", "--root", root,
		"--listen", "127.0.0.1:0"}, flags...)...)
	p.cmd.Env = append(os.Environ(), "REPOMCP_RAED_LIMIT=1")
	said = &logtest.Log{}
	p.cmd.Stderr = said
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it may have ended
	p.url = said.Await(t, listeningAnywhere)[1]
	return p, said
}

// listeningAnywhere finds the address in what is said as text and as JSON.
const listeningAnywhere = `(?:listening on |"address":")(http://[^",]+)`

func (p *process) get(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := p.client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // only read from
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// Connections that do nothing leave descriptors for packs, and are closed for
// those that ask for something.
func TestIdleConnectionsLeaveRoom(t *testing.T) {
	p, _ := launchBy(t, "ulimit -n 256;", "../../testrepos")
	address := strings.TrimPrefix(p.url, "http://")
	for range 300 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // the server may have closed it
	}
	start := time.Now()
	for _, path := range []string{"/healthz", "/archive/hello/main.tar", "/archive/media/main.tar.gz"} {
		if status, body := p.get(t, p.url+path); status != http.StatusOK {
			t.Errorf("%s: %d %.200s", path, status, body)
		}
	}
	// Idle connections are closed by themselves after ten seconds.
	if took := time.Since(start); took > 9*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A server that shells started in the background has SIGINT ignored at first.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	gittest.Long(t)
	root, _ := bulkyRoot(t)
	p, said := launchBy(t, "trap '' INT;", root, "--drain-timeout", "5m")
	response, err := p.client.Get(p.url + "/archive/repo/main.tar")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it is broken off
	for _, step := range []struct {
		signal syscall.Signal
		says   string
	}{{syscall.SIGHUP, "SIGHUP: read again"}, {syscall.SIGINT, "stopping: downloads may finish"}} {
		if err := p.cmd.Process.Signal(step.signal); err != nil {
			t.Fatal(err)
		}
		said.Await(t, step.says)
	}
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.done:
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitSignal {
			t.Errorf("the server ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the server waits for a download")
	}
}

// A server that listens on all interfaces prints an address that works, and machines
// are asked by their names.
func TestWildcardListenerPrintsAnAddressThatWorks(t *testing.T) {
	p, said := launchBy(t, "", "../../testrepos", "--listen", "0.0.0.0:0", "--insecure-no-auth", "--log-format", "json")
	if status, body := p.get(t, p.url+"/repositories"); status != http.StatusOK {
		t.Errorf("%s: %d %s", p.url, status, body)
	}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{name: http.StatusOK, "evil.example": http.StatusForbidden} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://127.0.0.1:"+port+"/repositories", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host + ":" + port
		response, err := p.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != want {
			t.Errorf("Host %s: %s, %v", host, response.Status, err)
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-p.done; err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(said.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	for _, want := range []string{`"within_seconds":30`, `"msg":"stopped"`, `"variable":"REPOMCP_RAED_LIMIT"`,
		`"msg":"request","method":"GET","path":"/repositories"`} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, said)
		}
	}
}

// memory reads a figure of /proc/PID/status in MiB.
func (p *process) memory(b *testing.B, name string) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib / 1024
		}
	}
	b.Fatalf("/proc has no %s", name)
	return 0
}

// BenchmarkOneGiBFile streams the archive of a repository that holds one
// undeltified file of 1 GiB, and the file itself, and reports the peak memory
// of the server above what it has when idle.
//
//	go test -run '^$' -bench OneGiBFile -benchtime 1x ./cmd/repomcp
func BenchmarkOneGiBFile(b *testing.B) {
	const size = 1 << 30
	root := b.TempDir()
	repo := gittest.At(b, filepath.Join(root, "repo.git"))
	sum := commitNoise(b, repo, size)
	for name, uri := range map[string]string{
		"tar.gz": "repo://repo/archive/main.tar.gz", "tar": "repo://repo/archive/main.tar",
		"file": "repo://repo/contents/large",
	} {
		b.Run(name, func(b *testing.B) {
			p := start(b, root)
			// One small request first: idle is what a server in use falls back to.
			_, err := io.Copy(io.Discard, p.stream("repo://repo/contents/small"))
			if err != nil {
				b.Fatal(err)
			}
			idle := p.memory(b, "VmRSS")
			b.SetBytes(size)
			for b.Loop() {
				body := p.stream(uri)
				got := sha256.New()
				n, err := io.Copy(got, body)
				if err := errors.Join(err, body.Close()); err != nil || n < size {
					b.Fatalf("%d bytes, %v", n, err)
				}
				if strings.HasSuffix(uri, "large") && !bytes.Equal(got.Sum(nil), sum) {
					b.Fatal("the content differs")
				}
			}
			b.ReportMetric(idle, "idle-MiB")
			b.ReportMetric(p.memory(b, "VmHWM")-idle, "peak-above-idle-MiB")
		})
	}
}

// commitNoise commits a file of incompressible bytes without holding it, and
// returns its digest.
func commitNoise(b *testing.B, repo *gittest.Repo, size int64) []byte {
	b.Helper()
	reader, writer := io.Pipe()
	sum := sha256.New()
	go func() {
		_, err := fmt.Fprintf(writer, "commit refs/heads/main\ncommitter A U Thor <author@example.com> %d "+
			"+0000\ndata 6\nlarge\n\nM 100644 inline small\ndata 6\nsmall\n\nM 100644 inline large\ndata %d\n",
			time.Now().Unix(), size)
		if err == nil {
			_, err = io.CopyN(io.MultiWriter(writer, sum), rand.NewChaCha8([32]byte{}), size)
		}
		if err == nil {
			_, err = io.WriteString(writer, "\n")
		}
		writer.CloseWithError(err)
	}()
	// Above the threshold git writes a blob as it is, without a delta.
	cmd := exec.Command("git", "-c", "core.bigFileThreshold=1m", "-c", "core.compression=0", "fast-import", "--quiet")
	cmd.Dir, cmd.Env, cmd.Stdin = repo.Dir, gittest.Env(), reader
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git fast-import: %v\n%s", err, out)
	}
	return sum.Sum(nil)
}
