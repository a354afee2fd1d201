package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/logtest"
)

const (
	// churned mirrors are rewritten all the time; one beside them never is.
	churned = 3
	// remembered archives of a mirror are held whole, for ranges; of others the digest is.
	remembered = 24
	soakFiles  = 24
)

// pushed is one commit of a mirror, as git has it.
type pushed struct {
	commit string
	serial int
	tar    []byte // nil when it is too long ago
	sum    [sha256.Size]byte
}

// content is what a file has in the commit with that serial number: about a third of
// the files changes from one to the next.
func (m *churnedMirror) content(serial int) map[string]string {
	files := map[string]string{"README.md": fmt.Sprintf("%s %d\n", m.name, serial)}
	for i := range soakFiles {
		of := serial - (serial+i)%3
		files[fmt.Sprintf("d%d/f%02d.txt", i%4, i)] = fmt.Sprintf("%s %d of %d\n%s", m.name, i, of,
			gittest.SeededNoise(uint64(of*100+i), 400*i))
	}
	return files
}

// churnedMirror is a mirror, the repository that it is fetched from, and what was
// published of it.
type churnedMirror struct {
	*soak
	name   string
	origin *gittest.Repo
	dir    string
	random *rand.Rand

	// epoch grows when the mirror is removed and when it returns: requests in between may be
	// refused.
	epoch     atomic.Int64
	published atomic.Int64 // the serial that every new request must have at least

	mu       sync.Mutex
	versions map[string]*pushed
	order    []*pushed
}

// soak is a server under load over mirrors that are rewritten.
type soak struct {
	t       *testing.T
	root    string
	mirrors []*churnedMirror // the first one is never touched again
	flags   []string

	// turn is held by clients at work, and locked for measurements.
	turn  sync.RWMutex
	p     *process
	said  *logtest.Log // what is wrong, in the server's eyes
	admin string
	lives atomic.Int64 // grows when the server is killed and when it is back

	mu       sync.Mutex
	counts   map[string]int
	problems []string
}

func newSoak(t *testing.T) *soak {
	s := &soak{t: t, root: t.TempDir(), counts: make(map[string]int)}
	s.flags = []string{"--rescan", "500ms", "--log-level", "error", "--cache-dir", t.TempDir(), "--cache-bytes", "20MB",
		"--search-cache", "1MiB", "--history-cache", "4MiB"}
	for i := range churned + 1 {
		m := &churnedMirror{
			soak: s, name: fmt.Sprint("app", i), random: rand.New(rand.NewPCG(uint64(i), 1)),
			versions: make(map[string]*pushed),
		}
		m.dir = filepath.Join(s.root, m.name+".git")
		m.origin = gittest.At(t, filepath.Join(t.TempDir(), m.name+".git"))
		for serial := range 5 {
			m.commit(serial)
		}
		m.clone()
		m.published.Store(4)
		s.mirrors = append(s.mirrors, m)
	}
	s.launch()
	return s
}

func (s *soak) launch() {
	address := freeAddress(s.t)
	s.p, s.said = launchBy(s.t, "", s.root, append([]string{"--admin-listen", address}, s.flags...)...)
	s.admin = "http://" + address
	s.p.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Second}}
}

// kill ends the server as the kernel does without memory, and starts another one over
// the same cache.
func (s *soak) kill() {
	s.lives.Add(1)
	if err := s.p.cmd.Process.Kill(); err != nil {
		s.t.Error(err)
	}
	if err := <-s.p.done; err == nil {
		s.problem("a killed server ended well")
	}
	s.turn.Lock() // earlier requests have ended
	defer s.turn.Unlock()
	s.launch()
	s.lives.Add(1)
}

// wasAway reports whether the server was killed since a life of it, and perhaps still is.
func (s *soak) wasAway(life int64) bool { return life%2 == 1 || life != s.lives.Load() }

func (s *soak) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

// problem is what must not be. The test goes on, since the first may not be the worst.
func (s *soak) problem(format string, arguments ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["problems"]++
	if len(s.problems) < 20 {
		s.problems = append(s.problems, fmt.Sprintf(format, arguments...))
	}
}

// commit makes the next commit of the origin, and notes what git says of it.
func (m *churnedMirror) commit(serial int) {
	files := []gittest.File{}
	for _, path := range slices.Sorted(maps.Keys(m.content(serial))) {
		files = append(files, gittest.Regular(path, m.content(serial)[path]))
	}
	v := &pushed{commit: m.origin.Commit("main", files...), serial: serial}
	v.tar = m.origin.Archive("--format=tar", v.commit)
	v.sum = sha256.Sum256(v.tar)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.versions[v.commit] = v
	if m.order = append(m.order, v); len(m.order) > remembered {
		m.order[len(m.order)-remembered-1].tar = nil
	}
}

