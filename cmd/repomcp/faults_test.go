package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/checkout"
	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/commands/remote"
	"github.com/repomcp/repomcp/internal/gittest"
)

// damage is what a proxy does to the bytes of one connection's replies from some
// place on. It returns what to give, and whether the connection is to end.
type damage func(random *rand.Rand, p []byte, at int) (given []byte, end bool)

// damages by name. Those of headers and chunks look for them from that place on.
var damages = map[string]damage{
	"cut": func(_ *rand.Rand, p []byte, at int) ([]byte, bool) { return p[:at], true },
	"delay": func(random *rand.Rand, p []byte, _ int) ([]byte, bool) {
		time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
		return p, false
	},
	"stall": func(_ *rand.Rand, p []byte, at int) ([]byte, bool) {
		time.Sleep(2 * faultIdle)
		return p[:at], true
	},
	"twice": func(random *rand.Rand, p []byte, at int) ([]byte, bool) {
		from := random.IntN(at + 1)
		return slices.Concat(p[:at], p[from:]), false
	},
	"loss": func(random *rand.Rand, p []byte, at int) ([]byte, bool) {
		return slices.Concat(p[:at], p[at+random.IntN(len(p)-at+1):]), false
	},
	"byte": func(random *rand.Rand, p []byte, at int) ([]byte, bool) {
		if at < len(p) {
			p[at] ^= 1 << random.IntN(8)
		}
		return p, false
	},
	"noise": func(random *rand.Rand, p []byte, at int) ([]byte, bool) {
		for i := at; i < min(len(p), at+64); i++ {
			p[i] = byte(random.Uint32())
		}
		return p, false
	},
	"status":         otherNumber(regexp.MustCompile(`HTTP/1\.1 (\d+)`)),
	"content length": otherNumber(regexp.MustCompile(`Content-Length: (\d+)`)),
	"content range":  otherNumber(regexp.MustCompile(`Content-Range: bytes \d+-\d+/(\d+)`)),
	"chunk":          otherNumber(regexp.MustCompile(`\r\n([0-9a-f]+)\r\n`)),
	"no length": func(_ *rand.Rand, p []byte, _ int) ([]byte, bool) {
		return []byte(strings.ReplaceAll(string(p), "Content-Length:", "Content-Longth:")), false
	},
	"no chunks": func(_ *rand.Rand, p []byte, _ int) ([]byte, bool) {
		return []byte(strings.ReplaceAll(string(p), "Transfer-Encoding:", "Transfer-Encodyng:")), false
	},
}

// otherNumber replaces the first number of those that an expression finds.
func otherNumber(in *regexp.Regexp) damage {
	return func(random *rand.Rand, p []byte, _ int) ([]byte, bool) {
		found := in.FindSubmatchIndex(p)
		if found == nil {
			return p, false
		}
		was, err := strconv.ParseInt(string(p[found[2]:found[3]]), 16, 64)
		if err != nil {
			return p, false
		}
		others := []string{"0", "1", "-1", "99999999999999999999", "x", fmt.Sprint(random.IntN(1000))}
		for _, d := range []int64{-17, -1, 1, 17, 1000} {
			others = append(others, fmt.Sprintf("%x", was+d))
		}
		return slices.Concat(p[:found[2]], []byte(others[random.IntN(len(others))]), p[found[3]:]), false
	}
}

// faultIdle is for how long the client waits, and less than the proxy does.
const faultIdle = 150 * time.Millisecond

// faultProxy damages what a server says, byte by byte: heads, framing and bodies.
type faultProxy struct {
	url string
	to  string

	mu     sync.Mutex
	random *rand.Rand
	kind   string // what is done, or ""
	within int    // where: at most so far behind the first byte of a connection, or exactly -within
	left   int    // how many connections it is done to
	hits   int    // that something was done to
}

func newFaultProxy(t *testing.T, to string) *faultProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &faultProxy{url: "http://" + listener.Addr().String(), to: strings.TrimPrefix(to, "http://")}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", p.to)
			if err != nil {
				_ = in.Close()
				continue
			}
			stop := context.AfterFunc(ctx, func() { _, _ = in.Close(), out.Close() })
			running.Go(func() {
				_, _ = io.Copy(out, in)
				_ = out.Close()
			})
			running.Go(func() {
				defer stop()
				p.pass(in, out)
				_, _ = in.Close(), out.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		cancel()
		running.Wait()
	})
	return p
}

