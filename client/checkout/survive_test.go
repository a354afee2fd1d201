package checkout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/gittest"
)

// await waits for an event, and returns those before it.
func (f *following) await(event string) (e Event, before []Event) {
	f.t.Helper()
	late := time.After(gittest.Patience)
	for {
		select {
		case e := <-f.events:
			if e.Event == event {
				return e, before
			}
			before = append(before, e)
		case err := <-f.ended:
			f.t.Fatalf("it has ended: %v; %+v", err, before)
		case <-late:
			f.t.Fatalf("there is no %s: %+v", event, before)
		}
	}
}

// TestFollowersWaitForWhatComesBack: a branch, a repository, leave to read it, a commit
// that can be unpacked.
func TestFollowersWaitForWhatComesBack(t *testing.T) {
	soon := client.Options{Poll: 100 * time.Millisecond}
	for name, lose := range map[string]struct {
		away func(p *place)
		back func(p *place)
		code Code
	}{
		"branch": {
			func(p *place) {
				p.repo.Git("update-ref", "refs/heads/aside", "main")
				p.repo.Git("update-ref", "-d", "refs/heads/main")
			},
			func(p *place) { p.repo.Git("update-ref", "refs/heads/main", "aside") }, CodeGone,
		},
		"repository": {
			func(p *place) { p.rename(p.repo.Dir, p.repo.Dir+".away") },
			func(p *place) { p.rename(p.repo.Dir+".away", p.repo.Dir) }, CodeGone,
		},
		"a commit that cannot be unpacked": {
			func(p *place) { p.commit(gittest.Regular("a", "1"), gittest.Regular("b/.REPOMCP/x", "1")) },
			func(p *place) { p.commit(gittest.Regular("a", "1"), gittest.Regular("b", "mended")) }, CodeUnsafe,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.commit(gittest.Regular("a", "1"), gittest.Regular("b", "1"))
			f := p.follow(p.server.proxy, soon)
			f.inStep()
			for range 2 {
				lose.away(p)
				if e, _ := f.await(EventGone); e.Code != lose.code || e.Error == "" {
					t.Errorf("%+v", e)
				}
				lose.back(p)
				if _, before := f.await(EventBack); len(before) > 0 && before[0].Event == EventGone {
					t.Error("it is told again and again")
				}
			}
			p.commit(gittest.Regular("a", "2"), gittest.Regular("c", "1"))
			f.inStep()
			f.stop()
		})
	}
}

func (p *place) rename(from, to string) {
	p.t.Helper()
	if err := os.Rename(from, to); err != nil {
		p.t.Fatal(err)
	}
}

// TestFollowersOutliveTheirCredentials: they are renewed, or good again.
func TestFollowersOutliveTheirCredentials(t *testing.T) {
	t.Parallel()
	for _, renewed := range []bool{true, false} {
		p := newPlace(t)
		p.commit(gittest.Regular("a", "1"))
		var token atomic.Value
		token.Store("Bearer one")
		through := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: p.server.to})
		through.FlushInterval = -1
		address := serveProxy(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != token.Load() {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			through.ServeHTTP(w, r)
		})
		connect := func(authorization string) *client.Client {
			c, err := client.New(address+"/mcp", client.Options{HTTP: p.http(), Poll: 100 * time.Millisecond,
				Authorization: authorization, Idle: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		ctx, cancel := context.WithCancel(t.Context())
		f := &following{place: p, events: make(chan Event, 10_000), cancel: cancel, ended: make(chan error, 1)}
		o := p.options()
		o.Events = func(e Event) { f.events <- e }
		if renewed {
			o.Renew = func(context.Context) (*client.Client, error) { return connect(token.Load().(string)), nil }
		}
		go func() { f.ended <- Follow(ctx, connect("Bearer one"), o) }()
		f.inStep()
		token.Store("Bearer two")
		p.commit(gittest.Regular("a", "2"))
		if e, _ := f.await(EventGone); e.Code != CodeUnauthorized {
			t.Errorf("%+v", e)
		}
		if !renewed {
			token.Store("Bearer one")
		}
		f.await(EventBack)
		p.commit(gittest.Regular("a", "3"))
		f.inStep()
		f.stop()
	}
}

// TestFollowersEndWithTheProgramThatServes, since that is not started again.
func TestFollowersEndWithTheProgramThatServes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"))
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(binary, "stdio", "--root", filepath.Dir(p.repo.Dir))
	in, inErr := server.StdinPipe()
	out, outErr := server.StdoutPipe()
	if err := errors.Join(inErr, outErr, server.Start()); err != nil {
		t.Fatal(err)
	}
	c, err := client.New("stdio:", client.Options{Pipe: struct {
		io.Reader
		io.WriteCloser
	}{out, in}})
	if err != nil {
		t.Fatal(err)
	}
	f := p.followBy(c)
	f.inStep()
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case err = <-f.ended:
	case <-time.After(gittest.Patience):
	}
	if !errors.Is(err, client.ErrProgramEnded) {
		t.Error(err)
	}
	f.cancel()
	_ = c.Close()     // it has ended
	_ = server.Wait() // it was killed
}

