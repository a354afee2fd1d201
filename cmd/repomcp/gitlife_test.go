package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// packetLine is a pkt-line of git's protocol.
func packetLine(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// wantAll is a request of version 2 for everything that a commit leads to.
func wantAll(commit string) string {
	return packetLine("command=fetch") + "0001" + packetLine("no-progress") + packetLine("want "+commit+"\n") +
		packetLine("done\n") + "0000"
}

// uploadPack sends a request of version 2 of git's protocol.
func (p *process) uploadPack(ctx context.Context, t *testing.T, name, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/git/"+name+"/git-upload-pack",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {"application/x-git-upload-pack-request"}, "Git-Protocol": {"version=2"}}
	response, err := p.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() }) // only read from
	return response
}

// beginFetch sends a request for objects and reads the first bytes of the reply alone.
func (p *process) beginFetch(t *testing.T, name, body string) (leave context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	response := p.uploadPack(ctx, t, name, body)
	if _, err := io.ReadFull(response.Body, make([]byte, 100)); err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response.Status, err)
	}
	return cancel
}

// programsIn lists the processes that work in a folder, but for those that the kernel is about to end: these have no
// command line any more.
func programsIn(t *testing.T, folder string) (found []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, folder) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline")) // it may have ended
			if len(line) > 0 {
				found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			}
		}
	}
	return found
}

// awaitNone waits until no process works in a folder, and the folders of requests there are gone.
func awaitNone(t *testing.T, when, folder string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := programsIn(t, folder)
		sessions, _ := filepath.Glob(filepath.Join(folder, "repomcp-requests-*", "[0-9]*")) // the pattern is good
		if len(left) == 0 && (len(sessions) == 0 || when == "the server was killed") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("when %s there are left: %q, %q", when, left, sessions)
		}
	}
}

func TestGitLeavesNoProcess(t *testing.T) {
	gittest.Long(t)
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("there is no /proc")
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", folder)
	root := filepath.Join(folder, "root")
	mirror := gittest.At(t, filepath.Join(root, "large.git"))
	commit := mirror.Commit("main", gittest.Regular("large", gittest.Noise(48<<20)))
	stalled := func(p *process) context.CancelFunc {
		cancel := p.beginFetch(t, "large", wantAll(commit))
		if found := programsIn(t, filepath.Join(folder, "repomcp-requests-")); len(found) < 1 {
			t.Fatal("no git runs while a client does not read")
		}
		return cancel
	}
	p := start(t, root, "--drain-timeout=1s")
	for range 3 {
		leave := stalled(p)
		leave()
	}
	awaitNone(t, "clients have gone", folder)
	stalled(p)
	end := func(p *process) {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-p.done                                                              //nolint:errcheck // how it ends is for other tests
		left, _ := filepath.Glob(filepath.Join(folder, "repomcp-requests-*")) // the pattern is good
		if len(left) > 0 || len(programsIn(t, folder)) > 0 {
			t.Errorf("when the server had ended there were left: %q %q", left, programsIn(t, folder))
		}
	}
	end(p)
	p = start(t, root)
	stalled(p)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.done //nolint:errcheck // it was killed
	awaitNone(t, "the server was killed", folder)

	p = start(t, root, "--drain-timeout=1s")
	stalled(p)
	if left, _ := filepath.Glob(filepath.Join(folder, "repomcp-requests-*")); len(left) != 1 {
		t.Errorf("the next server keeps what the killed one left: %q", left)
	}
	end(p)
}

// Branches move on and are forced while clients ask for what they have been told.
func TestGitClonesUnderPushesAndRepacks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror := newGitMirror(t, filepath.Join(root, "app.git"))
	url := start(t, root).url + "/git/app"
	g := gitClient{t, []string{"gc.auto=0", "maintenance.auto=false"}}
	const workers = 4
	each := gittest.Volume(40, 200) / workers / 2 // of clones, and of fetches
	var done atomic.Int64
	var running sync.WaitGroup
	stop := make(chan struct{})
	folder := t.TempDir()
	for worker := range workers {
		running.Go(func() {
			clone := ""
			for i := range each {
				if clone == "" || i%2 == 0 {
					clone = filepath.Join(folder, fmt.Sprintf("clone-%d-%d", worker, i))
					if said, err := g.try(folder, "clone", "-q", "--bare", url, clone); err != nil {
						t.Errorf("clone: %v %s", err, said)
						return
					}
					done.Add(1)
				}
				for _, args := range [][]string{
					{"fetch", "-q", url, "+refs/heads/*:refs/heads/*"}, {"fsck", "--no-dangling", "--connectivity-only"},
				} {
					if said, err := g.try(clone, args...); err != nil || strings.Contains(said, "error") {
						t.Errorf("%s: %v %s", args, err, said)
						return
					}
				}
				done.Add(1)
			}
		})
	}
	pushes := 0
	go func() {
		running.Wait()
		close(stop)
	}()
	for ended := false; !ended; pushes++ {
		mirror.Commit("main", gittest.Regular("README", fmt.Sprintf("pushed %d\n", pushes)))
		switch pushes % 4 {
		case 1:
			mirror.Git("repack", "-dq")
		case 3: // what was forced away moves into folders of loose objects that were not there
			mirror.Git("gc", "-q")
		default:
			mirror.force(fmt.Sprintf("draft %d\n", pushes))
		}
		select {
		case <-stop:
			ended = true
		default:
		}
	}
	if int(done.Load()) < workers*each*3/2 || pushes < 4 {
		t.Errorf("%d clones and fetches were made under %d pushes", done.Load(), pushes)
	}
}

