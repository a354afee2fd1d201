package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// message sends a request of the modern protocol about a resource or a tool, and
// returns the whole reply.
func (p *process) message(method, name string, params map[string]any) (reply []byte, err error) {
	params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"resourceStreaming": map[string]any{}}}
	content, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, p.url+"/mcp",
		bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream, */*"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}, "Mcp-Name": {name},
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // only read from
	return io.ReadAll(response.Body)
}

// fetch gets a whole reply; err says that it broke.
func (p *process) fetch(path string) (status int, body []byte, err error) {
	response, err := p.client.Get(p.url + path)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }() // only read from
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// number reads a metric.
func (p *process) number(t testing.TB, admin, name string) float64 {
	t.Helper()
	response, err := p.client.Get(admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // only read from
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// patientMirror is a mirror that is damaged and mended again, with what its sound copy
// answers.
type patientMirror struct {
	t      *testing.T
	p      *process
	name   string // on the server
	repo   *gittest.Repo
	sound  map[string][]byte // the files
	commit string            // the oldest
	want   map[string][]byte // what git says, by the path of the route
	refs   map[string]string // commit by name
}

// damageKinds are what becomes of mirrors in real life, with the reasons of what is then
// refused; none where nothing may be.
var damageKinds = []struct {
	name    string
	do      func(m *patientMirror)
	reasons []string
}{
	{"index cut", func(m *patientMirror) { m.edit("*.idx", func(c []byte) []byte { return c[:len(c)/2] }) }, corrupt},
	{"index empty", func(m *patientMirror) { m.edit("*.idx", func([]byte) []byte { return nil }) }, corrupt},
	{"bit of the fan-out", func(m *patientMirror) { m.flip("*.idx", 8+4*200) }, corrupt},
	{"bit of an id", func(m *patientMirror) { m.flip("*.idx", 8+1024+25) }, corrupt},
	{"bit of an offset", func(m *patientMirror) { m.flip("*.idx", -45) }, corrupt},
	{"pack cut to a quarter",
		func(m *patientMirror) { m.edit("*.pack", func(c []byte) []byte { return c[:len(c)/4] }) }, corrupt},
	{"pack of its header", func(m *patientMirror) { m.edit("*.pack", func(c []byte) []byte { return c[:12] }) },
		corrupt},
	{"bit of the pack's header", func(m *patientMirror) { m.flip("*.pack", 1) }, corrupt},
	{"zeros in the pack", func(m *patientMirror) {
		m.edit("*.pack", func(c []byte) []byte { clear(c[len(c)/3 : len(c)*2/3]); return c })
	}, corrupt},
	{"no pack", func(m *patientMirror) { m.remove("objects/pack/*.pack") }, corrupt},
	{"no index", func(m *patientMirror) { m.remove("objects/pack/*.idx") }, corrupt},
	{"pack directory is a file", func(m *patientMirror) {
		m.remove("objects/pack")
		m.write("objects/pack", []byte("x"))
	}, corrupt},
	{"multi-pack-index that lies", func(m *patientMirror) {
		m.repo.Git("multi-pack-index", "write")
		m.flip("multi-pack-index", 200)
	}, nil},
	{"multi-pack-index of other packs", func(m *patientMirror) {
		m.repo.Git("multi-pack-index", "write")
		m.repo.Git("repack", "-adfq")
	}, nil},
	{"commit-graph that lies", func(m *patientMirror) {
		m.repo.Git("commit-graph", "write", "--reachable")
		m.edit("objects/info/commit-graph", func(c []byte) []byte { c[len(c)-30] ^= 4; return c })
	}, nil},
	{"missing blob", func(m *patientMirror) { m.drop("main:a.txt") }, corrupt},
	{"missing folder", func(m *patientMirror) { m.drop("main^{tree}") }, corrupt},
	{"missing commit", func(m *patientMirror) { m.drop("main") }, corrupt},
	{"empty loose commit", func(m *patientMirror) { m.loosen("main", func([]byte) []byte { return nil }) }, corrupt},
	{"loose blob cut", func(m *patientMirror) { m.loosen("main:a.txt", func(c []byte) []byte { return c[:len(c)/2] }) },
		corrupt},
	{"empty ref", func(m *patientMirror) { m.write("refs/heads/main", nil) }, corrupt},
	{"ref of nothing", func(m *patientMirror) { m.write("refs/heads/main", []byte(strings.Repeat("1", 40)+"\n")) },
		corrupt},
	{"junk in packed-refs", func(m *patientMirror) {
		m.edit("packed-refs", func(c []byte) []byte { return append([]byte("junk\n"), c...) })
	}, corrupt},
	{"packed-refs cut", func(m *patientMirror) { m.edit("packed-refs", func(c []byte) []byte { return c[:len(c)-5] }) },
		corrupt},
	{"broken HEAD", func(m *patientMirror) { m.write("HEAD", []byte("\x00\x01junk\n")) }, nil},
	{"SHA-256 repository", func(m *patientMirror) {
		m.repo.Git("config", "core.repositoryFormatVersion", "1")
		m.repo.Git("config", "extensions.objectFormat", "sha256")
	}, []string{"unsupported_repository"}},
	{"configuration that is none", func(m *patientMirror) { m.write("config", []byte("[core\nbare")) },
		[]string{"unsupported_repository"}},
	{"partial clone", func(m *patientMirror) {
		m.drop("main:a.txt")
		m.repo.Git("config", "remote.origin.promisor", "true")
	}, []string{"incomplete_repository"}},
	{"shallow", func(m *patientMirror) { m.write("shallow", []byte(m.repo.Git("rev-parse", "main")+"\n")) }, nil},
	{"alternate out of the root", func(m *patientMirror) {
		m.drop("main:a.txt")
		m.write("objects/info/alternates", []byte("/nonexistent/objects\n"))
	}, []string{"incomplete_repository"}},
}

var corrupt = []string{"corrupt_repository"}

// file is the only one of a pattern, such as of a pack.
func (m *patientMirror) file(pattern string) string {
	m.t.Helper()
	for _, folder := range []string{"", "objects/pack"} {
		names, err := filepath.Glob(filepath.Join(m.repo.Dir, folder, pattern))
		if err != nil {
			m.t.Fatal(err)
		}
		if len(names) > 0 {
			return names[0]
		}
	}
	m.t.Fatalf("there is no %s", pattern)
	return ""
}

func (m *patientMirror) edit(pattern string, change func(content []byte) []byte) {
	m.t.Helper()
	name := m.file(pattern)
	content, err := os.ReadFile(name)
	if err != nil {
		m.t.Fatal(err)
	}
	m.replace(name, change(content))
}

// replace writes a file by a new name, as git does and rsync.
func (m *patientMirror) replace(name string, content []byte) {
	m.t.Helper()
	if err := os.WriteFile(name+".new", content, 0o600); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		m.t.Fatal(err)
	}
}

func (m *patientMirror) write(name string, content []byte) {
	m.t.Helper()
	name = filepath.Join(m.repo.Dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		m.t.Fatal(err)
	}
	m.replace(name, content)
}

// flip changes a bit of the byte at a place, counted from the end if it is negative.
func (m *patientMirror) flip(pattern string, at int) {
	m.t.Helper()
	m.edit(pattern, func(c []byte) []byte { c[(at+len(c))%len(c)] ^= 1; return c })
}

func (m *patientMirror) remove(pattern string) {
	m.t.Helper()
	if err := os.RemoveAll(m.file(pattern)); err != nil {
		m.t.Fatal(err)
	}
}

// loosen unpacks all, and changes the file of one object.
func (m *patientMirror) loosen(object string, change func([]byte) []byte) {
	m.t.Helper()
	id := m.repo.Git("rev-parse", object)
	pack, err := os.ReadFile(m.file("*.pack"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, kind := range []string{"*.pack", "*.idx", "*.rev"} {
		if names, _ := filepath.Glob(filepath.Join(m.repo.Dir, "objects/pack", kind)); len(names) > 0 {
			m.remove(kind)
		}
	}
	m.repo.GitInput(pack, "unpack-objects", "-q")
	m.edit(filepath.Join("objects", id[:2], id[2:]), change)
}

func (m *patientMirror) drop(object string) {
	m.t.Helper()
	id := m.repo.Git("rev-parse", object)
	m.loosen(object, func(c []byte) []byte { return c })
	m.remove(filepath.Join("objects", id[:2], id[2:]))
}

// files reads all of the mirror.
func (m *patientMirror) files() map[string][]byte {
	m.t.Helper()
	found := make(map[string][]byte)
	err := filepath.WalkDir(m.repo.Dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		found[name], err = os.ReadFile(name)
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return found
}

// mend brings every file back that the sound mirror has, and no other.
func (m *patientMirror) mend() {
	m.t.Helper()
	now := m.files()
	for name := range now {
		if _, sound := m.sound[name]; !sound {
			if err := os.Remove(name); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	for name, content := range m.sound {
		if there, ok := now[name]; ok && bytes.Equal(there, content) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			m.t.Fatal(err)
		}
		m.replace(name, content)
	}
}

// judge compares one reply with what git said. It returns the reason of a refusal, and
// "" for what is right.
func (m *patientMirror) judge(path string, status int, body []byte, err error) (refused bool) {
	m.t.Helper()
	switch want := m.want[path]; {
	case err != nil: // visibly broken
		return true
	case status == http.StatusOK && strings.HasPrefix(path, "/refs/"):
		return m.judgeRefs(body)
	case status == http.StatusOK && bytes.Equal(body, want):
		return false
	case status == http.StatusOK:
		m.t.Errorf("%s: 200 and %d wrong bytes of %d", path, len(body), len(want))
	case status < 500:
		m.t.Errorf("%s: %d %.200s", path, status, body)
	}
	return true
}

// judgeRefs wants each ref, right or marked.
func (m *patientMirror) judgeRefs(body []byte) (refused bool) {
	m.t.Helper()
	var list struct {
		Refs []struct {
			Name, Commit string
			Damaged      bool
		}
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list.Refs) != len(m.refs) {
		m.t.Errorf("%d refs of %d, %v: %.300s", len(list.Refs), len(m.refs), err, body)
	}
	for _, ref := range list.Refs {
		refused = refused || ref.Damaged
		if !ref.Damaged && ref.Commit != m.refs[ref.Name] {
			m.t.Errorf("%s is %s, not %s", ref.Name, ref.Commit, m.refs[ref.Name])
		}
	}
	return refused
}

var reasonOf = regexp.MustCompile(`"reason":"([a-z_]+)"`)

// ask asks for everything once, and returns the reasons for which something was refused.
func (m *patientMirror) ask() (refused int, reasons map[string]bool) {
	m.t.Helper()
	reasons = make(map[string]bool)
	for _, path := range slices.Sorted(maps.Keys(m.want)) {
		status, body, err := m.p.fetch(path)
		if m.judge(path, status, body, err) {
			refused++
		}
	}
	for _, uri := range []string{"/contents/a.txt", "/archive/main.tar", ""} {
		method := "resources/read"
		if strings.HasSuffix(uri, ".tar") {
			method = "resources/stream"
		}
		uri = "repo://" + m.name + uri
		body, err := m.p.message(method, uri, map[string]any{"uri": uri})
		if found := reasonOf.FindSubmatch(body); found != nil {
			reasons[string(found[1])] = true
			refused++
		} else if err != nil {
			refused++
		}
	}
	if body, err := m.p.message("tools/call", "get_repository", map[string]any{"name": "get_repository",
		"arguments": map[string]any{"repo": m.name}}); err != nil || !bytes.Contains(body, []byte(`"content"`)) {
		m.t.Errorf("get_repository: %v, %.300s", err, body)
	}
	return refused, reasons
}

// TestDamagedMirrorsHarmNobodyElse has one server over a mirror for each kind of damage,
// all damaged and mended while it serves.
func TestDamagedMirrorsHarmNobodyElse(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	root := t.TempDir()
	base := gittest.At(t, filepath.Join(root, "base.git"))
	base.Commit("main", gittest.Regular("a.txt", "old\n"), gittest.Regular("d/b.txt", gittest.Noise(5000)))
	oldest := base.Git("rev-parse", "main")
	for i := range 20 {
		base.Commit("main", gittest.Regular("a.txt", gittest.Noise(3000+i)),
			gittest.Regular("d/b.txt", gittest.Noise(5000)))
	}
	base.Git("tag", "v1", "main~3")
	base.Git("gc", "-q")
	mirrors := make([]*patientMirror, len(damageKinds))
	for i := range damageKinds {
		m := &patientMirror{t: t, name: fmt.Sprintf("m%02d", i), commit: oldest}
		m.repo = gittest.Existing(t, filepath.Join(root, m.name+".git"))
		if err := os.CopyFS(m.repo.Dir, os.DirFS(base.Dir)); err != nil {
			t.Fatal(err)
		}
		m.sound, mirrors[i] = m.files(), m
	}
	p, admin := startWithAdmin(t, root)
	for _, m := range mirrors {
		m.p = p
		m.want = map[string][]byte{
			"/archive/" + m.name + "/main.tar":           base.Archive("--format=tar", "main"),
			"/archive/" + m.name + "/" + oldest + ".tar": base.Archive("--format=tar", oldest),
			"/raw/" + m.name + "/main/a.txt":             []byte(gittest.Noise(3019)),
			"/refs/" + m.name:                            nil,
		}
		m.refs = map[string]string{"refs/heads/main": base.Git("rev-parse", "main"),
			"refs/tags/v1": base.Git("rev-parse", "v1")}
		if refused, reasons := m.ask(); refused != 0 {
			t.Fatal("a sound mirror is refused: ", reasons)
		}
	}
	others := func() float64 {
		return p.number(t, admin, "process_open_fds") - p.number(t, admin, "repomcp_pack_descriptors_open") -
			p.number(t, admin, "repomcp_connections_open")
	}
	descriptors, goroutines := others(), p.number(t, admin, "go_goroutines")
	slowest := time.Duration(0)
	checkSound := func(about string) {
		start := time.Now()
		status, body, err := p.fetch("/archive/base/main.tar")
		slowest = max(slowest, time.Since(start))
		if err != nil || status != http.StatusOK || !bytes.Equal(body, mirrors[0].want["/archive/m00/main.tar"]) {
			t.Errorf("beside %s the sound mirror fails: %d, %v", about, status, err)
		}
	}
	for i, kind := range damageKinds {
		m := mirrors[i]
		kind.do(m)
		seen := make(map[string]bool)
		for range 3 {
			refused, reasons := m.ask()
			maps.Copy(seen, reasons)
			if len(kind.reasons) == 0 && refused > 0 && kind.name != "broken HEAD" {
				t.Errorf("%s: %d replies are refused: %v", kind.name, refused, reasons)
			}
			checkSound(kind.name)
		}
		for _, reason := range kind.reasons {
			if !seen[reason] {
				t.Errorf("%s: nothing is refused for %s, but for %v", kind.name, reason, seen)
			}
		}
	}
	quarantined := p.number(t, admin, "repomcp_repositories_quarantined")
	if status, text := p.get(t, admin+"/readyz"); status != http.StatusOK || quarantined < 10 ||
		!strings.Contains(text, fmt.Sprintf("%d repositories are quarantined", int(quarantined))) {
		t.Errorf("%v are quarantined, and /readyz says %d %q", quarantined, status, text)
	}
	for _, m := range mirrors {
		m.mend()
	}
	mended := time.Now()
	for i, m := range mirrors {
		if err := gittest.Wait(func() error {
			if refused, reasons := m.ask(); refused > 0 {
				return fmt.Errorf("%s: mended, and still refused: %v", damageKinds[i].name, reasons)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	if n := p.number(t, admin, "repomcp_repositories_quarantined"); n != 0 {
		t.Errorf("%v repositories are still quarantined", n)
	}
	if n := p.number(t, admin, `repomcp_quarantines_total{why="panic"}`); n != 0 {
		t.Errorf("%v panics", n)
	}
	if after, running := others(), p.number(t, admin, "go_goroutines"); after > descriptors+2 ||
		running > goroutines+5 {
		t.Errorf("descriptors %v, then %v; goroutines %v, then %v", descriptors, after, goroutines, running)
	}
	t.Logf("%d kinds of damage, %v of them quarantined; the slowest sound archive took %v; all mended after %v",
		len(damageKinds), quarantined, slowest, time.Since(mended))
}
