package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/repomcp/repomcp/internal/access/tokens"
	"github.com/repomcp/repomcp/internal/gittest"
)

// patience is how long clients try again when a machine is too busy: for what never comes, not for what
// is slow.
const patience = 2 * time.Minute

// fleet is what deploy/compose.yaml describes, as processes of this machine:
// the settings of the replicas are those of that file, and HAProxy runs with
// deploy/haproxy.cfg as it is.
type fleet struct {
	t        *testing.T
	origin   *gittest.Repo
	replicas []*server
	balancer *server
	redis    *server
	gateway  *server
	bucket   string // its folder
	token    string // of the clients

	transport *http.Transport
}

// server is a process that a test started; it alone is ended.
type server struct {
	cmd     *exec.Cmd
	address string
	ended   bool
	again   func() *exec.Cmd // makes the same process
	mirror  string           // of a replica
	log     string
}

// programs finds what a story needs, or skips it.
func programs(t *testing.T, names ...string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			// Debian's daemons are here, which is not in every PATH.
			path, err = exec.LookPath(filepath.Join("/usr/sbin", name))
		}
		if err != nil {
			t.Skipf("ABSENT: %s, without which this was not tested", name)
		}
		found[name] = path
	}
	return found
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// launch starts a process and waits until it accepts connections.
func launch(t *testing.T, address string, again func() *exec.Cmd) *server {
	t.Helper()
	s := &server{address: address, again: again, log: filepath.Join(t.TempDir(), "log"), ended: true}
	t.Cleanup(func() {
		s.kill(t)
		if t.Failed() {
			log, err := os.ReadFile(s.log)
			t.Logf("the log of %s ends with %v\n%s", s.cmd.Args[0], err, log[max(0, len(log)-4000):])
		}
	})
	s.start(t)
	return s
}

func (s *server) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	s.cmd, s.ended = s.again(), false
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := gittest.WaitForListener(s.address); err != nil {
		t.Fatalf("%s does not listen: %v", s.cmd.Args[0], err)
	}
}

// kill ends the process as a machine that loses its power does.
func (s *server) kill(t *testing.T) {
	t.Helper()
	if s.ended {
		return
	}
	s.ended = true
	if err := s.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = s.cmd.Wait() // it was killed
}

func (s *server) url() string { return "http://" + s.address }

// answered is the number of requests of clients that a replica has given an
// archive, or sent to one.
func (s *server) answered(t *testing.T) (n int) {
	t.Helper()
	log, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		good := strings.Contains(line, `"status":200,`) || strings.Contains(line, `"status":302,`)
		if good && !strings.Contains(line, `"/healthz"`) {
			n++
		}
	}
	return n
}

// stalled returns the number of a replica's connections with unread bytes, according to the kernel. It
// reads the network namespace of its own thread: that of the process is that of its first thread,
// which another test may have changed.
func (s *server) stalled(t *testing.T) (n int) {
	t.Helper()
	table, err := os.ReadFile("/proc/thread-self/net/tcp") // see proc_pid_net(5)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := net.SplitHostPort(s.address)
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	const established = "01"
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) && fields[3] == established &&
			!strings.HasPrefix(fields[4], "00000000:") {
			n++
		}
	}
	return n
}

// settingsOfReplicas reads the environment of the replicas in compose.yaml.
func settingsOfReplicas(t *testing.T) []map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct {
			Command     []string
			Environment map[string]string
		}
	}
	if err := yaml.Unmarshal(text, &compose); err != nil {
		t.Fatal(err)
	}
	var list []map[string]string
	for _, name := range []string{"replica1", "replica2", "replica3"} {
		service := compose.Services[name]
		if strings.Join(service.Command, " ") != "serve" || len(service.Environment) < 10 {
			t.Fatalf("%s is %+v", name, service)
		}
		list = append(list, service.Environment)
	}
	return list
}

// newFleet starts all of it over mirrors of one repository.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	path := programs(t, "haproxy", "redis-server", "versitygw")
	f := &fleet{t: t, origin: gittest.New(t), transport: &http.Transport{DisableCompression: true}}
	fillOrigin(f.origin)
	dir := t.TempDir()
	f.bucket = filepath.Join(dir, "s3", "archives")
	if err := os.MkdirAll(f.bucket, 0o750); err != nil {
		t.Fatal(err)
	}
	redis, gateway, balancer := freeAddress(t), freeAddress(t), freeAddress(t)
	f.redis = launch(t, redis, func() *exec.Cmd {
		host, port, _ := net.SplitHostPort(redis)
		return exec.Command(path["redis-server"], "--bind", host, "--port", port, "--dir", dir, "--maxmemory-policy",
			"noeviction", "--appendonly", "yes", "--appendfsync", "everysec", "--save", "")
	})
	f.gateway = launch(t, gateway, func() *exec.Cmd {
		return exec.Command(path["versitygw"], "--access", "repomcp", "--secret", "secret", "--port", gateway,
			"--quiet", "posix", filepath.Dir(f.bucket))
	})
	binary := program(t)
	for i, settings := range settingsOfReplicas(t) {
		f.replicas = append(f.replicas, f.replica(binary, filepath.Join(dir, fmt.Sprint("replica", i+1)), settings,
			map[string]string{
				"redis:6379": redis, "http://s3:7070": f.gateway.url(), "http://127.0.0.1:7070": f.gateway.url(),
				"http://127.0.0.1:8080": "http://" + balancer,
				"/run/repomcp":          f.access(dir), "/run/secrets": keys(t, dir),
				"${S3_SECRET:?set it, for example in .env}": "secret",
			}))
	}
	config, err := filepath.Abs("../../deploy/haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	haproxy := func(flags ...string) *exec.Cmd {
		cmd := exec.Command(path["haproxy"], append(flags, "-f", config)...)
		cmd.Env = append(os.Environ(), "LISTEN="+balancer)
		for i, replica := range f.replicas {
			cmd.Env = append(cmd.Env, fmt.Sprintf("REPLICA_%d=%s", i+1, replica.address))
		}
		return cmd
	}
	if out, err := haproxy("-c").CombinedOutput(); err != nil {
		t.Fatalf("haproxy.cfg: %v\n%s", err, out)
	}
	f.balancer = launch(t, balancer, func() *exec.Cmd { return haproxy("-db") })
	return f
}