// What a mirror lacks, or has damaged, breaks a clone visibly: none is shorter than the mirror.
func TestGitNeverClonesLessThanThereIs(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	root := filepath.Join(top, "root")
	source := newGitMirror(t, filepath.Join(top, "source.git"))
	source.Git("config", "uploadpack.allowFilter", "true")
	g := gitClient{t: t}
	program, mark := trap(t)
	copies := 0
	mirror := func(name string, options ...string) *gittest.Repo {
		dir := filepath.Join(root, name+".git")
		g.must(top, append(append([]string{"clone", "-q", "--mirror"}, options...), "file://"+source.Dir, dir)...)
		copies++
		return gittest.Existing(t, dir)
	}
	partial := mirror("partial", "--filter=blob:none")
	partial.Git("config", "remote.origin.uploadpack", program+" git-upload-pack")
	damaged := mirror("damaged")
	damaged.Git("repack", "-adq")
	packs, err := filepath.Glob(filepath.Join(damaged.Dir, "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(err, packs)
	}
	content, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	for at := len(content) / 4; at < len(content)/2; at += 50 {
		content[at] ^= 0x55
	}
	if err := os.Chmod(packs[0], 0o600); err != nil {
		t.Fatal(err)
	}
	damaged.WriteFile("objects/pack/"+filepath.Base(packs[0]), content)
	mirror("dangling").SetRef("refs/heads/gone", strings.Repeat("1", 40))
	mirror("broken").WriteFile("refs/heads/broken", []byte("no id\n"))
	p := start(t, root)
	for _, version := range []string{"0", "2"} {
		g := gitClient{t, []string{"protocol.version=" + version}}
		for _, name := range []string{"partial", "damaged", "dangling", "broken"} {
			clone := filepath.Join(t.TempDir(), name)
			if said, err := g.try(top, "clone", "-q", "--mirror", p.url+"/git/"+name, clone); err == nil {
				t.Errorf("version %s: the mirror %s was cloned: %s", version, name, said)
			}
		}
		g.must(top, "clone", "-q", "--bare", "--filter=blob:none", p.url+"/git/partial", filepath.Join(t.TempDir(), "partial"))
	}
	if said := marks(t, mark); said != "" || copies != 4 {
		t.Errorf("what the partial clone lacks was asked for elsewhere: %s", said)
	}
}

// However much a clone has, our own process passes on what git makes of it.
func TestGitTakesLittleMemory(t *testing.T) {
	t.Parallel()
	gittest.Long(t)
	root := t.TempDir()
	mirror := gittest.At(t, filepath.Join(root, "large.git"))
	commit := mirror.Commit("main", gittest.Regular("large", gittest.Noise(16<<20)))
	p := startPlain(t, root)
	read := func(name string) {
		if status, _, err := p.fetch("/refs/" + name); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
	}
	read("large")
	const clients, each = 8, 2 << 20
	before := residentPeak(t, p.cmd.Process.Pid)
	var leave []context.CancelFunc
	for range clients {
		cancel := p.beginFetch(t, "large", wantAll(commit))
		leave = append(leave, cancel)
	}
	if grown := residentPeak(t, p.cmd.Process.Pid) - before; grown > clients*each {
		t.Errorf("%d clones took %d bytes of the server, want at most %d each", clients, grown, each)
	}
	for _, cancel := range leave {
		cancel()
	}
}

// The server's own memory shrinks by what git may take, and grows again afterwards. Where the memory is short
// nevertheless, the kernel ends git, and not the server.
func TestGitTakesItsMemoryFromTheServer(t *testing.T) {
	t.Parallel()
	gittest.Long(t)
	root := t.TempDir()
	mirror := gittest.At(t, filepath.Join(root, "app.git"))
	commit := mirror.Commit("main", gittest.Regular("large", gittest.Noise(16<<20)))
	const budget, least = 256 << 20, 64 << 20
	p, admin := startWithAdmin(t, root, "--memory-budget=256MiB")
	bound := func() float64 { return p.number(t, admin, "go_gc_gomemlimit_bytes") }
	if bound() != budget {
		t.Fatalf("the server has %v bytes", bound())
	}
	leave := p.beginFetch(t, "app", wantAll(commit))
	room := budget - bound()
	for end := time.Now().Add(30 * time.Second); room == 0 && time.Now().Before(end); room = budget - bound() {
		time.Sleep(20 * time.Millisecond)
	}
	if room < least || room > least+1<<20 {
		t.Errorf("git has %v bytes, want %d or a little more", room, least)
	}
	scores := 0
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.cmd.Process.Pid)) // the pattern is good
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // the thread may have ended
		for child := range strings.FieldsSeq(string(children)) {
			score, err := os.ReadFile("/proc/" + child + "/oom_score_adj")
			if scores++; err != nil || string(score) != "1000\n" {
				t.Errorf("the kernel ends git with %q, %v", score, err)
			}
		}
	}
	if _, err := os.Stat("/proc/self/oom_score_adj"); err == nil && scores == 0 {
		t.Error("no git runs")
	}
	leave()
	for end := time.Now().Add(30 * time.Second); bound() != budget; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("git has ended, and the server has %v bytes", bound())
		}
	}
}