// plan says what happens to the next connections.
func (p *faultProxy) plan(seed uint64, kind string, within, connections int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Connections are handled beside the test, which has numbers of its own.
	p.random = rand.New(rand.NewPCG(seed, 2))
	p.kind, p.within, p.left = kind, within, connections
}

// next is what happens to a connection, and where.
func (p *faultProxy) next() (do damage, random *rand.Rand, at int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kind == "" || p.left == 0 {
		return nil, nil, 0
	}
	p.left--
	p.hits++
	if p.within < 0 {
		return damages[p.kind], p.random, -p.within
	}
	return damages[p.kind], rand.New(rand.NewPCG(p.random.Uint64(), 1)), p.random.IntN(p.within + 1)
}

func (p *faultProxy) pass(to io.Writer, from io.Reader) {
	do, random, at := p.next()
	buffer := make([]byte, 32<<10)
	for seen := 0; ; {
		n, err := from.Read(buffer)
		given, end := buffer[:n], false
		if do != nil && seen+n > at {
			given, end = do(random, given, max(0, at-seen))
			do = nil
		}
		seen += n
		if _, failed := to.Write(given); failed != nil || err != nil || end {
			return
		}
	}
}

// faultFolder is synced through a proxy that damages.
type faultFolder struct {
	t      *testing.T
	proxy  *faultProxy
	dir    string
	before map[string]string // what it had when it was in step last
	anew   int               // attempts that were begun anew
}

func (f *faultFolder) sync(retries int, plain bool) (checkout.Result, error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c, err := client.New(f.proxy.url+"/mcp", client.Options{
		Idle: faultIdle, Retries: retries, HTTP: &http.Client{Transport: transport},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), gittest.Patience)
	defer cancel()
	result, err := checkout.Sync(ctx, c, checkout.Options{
		Repository: "app", Ref: "main", Dir: f.dir, Plain: plain,
		Events: func(e checkout.Event) {
			if e.Event == checkout.EventRetry {
				f.anew++
			}
		},
	})
	if ctx.Err() != nil {
		f.t.Fatalf("it hangs: %v", err)
	}
	return result, err
}

func (f *faultFolder) read() map[string]string {
	f.t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(f.dir), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case path == "." && os.IsNotExist(err):
			return nil
		case err != nil:
			return err
		case path == ".repomcp":
			return fs.SkipDir
		case e.IsDir() || strings.HasPrefix(e.Name(), ".repomcp-tmp-"):
			return nil
		}
		content, err := os.ReadFile(filepath.Join(f.dir, path))
		found[path] = string(content)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return found
}

// TestFaultsOnTheWay damages what a server says in every way that a connection can: a
// sync ends in step, or fails by one of its codes and leaves files of before or after,
// and the next one ends in step.
func TestFaultsOnTheWay(t *testing.T) {
	gittest.Long(t)
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "app.git"))
	commits, heads := faultHistory(repo)
	p := start(t, root, "--rescan", "100ms")
	proxy := newFaultProxy(t, p.url)
	outcomes, rounds := map[string]int{}, gittest.Volume(39, 4000)
	kinds := slices.Sorted(maps.Keys(damages))
	f := &faultFolder{t: t, proxy: proxy}
	for round := range rounds {
		random := rand.New(rand.NewPCG(uint64(round), 11))
		if f.dir == "" || random.IntN(4) == 0 {
			f.dir, f.before = filepath.Join(t.TempDir(), "in"), map[string]string{}
		}
		at := random.IntN(len(commits))
		repo.Git("update-ref", "refs/heads/main", commits[at])
		kind, within := kinds[round%len(kinds)], []int{400, 3000, 60_000, 500_000}[random.IntN(4)]
		connections := []int{1, 2, 1000}[random.IntN(3)]
		proxy.plan(random.Uint64(), kind, within, connections)
		result, err := f.sync(1+random.IntN(3), random.IntN(2) == 0)
		proxy.plan(0, "", 0, 0)
		about := fmt.Sprintf("round %d, %s within %d bytes of %d connections", round, kind, within, connections)
		code := cli.ExitOK
		if err != nil {
			code = remote.ExitCode(err)
		}
		outcomes[fmt.Sprintf("code %d", code)]++
		if code != cli.ExitOK {
			t.Logf("%s: code %d: %v", about, code, err)
		}
		f.judge(about, code, result, err, heads[at])
		if result, err := f.sync(1, true); err != nil || result.KeptCount != 0 || !maps.Equal(f.read(), heads[at]) {
			t.Fatalf("%s: the run after %v: %+v, %v", about, err, result, err)
		}
		f.before = heads[at]
	}
	if t.Logf("%d connections were damaged, %d attempts begun anew: %v", proxy.hits, f.anew,
		outcomes); proxy.hits < rounds ||
		outcomes["code 0"] < rounds/4 || outcomes["code 4"] == 0 || f.anew == 0 {
		t.Error("too little was damaged, or noticed")
	}
}

