package checkout

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
)

// following is a Follow in the background.
type following struct {
	*place
	events chan Event
	cancel context.CancelFunc
	ended  chan error
}

// follow begins one by a client that looks and waits as often and as long as given.
func (p *place) follow(address string, o client.Options) *following {
	p.t.Helper()
	o.HTTP = p.http()
	c, err := client.New(address+"/mcp", o)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.followBy(c)
}

// followBy begins one by a client.
func (p *place) followBy(c *client.Client) *following {
	ctx, cancel := context.WithCancel(p.t.Context())
	f := &following{place: p, events: make(chan Event, 10_000), cancel: cancel, ended: make(chan error, 1)}
	options := p.options()
	options.Profile = p.profile
	options.Events = func(e Event) { f.events <- e }
	go func() {
		defer close(f.ended)
		f.ended <- Follow(ctx, c, options)
	}()
	return f
}

// inStep waits until the folder is at the branch, and counts the runs up to then.
func (f *following) inStep() (runs int) {
	f.t.Helper()
	head, late := f.repo.Git("rev-parse", "main"), time.After(gittest.Patience)
	var seen []Event
	for {
		select {
		case e := <-f.events:
			seen = append(seen, e)
			if e.Event != EventDone {
				continue
			}
			if runs++; e.Commit == head {
				if f.profile == "" {
					f.same(f.archived())
				}
				return runs
			}
		case err := <-f.ended:
			f.t.Fatalf("it has ended: %v; %+v", err, seen)
		case <-late:
			f.t.Fatalf("it is not at %s: %+v", head, seen)
		}
	}
}

func (f *following) stop() {
	f.t.Helper()
	f.cancel()
	if err, running := <-f.ended; running && !errors.Is(err, context.Canceled) {
		f.t.Error(err)
	}
}

// TestMirrorsChange: whatever becomes of the repository and its branch, a folder is
// in step with what is there now, by single runs and live.
func TestMirrorsChange(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{false, true} {
		t.Run(fmt.Sprint("live ", live), func(t *testing.T) {
			p := newPlace(t)
			at := p.repo.Dir
			p.commit(gittest.Regular("a", "1"), gittest.Regular("old", "1"))
			aside := at + ".aside"
			if err := os.CopyFS(aside, os.DirFS(at)); err != nil { // an older state of the mirror
				t.Fatal(err)
			}
			p.commit(gittest.Regular("a", "2"), gittest.Regular("new", "1"))
			step := func(string) { p.sync(nil) }
			if live {
				f := p.follow(p.server.proxy, client.Options{Poll: 100 * time.Millisecond})
				defer f.stop()
				step = func(string) { f.inStep() }
			}
			check := func(what string) {
				t.Helper()
				step(what)
				if p.same(p.archived()); t.Failed() {
					t.Fatal(what)
				}
			}
			swap := func(with string) {
				t.Helper()
				if err := errors.Join(os.Rename(at, with+".was"), os.Rename(with, at)); err != nil {
					t.Fatal(err)
				}
			}
			check("the beginning")
			swap(aside)
			check("an older mirror")
			swap(aside + ".was")
			check("the newer one again")

			other := gittest.At(t, filepath.Join(filepath.Dir(at), "other.tmp"))
			other.Commit("main", gittest.Regular("a", "of another"), gittest.Regular("b/c", "1"))
			swap(other.Dir)
			check("another repository of the same name")

			p.repo.Git("update-ref", "-d", "refs/heads/main")
			p.repo.Git("reflog", "expire", "--expire=now", "--all")
			p.repo.Git("gc", "-q", "--prune=now")
			p.commit(gittest.Regular("a", "forced"), gittest.Regular("d", "1"))
			check("another history, whose base is gone")
		})
	}
}