// A push does not make room on a disk: the same state is tried again.
func TestFollowersWaitForDiskSpace(t *testing.T) {
	code := CodeOf(fmt.Errorf("a: %w", unpack.ErrNoSpace))
	if w := (&follower{known: true}); isMended(client.State{}, code) || !w.comesBack(code) {
		t.Errorf("%s is not waited for", code)
	}
}

// TestFollowersEndWhereTheyWereNeverInStep, and where nothing comes back by itself.
func TestFollowersEndWhereTheyWereNeverInStep(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"))
	p.repo.Commit("unsafe", gittest.Regular(".repomcp/x", "1"))
	held, err := open(Options{Repository: "app", Dir: filepath.Join(t.TempDir(), "held")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.close() }() // a test's
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Options)
		code   Code
	}{
		"a branch":     {func(o *Options) { o.Ref = "nothing" }, CodeGone},
		"a repository": {func(o *Options) { o.Repository = "nothing" }, CodeGone},
		"a pathspec":   {func(o *Options) { o.Paths = []string{":(nonsense)x"} }, CodeRefused},
		"a profile":    {func(o *Options) { o.Profile = "nonsense" }, CodeArguments},
		"no folder":    {func(o *Options) { o.Dir = "" }, CodeArguments},
		"unsafe":       {func(o *Options) { o.Ref = "unsafe" }, CodeUnsafe},
		"locked":       {func(o *Options) { o.Dir = held.options.Dir }, CodeLocked},
		"occupied":     {func(o *Options) { o.Dir = full }, CodeOccupied},
	} {
		o := p.options()
		o.Dir = filepath.Join(t.TempDir(), "in")
		c.change(&o)
		var last Event
		o.Events = func(e Event) { last = e }
		err := Follow(t.Context(), p.client, o)
		if CodeOf(err) != c.code || last.Event != EventFailed || last.Code != c.code {
			t.Errorf("%s: %v, %+v", name, err, last)
		}
	}
	// What was in step once is waited for by the next process as well.
	p.sync(nil)
	p.repo.Git("update-ref", "refs/heads/aside", "main")
	p.repo.Git("update-ref", "-d", "refs/heads/main")
	f := p.follow(p.server.proxy, client.Options{Poll: 100 * time.Millisecond})
	f.await(EventGone)
	p.repo.Git("update-ref", "refs/heads/main", "aside")
	f.await(EventBack)
	f.stop()
}

// TestAnEndIsToldAsSuch: what is stopped has not failed.
func TestAnEndIsToldAsSuch(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"))
	f := p.follow(p.server.proxy, client.Options{})
	f.inStep()
	f.stop()
	var last Event
	for len(f.events) > 0 {
		last = <-f.events
	}
	if last.Event != EventStopped || last.Error != "" {
		t.Errorf("the last event is %+v", last)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := p.options()
	p.commit(gittest.Regular("a", gittest.Noise(3_000_000)))
	o.Events = func(e Event) {
		if last = e; e.Event == EventStart {
			cancel()
		}
	}
	if _, err := Sync(ctx, p.client, o); !errors.Is(err, context.Canceled) || last.Event != EventStopped {
		t.Errorf("%v, %+v", err, last)
	}
}

// TestProgressSaysWhatARunIsAt, and what it has done.
func TestProgressSaysWhatARunIsAt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(manyFiles("1 ")...)
	p.sync(nil)
	p.commit(manyFiles("2 ")[:200]...)
	phases := map[string]Event{}
	result := p.sync(func(o *Options) {
		o.Plain, o.Verify = true, true
		o.Events = func(e Event) {
			if e.Event == EventProgress {
				phases[e.Phase] = e
			}
		}
	})
	for _, phase := range []string{PhaseCheck, PhaseFinish} {
		if e := phases[phase]; e.Written != result.Written || e.Deleted != result.Deleted || e.Bytes != result.Bytes {
			t.Errorf("%s: %+v, the result is %+v", phase, e, result)
		}
	}
	if e := phases[PhaseReceive]; e.Bytes != result.Bytes || e.Deleted != result.Deleted || e.Written == 0 {
		t.Errorf("%+v, the result is %+v", e, result)
	}
}