// judge compares a folder with its commits after a run that may have failed.
func (f *faultFolder) judge(about string, code int, result checkout.Result, err error, head map[string]string) {
	f.t.Helper()
	got := f.read()
	switch code {
	case cli.ExitOK:
		if result.KeptCount != 0 || !maps.Equal(got, head) {
			f.t.Fatalf("%s: in step, and has %d files of %d, %d kept", about, len(got), len(head), result.KeptCount)
		}
	case cli.ExitNetwork, cli.ExitRefused, cli.ExitFailed:
		for path, content := range got {
			if content != f.before[path] && content != head[path] {
				f.t.Errorf("%s: code %d (%v), and %s is neither the old nor the new one", about, code, err, path)
			}
		}
	case cli.ExitDamaged: // what came before that was noticed is replaced by the next run
	default:
		f.t.Errorf("%s: code %d: %v", about, code, err)
	}
}

// faultHistory makes commits that differ in small files and in a large one.
func faultHistory(repo *gittest.Repo) (commits []string, heads []map[string]string) {
	for i := range 4 {
		head := map[string]string{"large": fmt.Sprint(i) + gittest.Noise(300_000) + fmt.Sprint(i)}
		for k := range 60 {
			if k%5 != i {
				head[fmt.Sprintf("d%d/f%02d", k/10, k)] = fmt.Sprintf("%d %s", k*i, strings.Repeat("line\n", 10*k))
			}
		}
		var files []gittest.File
		for path, content := range head {
			files = append(files, gittest.Regular(path, content))
		}
		repo.Commit("main", files...)
		commits, heads = append(commits, repo.Git("rev-parse", "main")), append(heads, head)
	}
	return commits, heads
}

// TestProcessesEndByTheirCodes runs the command itself where all connections are
// damaged, and then none.
func TestProcessesEndByTheirCodes(t *testing.T) {
	gittest.Long(t)
	root := t.TempDir()
	_, heads := faultHistory(gittest.At(t, filepath.Join(root, "app.git")))
	proxy := newFaultProxy(t, start(t, root).url)
	for _, c := range []struct {
		kind         string
		within, code int
	}{
		{"cut", 0, cli.ExitNetwork}, {"stall", 0, cli.ExitNetwork}, {"noise", 0, cli.ExitNetwork},
		{"byte", -20_000, cli.ExitDamaged},
		{"", 0, cli.ExitOK},
	} {
		proxy.plan(1, c.kind, c.within, 1000)
		f := &faultFolder{t: t, dir: filepath.Join(t.TempDir(), "in")}
		command := exec.CommandContext(t.Context(), program(t), "sync", proxy.url+"/mcp", "app@main", f.dir,
			"--idle-timeout", faultIdle.String(), "--retries", "0")
		out, err := command.CombinedOutput()
		if code := command.ProcessState.ExitCode(); code != c.code {
			t.Errorf("%s: code %d, %v: %.300s", c.kind, code, err, out)
		}
		if c.code == cli.ExitOK && !maps.Equal(f.read(), heads[len(heads)-1]) {
			t.Errorf("the folder has %d files", len(f.read()))
		}
	}
}