// TestRepositoriesAreRenamed: the old name is gone, and the new one keeps the files.
func TestRepositoriesAreRenamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"), gittest.Regular("b", "1"))
	p.sync(nil)
	before := p.mtime("a")
	if err := os.Rename(p.repo.Dir, filepath.Join(filepath.Dir(p.repo.Dir), "renamed.git")); err != nil {
		t.Fatal(err)
	}
	p.repo.Dir = filepath.Join(filepath.Dir(p.repo.Dir), "renamed.git")
	gittest.Await(t, "the server has the new name instead of the old one", func() bool {
		was, _ := p.refs("app")
		is, _ := p.refs("renamed")
		return was == http.StatusNotFound && is == http.StatusOK
	})
	if _, err := Sync(t.Context(), p.client, p.options()); !errors.Is(err, ErrGone) ||
		!strings.Contains(err.Error(), `repository "app"`) {
		t.Errorf("the old name gives %v", err)
	}
	p.same(p.archived())
	p.commit(gittest.Regular("a", "1"), gittest.Regular("c", "1"))
	got := p.sync(func(o *Options) { o.Repository = "renamed" })
	if p.same(p.archived()); !got.Full || got.Written != 1 || got.Deleted != 1 || p.mtime("a") != before {
		t.Errorf("%+v", got)
	}
}

// TestMirrorsChangeDuringADownload: the rest of the bytes no longer exists.
func TestMirrorsChangeDuringADownload(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	at := p.repo.Dir
	p.commit(manyFiles("old ")...)
	p.sync(nil)
	p.commit(manyFiles("never ")...)
	other := gittest.At(t, filepath.Join(filepath.Dir(at), "other.tmp"))
	head := other.Commit("main", manyFiles("other ")...)
	retried := false
	p.server.cut(2, 700_000)
	o := p.options()
	o.Plain = true
	o.Events = func(e Event) {
		switch {
		case e.Event == EventRetry:
			retried = true
		case e.Event == EventStart && !retried: // the branch and its commits are gone by the next request
			if err := errors.Join(os.Rename(at, at+".was"), os.Rename(other.Dir, at)); err != nil {
				t.Error(err)
			}
			gittest.Await(t, "the server finds the other repository", func() bool {
				_, body := p.refs("app")
				return strings.Contains(body, head)
			})
		}
	}
	result, err := Sync(t.Context(), p.connect(), o)
	if err != nil || !retried || result.KeptCount != 0 {
		t.Errorf("retried %v: %+v, %v", retried, result, err)
	}
	p.same(p.archived())
}

// TestFollowOverConnections without links, whose replies have no headers for the state of a branch.
func TestFollowOverConnections(t *testing.T) {
	t.Parallel()
	gittest.Long(t)
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	for _, profile := range []string{"", ProfileCheckout} {
		for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
			p := newPlace(t)
			p.profile = profile
			p.commit(gittest.Regular("a", "1"))
			c, err := client.New("stdio:"+binary+" stdio --rescan 100ms --root "+filepath.Dir(p.repo.Dir),
				client.Options{Poll: time.Hour, Protocol: protocol})
			if err != nil {
				t.Fatal(err)
			}
			f := p.followBy(c)
			f.inStep()
			p.commit(gittest.Regular("a", "2"))
			f.inStep()
			f.stop()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestMirrorsThatDiffer: of two servers behind a balancer, the one that sends the archives has the push later.
func TestMirrorsThatDiffer(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"", ProfileCheckout} {
		p := newPlace(t)
		p.profile = profile
		p.commit(gittest.Regular("a", "1"))
		root := t.TempDir()
		late := gittest.At(t, filepath.Join(root, "app.git"))
		push := func() { p.repo.Git("push", "-q", late.Dir, "main:main") }
		push()
		early := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: p.server.to})
		early.FlushInterval = -1
		other := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: serve(t, root).to})
		balancer := serveProxy(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Method") == "resources/stream" {
				other.ServeHTTP(w, r)
			} else {
				early.ServeHTTP(w, r)
			}
		})
		f := p.follow(balancer, client.Options{Poll: time.Hour})
		f.inStep()
		p.commit(gittest.Regular("a", "2"))
		for range 3 {
			f.await(EventDone) // at the commit before
		}
		push()
		f.inStep()
		if a, err := os.ReadFile(filepath.Join(p.dir, "a")); err != nil || string(a) != "2" {
			t.Errorf("the file has %q, %v", a, err)
		}
		f.stop()
	}
}