// find returns what is known of a commit, or nil.
func (m *churnedMirror) find(commit string) *pushed {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.versions[commit]
}

// recent is one of the commits whose archive is held.
func (m *churnedMirror) recent(random *rand.Rand) (v pushed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	newest := m.order[max(0, len(m.order)-remembered/2):]
	return *newest[random.IntN(len(newest))]
}

// clone puts a whole mirror into its place at once.
func (m *churnedMirror) clone() {
	beside := filepath.Join(m.t.TempDir(), "clone.git")
	m.git("", "clone", "-q", "--mirror", "--no-local", m.origin.Dir, beside)
	m.git(beside, "config", "transfer.unpackLimit", "1") // as busy servers have it: what comes stays a pack
	m.git(beside, "config", "gc.auto", "0")
	if err := os.Rename(beside, m.dir); err != nil {
		m.problem("%v", err)
	}
}

func (m *churnedMirror) git(dir string, arguments ...string) {
	command := exec.Command("git", arguments...)
	command.Dir, command.Env = dir, gittest.Env()
	if out, err := command.CombinedOutput(); err != nil {
		m.problem("git %v: %v: %.300s", arguments, err, out)
	}
}

// event is what happens to mirrors.
type event struct {
	name   string
	weight int // how often
	do     func(m *churnedMirror)
}

var events = []event{
	{"push", 10, func(m *churnedMirror) { m.push(false) }},
	{"force-push", 4, func(m *churnedMirror) { m.push(true) }},
	{"repack", 3, func(m *churnedMirror) { m.git(m.dir, "-c", "pack.threads=1", "repack", "-adfq") }},
	{"gc", 2, func(m *churnedMirror) { m.git(m.dir, "gc", "-q", "--prune=now") }},
	{"pack-refs", 2, func(m *churnedMirror) { m.git(m.dir, "pack-refs", "--all") }},
	{"commit-graph", 1, func(m *churnedMirror) {
		m.git(m.dir, "commit-graph", "write", "--reachable", "--changed-paths")
	}},
	{"multi-pack-index", 1, func(m *churnedMirror) { m.git(m.dir, "multi-pack-index", "write") }},
	{"killed repack", 1, (*churnedMirror).killedRepack},
	{"deletion", 1, (*churnedMirror).replace},
}

// push commits, after an older commit if it is forced, and has the mirror fetch.
func (m *churnedMirror) push(forced bool) {
	serial := int(m.published.Load()) + 1
	if forced {
		m.origin.Git("update-ref", "refs/heads/main", "main~2")
	}
	m.commit(serial)
	m.git(m.dir, "fetch", "-q", "--prune", "origin")
	m.published.Store(int64(serial))
}

// killedRepack leaves what git leaves when it is killed.
func (m *churnedMirror) killedRepack() {
	command := exec.Command("git", "-c", "pack.threads=1", "repack", "-adfq")
	command.Dir, command.Env = m.dir, gittest.Env()
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		m.problem("%v", err)
		return
	}
	time.Sleep(time.Duration(m.random.IntN(20)) * time.Millisecond)
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // it may have ended
	_ = command.Wait()
	_ = filepath.WalkDir(m.dir, func(name string, _ fs.DirEntry, _ error) error {
		if strings.HasSuffix(name, ".lock") {
			return os.Remove(name)
		}
		return nil
	})
}

// replace deletes the mirror, and later makes it anew.
func (m *churnedMirror) replace() {
	m.epoch.Add(1)
	if err := os.RemoveAll(m.dir); err != nil {
		m.problem("%v", err)
	}
	time.Sleep(time.Duration(m.random.IntN(300)) * time.Millisecond)
	m.clone()
	// Known again when the root was looked through, at the latest.
	life := m.lives.Load()
	if err := gittest.Wait(func() error {
		status, body, err := m.p.fetch("/refs/" + m.name)
		if err == nil && status == http.StatusOK || m.wasAway(life) { // another server scans at its start
			return nil
		}
		return fmt.Errorf("%d %.300s, %w", status, body, err)
	}); err != nil {
		m.problem("%s does not come back: %v", m.name, err)
	}
	m.epoch.Add(1)
}

// wasGone reports whether the mirror was taken away since an epoch of it, and perhaps
// still is.
func (m *churnedMirror) wasGone(epoch int64) bool { return epoch%2 == 1 || epoch != m.epoch.Load() }

// churn has one thing after the other happen to the mirror: first its share of all that
// may, and then by chance.
func (m *churnedMirror) churn(ctx context.Context, share int) {
	for ; ctx.Err() == nil; share += churned {
		m.turn.RLock()
		e := &events[min(share, len(events)-1)]
		if share >= len(events) {
			e = m.anyEvent()
		}
		e.do(m)
		m.count(e.name)
		m.turn.RUnlock()
		time.Sleep(time.Duration(30+m.random.IntN(40)) * time.Millisecond)
	}
}