// access is a folder with the file of tokens, of which one is for the clients.
func (f *fleet) access(dir string) string {
	f.t.Helper()
	if f.token != "" {
		return dir
	}
	token, entry, err := tokens.New("clients", nil, 0, time.Now())
	if err != nil {
		f.t.Fatal(err)
	}
	if err := tokens.Add(filepath.Join(dir, "tokens"), entry); err != nil {
		f.t.Fatal(err)
	}
	f.token = token
	return dir
}

// RoundTrip sends a request with the token of the clients, but not to the bucket.
func (f *fleet) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if r.Header.Del("Authorization"); r.URL.Host != f.gateway.address {
		r.Header.Set("Authorization", "Bearer "+f.token)
	}
	return f.transport.RoundTrip(r)
}

// keys are the secrets of compose.yaml.
func keys(t *testing.T, dir string) string {
	t.Helper()
	for name, text := range map[string]string{
		"link-keys":   "2026-01-01T00:00:00Z first MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY=\n",
		"session-key": strings.Repeat("session", 10),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// replica starts one with a mirror and a folder of its own.
func (f *fleet) replica(binary, dir string, settings, places map[string]string) *server {
	f.t.Helper()
	address := freeAddress(f.t)
	mirror := filepath.Join(dir, "git", "team", "app.git")
	f.origin.Git("clone", "--quiet", "--mirror", f.origin.Dir, mirror)
	places["/srv/git"], places["/var/cache/repomcp"], places["0.0.0.0:8080"] = filepath.Join(dir,
		"git"), filepath.Join(dir, "cache"), address
	var pairs []string
	for from, to := range places {
		pairs = append(pairs, from, to)
	}
	place := strings.NewReplacer(pairs...)
	env := os.Environ()
	for name, value := range settings {
		env = append(env, name+"="+place.Replace(value))
	}
	s := launch(f.t, address, func() *exec.Cmd {
		cmd := exec.Command(binary, "serve")
		cmd.Env = env
		return cmd
	})
	s.mirror = mirror
	return s
}

// follow brings replicas' mirrors up to date.
func (f *fleet) follow(replicas ...*server) {
	f.t.Helper()
	for _, s := range replicas {
		f.origin.Git("-C", s.mirror, "fetch", "--quiet", "--prune", "origin")
	}
}

// seals is the number of whole objects in the bucket.
func (f *fleet) seals() int {
	f.t.Helper()
	list, err := filepath.Glob(filepath.Join(f.bucket, "*.seal"))
	if err != nil {
		f.t.Fatal(err)
	}
	return len(list)
}

// mcpRequest is a request of 2026-07-28.
func mcpRequest(t *testing.T, base, method, uri string, meta map[string]any) *http.Request {
	t.Helper()
	all := map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"resourceStreaming": map[string]any{}}}
	for name, value := range meta {
		all[name] = value
	}
	params := map[string]any{"_meta": all}
	header := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream, */*"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method},
	}
	if uri != "" {
		params["uri"] = uri
		header.Set("Mcp-Name", uri)
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/mcp",
		strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	return request
}

func getRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

var (
	// errVisible is a failure that a client cannot overlook.
	errVisible = errors.New("a visible failure")
	errBusy    = errors.New("503 with Retry-After")
	// errWrong is one that a client may take for the archive.
	errWrong = errors.New("WRONG BYTES")
)

// same compares what comes with what should, without holding it. It returns how
// much was right.
func same(r io.Reader, want []byte) (int64, error) {
	buffer := make([]byte, 64<<10)
	for n := 0; ; {
		got, err := r.Read(buffer)
		if string(want[min(n, len(want)):min(n+got, len(want))]) != string(buffer[:got]) {
			return int64(n), fmt.Errorf("%w at %d", errWrong, n)
		}
		n += got
		switch {
		case errors.Is(err, io.EOF) && n == len(want):
			return int64(n), nil
		case errors.Is(err, io.EOF):
			return int64(n), fmt.Errorf("%w: a clean end after %d of %d", errWrong, n, len(want))
		case err != nil:
			return int64(n), fmt.Errorf("%w: %w", errVisible, err)
		}
	}
}