// TestBurstsAreOneUpdate pushes faster than a client can follow.
func TestBurstsAreOneUpdate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(manyFiles("0 ")...)
	f := p.follow(p.server.proxy, client.Options{})
	defer f.stop()
	f.inStep()
	const pushes = 25
	var commits []string
	for i := range pushes {
		p.repo.Commit("side", gittest.Regular("a", fmt.Sprint(i)),
			gittest.Regular("large", fmt.Sprint(i)+gittest.Noise(1_000_000)))
		commits = append(commits, p.repo.Git("rev-parse", "side"))
	}
	for _, commit := range commits {
		p.repo.Git("update-ref", "refs/heads/main", commit)
	}
	if runs := f.inStep(); runs > pushes/2 {
		t.Errorf("%d pushes at once were %d runs", pushes, runs)
	}
}

// TestFollowThroughProxies that hold events back, that cut their streams, and that
// hide everything but the endpoint.
func TestFollowThroughProxies(t *testing.T) {
	for name, change := range map[string]func(*http.Response) error{
		"held back": func(reply *http.Response) error {
			if strings.HasPrefix(reply.Header.Get("Content-Type"), "text/event-stream") {
				reply.Body = held{reply.Request.Context()}
			}
			return nil
		},
		"cut": func(reply *http.Response) error {
			if strings.HasPrefix(reply.Header.Get("Content-Type"), "text/event-stream") {
				return errors.New("cut")
			}
			return nil
		},
		"endpoint only": nil,
	} {
		for _, protocol := range []string{"2026-07-28", "2025-11-25"} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				p.commit(gittest.Regular("a", "1"), gittest.Regular("b", "1"))
				to := &url.URL{Scheme: "http", Host: p.server.to}
				through := &httputil.ReverseProxy{
					Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1, ModifyResponse: change,
					Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
					ErrorHandler: func(w http.ResponseWriter, _ *http.Request,
						_ error) {
						w.WriteHeader(http.StatusBadGateway)
					},
				}
				address := serveProxy(t, func(w http.ResponseWriter, r *http.Request) {
					if name == "endpoint only" && r.URL.Path != "/mcp" {
						http.NotFound(w, r)
						return
					}
					through.ServeHTTP(w, r)
				})
				o := client.Options{Idle: 500 * time.Millisecond, Poll: 100 * time.Millisecond, Protocol: protocol}
				if name == "endpoint only" {
					o = client.Options{Protocol: protocol}
				}
				f := p.follow(address, o)
				defer f.stop()
				f.inStep()
				for i := range 2 {
					p.commit(gittest.Regular("a", fmt.Sprint("new ", i)), gittest.Regular("b", "1"))
					f.inStep()
				}
			})
		}
	}
}

// held is a body that gives nothing.
type held struct{ ctx context.Context }

func (h held) Read([]byte) (int, error) {
	<-h.ctx.Done()
	return 0, h.ctx.Err()
}

func (held) Close() error { return nil }

// TestFollowTriesAgainWhatProgramsHold, without another push: files that are open for writing, and a clone whose index
// a git program has locked.
func TestFollowTriesAgainWhatProgramsHold(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(gittest.Regular("a", "1"), gittest.Regular("gone", "1"), gittest.Regular("b", "1"))
	clone := *p
	clone.profile, clone.dir = ProfileCheckout, p.dir+"-clone"
	f, c := p.follow(p.server.proxy, client.Options{}), clone.follow(p.server.proxy, client.Options{})
	f.inStep()
	c.inStep()
	files := p.open("a", "gone")
	clone.writeGit("index.lock", "")
	p.commit(gittest.Regular("a", "2"), gittest.Regular("b", "2"))
	f.until(func(e Event) bool { return e.Event == EventDone && e.Result.KeptCount == 2 })
	c.until(func(e Event) bool { return e.Event == EventDone && e.Result.Behind == ReasonLocked })
	for _, file := range files {
		p.must(shut(file))
	}
	p.must(os.Remove(clone.at(".git/index.lock")))
	f.until(func(e Event) bool { return e.Event == EventDone && e.Result.KeptCount == 0 })
	c.until(func(e Event) bool { return e.Event == EventDone && e.Result.Behind == "" })
	f.stop()
	c.stop()
	p.same(p.archived())

	clone.isClone()
}

// until waits for an event.
func (f *following) until(is func(Event) bool) {
	f.t.Helper()
	for late := time.After(gittest.Patience); ; {
		select {
		case e := <-f.events:
			if is(e) {
				return
			}
		case err := <-f.ended:
			f.t.Fatalf("it has ended: %v", err)
		case <-late:
			f.t.Fatal("it did not come")
		}
	}
}