func (m *churnedMirror) anyEvent() *event {
	total := 0
	for _, e := range events {
		total += e.weight
	}
	at, left := 0, m.random.IntN(total)
	for left >= events[at].weight {
		left -= events[at].weight
		at++
	}
	return &events[at]
}

// figures of the server while it has nothing to do.
type figures struct{ heap, resident, goroutines, descriptors float64 }

func (f figures) String() string {
	return fmt.Sprintf("live heap %.1f MB, resident %.1f MB, %v goroutines, %v descriptors without those of packs",
		f.heap/1e6, f.resident/1e6, f.goroutines, f.descriptors)
}

// measure stops all clients and waits until the server is idle.
func (s *soak) measure() (f figures) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.p.client.CloseIdleConnections()
	number := func(name string) float64 { return s.p.number(s.t, s.admin, name) }
	if err := gittest.Wait(func() error {
		if n := number("repomcp_streams_in_flight") + number("repomcp_snapshots_open") +
			number("repomcp_http_requests_in_flight"); n > 0 {
			return fmt.Errorf("%v streams, snapshots and requests are left although all clients have gone", n)
		}
		return nil
	}); err != nil {
		s.problem("%v", err)
	}
	time.Sleep(500 * time.Millisecond) // no metric counts the goroutines of connections that were reset
	for range 2 {
		if status, _, err := (&process{url: s.admin, client: s.p.client}).fetch("/debug/pprof/heap?gc=1"); err != nil ||
			status != http.StatusOK {
			s.problem("no profile: %d, %v", status, err)
		}
	}
	f.heap, f.resident = number("go_memstats_heap_alloc_bytes"), number("process_resident_memory_bytes")
	f.goroutines = number("go_goroutines")
	f.descriptors = number("process_open_fds") - number("repomcp_pack_descriptors_open")
	return f
}

// TestSoak runs a server under load while its mirrors are fetched into, force-pushed,
// repacked, deleted and made anew, git is killed, and clients break off. Every reply is
// compared with what git says of the commit that it names. With REPOMCP_SOAK=1 it takes
// ten minutes.
func TestSoak(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s := newSoak(t)
	phase := time.Duration(gittest.Volume(1000, 150_000)) * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	for i, m := range s.mirrors[1:] {
		running.Go(func() { m.churn(ctx, i) })
	}
	for i, c := range soakClients {
		for n := range c.count {
			running.Go(func() { s.ask(ctx, c.name, c.run, rand.New(rand.NewPCG(uint64(i), uint64(n)))) })
		}
	}
	time.Sleep(phase / 2)
	s.kill()
	time.Sleep(phase)
	warm := s.measure()
	for range 2 {
		time.Sleep(phase)
		t.Log(s.measure())
	}
	time.Sleep(phase / 2)
	end := s.measure()
	stop()
	running.Wait()
	s.report(warm, end)
	if err := s.p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-s.p.done; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// report fails the test over what was wrong, over growth, and if too little was done.
func (s *soak) report(warm, end figures) {
	for _, p := range s.problems {
		s.t.Error(p)
	}
	s.t.Logf("after warming up: %v", warm)
	s.t.Logf("at the end: %v", end)
	var lines bytes.Buffer
	for _, what := range slices.Sorted(maps.Keys(s.counts)) {
		fmt.Fprintf(&lines, "  %d %s", s.counts[what], what)
	}
	s.t.Log("counted:", lines.String())
	said := strings.SplitAfter(s.said.String(), "\n")
	for _, line := range said {
		if strings.Contains(line, "panicked") || strings.Contains(line, "panic=true") {
			s.t.Error(line)
		}
	}
	s.t.Logf("the end of what the server says: %s", said[max(0, len(said)-10):])
	if n := s.counts["problems"]; n > 0 {
		s.t.Errorf("%d problems", n)
	}
	// Caches fill up to their bounds of some MB, and the collector keeps what was used.
	if end.heap > 1.25*warm.heap+12e6 || end.resident > 1.5*warm.resident+64e6 {
		s.t.Error("memory grows")
	}
	if end.goroutines > warm.goroutines+4 || end.descriptors > warm.descriptors+4 {
		s.t.Error("goroutines or descriptors are left behind")
	}
	for _, e := range events {
		if s.counts[e.name] == 0 {
			s.t.Errorf("there was no %s", e.name)
		}
	}
	for _, c := range soakClients {
		if least := gittest.Volume(1, 50); s.counts[c.name+": right"] < least {
			s.t.Errorf("%s: %d right replies", c.name, s.counts[c.name+": right"])
		}
	}
}
