package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
)

// watching collects states in the background; a test ends it.
type watching struct {
	t      *testing.T
	states chan client.State
	ended  chan error
	cancel context.CancelFunc
}

func watchAll(t *testing.T, c *client.Client, uris ...string) *watching {
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{t: t, states: make(chan client.State, 100), ended: make(chan error, 1), cancel: cancel}
	go func() {
		var last error
		for state, err := range c.Watch(ctx, uris...) {
			if err != nil {
				last = err
				continue
			}
			w.states <- state
		}
		w.ended <- last
	}()
	return w
}

// until waits for a state.
func (w *watching) until(what string, is func(client.State) bool) {
	w.t.Helper()
	var seen []client.State
	for {
		select {
		case state := <-w.states:
			if seen = append(seen, state); is(state) {
				return
			}
		case err := <-w.ended:
			w.t.Fatalf("%s: the loop has ended: %v", what, err)
		case <-time.After(gittest.Patience):
			w.t.Fatalf("%s: nothing but %v", what, seen)
		}
	}
}

func (w *watching) stop() error {
	w.cancel()
	return <-w.ended
}

func isCommit(id string) func(client.State) bool {
	return func(s client.State) bool { return s.Commit == id && !s.Missing && s.ETag != "" }
}

// TestWatchGivesStates in every protocol, with servers and proxies that pass notifications of
// changes, and with others that do not.
func TestWatchGivesStates(t *testing.T) {
	gittest.Long(t)
	const ref, archive, file = "repo://team/app/refs/heads/main", "repo://team/app/archive/main.tar", "repo://team/app/refs/heads/main/contents/README.md"
	for _, protocol := range []string{protocols[0], protocols[1], protocols[3]} {
		for name, f := range map[string]fault{"events": {}, "no events": {events: 405}, "no such method": {events: 404},
			"held back": {hold: true}} {
			t.Run(protocol+" "+name, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, "direct", 1)
				s.options.Poll = 50 * time.Millisecond
				c := s.connect(protocol)
				client.SetPatience(c, 300*time.Millisecond)
				if name == "events" {
					client.SetPatience(c, gittest.Patience) // nothing is found by looking
					s.options.Poll = time.Hour
				}
				s.fail(func(int, *http.Request) fault { return f })
				first := s.repo.Git("rev-parse", "main")
				w := watchAll(t, c, ref, archive, file)
				states := map[string]client.State{}
				for range 3 {
					state := <-w.states
					states[state.URI] = state
				}
				if len(states) != 3 || !isCommit(first)(states[ref]) || !isCommit(first)(states[archive]) ||
					states[archive].Content != nil || !strings.Contains(string(states[ref].Content), first) {
					t.Errorf("%+v", states)
				}
				// A look by ETag finds nothing new, or the stream of events has begun.
				const begun = "HEAD /archive/team/app/main.tar  304"
				gittest.Await(t, begun, func() bool {
					heard, _ := s.what()
					return slices.Contains(heard, begun)
				})
				for i := range 3 {
					commit := s.repo.Commit("main", gittest.Regular("README.md", fmt.Sprint("# ", i)))
					missing := []string{ref, archive, file}
					w.until("a push", func(state client.State) bool {
						if state.URI == file || isCommit(commit)(state) {
							missing = slices.DeleteFunc(missing, func(uri string) bool { return uri == state.URI })
						}
						return len(missing) == 0
					})
				}
				s.repo.Git("update-ref", "-d", "refs/heads/main")
				w.until("a deletion", func(state client.State) bool { return state.Missing && state.URI == ref })
				if err := w.stop(); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
	}
}

// TestStatesWithoutAnETag: over a connection a server may know the digest of the bytes, or not yet.
func TestStatesWithoutAnETag(t *testing.T) {
	const a, b, one, other = "a", "b", `"1"`, `"2"`
	for _, c := range []struct {
		before, now client.State
		same        bool
	}{
		{client.State{Commit: a, ETag: one}, client.State{Commit: a, ETag: one}, true},
		{client.State{Commit: a, ETag: a}, client.State{Commit: a, ETag: one}, true},
		{client.State{Commit: a, ETag: one}, client.State{Commit: a, ETag: a}, true},
		{client.State{Commit: a, ETag: one}, client.State{Commit: a, ETag: other}, false},
		{client.State{Commit: a, ETag: a}, client.State{Commit: b, ETag: b}, false},
		{client.State{Commit: a, ETag: a}, client.State{Commit: b, ETag: one}, false},
		{client.State{ETag: one}, client.State{ETag: other}, false},
		{client.State{ETag: one}, client.State{Missing: true}, false},
		{client.State{Missing: true}, client.State{ETag: one}, false},
		{client.State{Missing: true}, client.State{Missing: true}, true},
	} {
		if client.IsSame(c.now, c.before) != c.same {
			t.Errorf("%+v after %+v: want %t", c.now, c.before, c.same)
		}
	}
}

// TestWatchLooksAgain after an event, and then regularly: behind a balancer, looks may reach a server that has the
// push later.
func TestWatchLooksAgain(t *testing.T) {
	gittest.Long(t)
	for _, protocol := range protocols[:2] {
		for stale, poll := range map[int64]time.Duration{1: time.Hour, 3: 200 * time.Millisecond} {
			t.Run(fmt.Sprint(protocol, " ", stale), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, "direct", 1)
				s.options.Poll = poll
				w := watchAll(t, s.connect(protocol), "repo://team/app/archive/main.tar")
				w.until("the beginning", isCommit(s.repo.Git("rev-parse", "main")))
				s.awaitEvents(t)
				time.Sleep(client.LookAgainAfter + time.Second) // the look after the first one
				var looks atomic.Int64
				s.fail(func(_ int, r *http.Request) fault {
					if r.Method == http.MethodHead && looks.Add(1) <= stale {
						return fault{status: http.StatusNotModified}
					}
					return fault{}
				})
				time.Sleep(time.Second) // a look that began before has its reply by then
				looks.Store(0)
				w.until("a push", isCommit(s.repo.Commit("main", gittest.Regular("README.md", "# other"))))
				if err := w.stop(); !errors.Is(err, context.Canceled) || looks.Load() <= stale {
					t.Error(err, looks.Load())
				}
			})
		}
	}
}

// TestWatchComesBack from connections that break, and misses nothing meanwhile.
func TestWatchComesBack(t *testing.T) {
	gittest.Long(t)
	for _, protocol := range protocols[:2] {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "direct", 2)
			var told atomic.Int64
			s.options.Retrying = func(error) { told.Add(1) }
			c := s.connect(protocol)
			w := watchAll(t, c, "repo://team/app/refs/heads/main")
			w.until("the beginning", isCommit(s.repo.Git("rev-parse", "main")))
			s.awaitEvents(t)
			for name, f := range map[string]fault{"refused": {refuse: true}, "503": {status: 503}} {
				s.fail(func(int, *http.Request) fault { return f })
				s.cutEvents()
				commit := s.repo.Commit("main", gittest.Regular("README.md", name))
				before := told.Load()
				gittest.Await(t, "three retries", func() bool { return told.Load() >= before+3 })
				s.fail(nil)
				w.until(name, isCommit(commit))
			}
			if err := w.stop(); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

// TestWatchEnds when the loop is left, and with the error of a server that refuses.
func TestWatchEnds(t *testing.T) {
	s := newSite(t, "direct", 1)
	c := s.connect("")
	for _, err := range c.Watch(t.Context(), "repo://team/app/refs/heads/main") {
		if err != nil {
			t.Error(err)
		}
		break
	}
	s.fail(func(int, *http.Request) fault { return fault{status: http.StatusUnauthorized} })
	var refused *client.Error
	n := 0
	for _, err := range c.Watch(t.Context(), "repo://team/app/refs/heads/main") {
		if n++; !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized || n > 1 {
			t.Errorf("%d: %v", n, err)
		}
	}
	s.fail(nil)
	w := watchAll(t, c, "repo://nobody/refs/heads/main")
	w.until("what may come", func(state client.State) bool { return state.Missing })
	_ = w.stop() // ended by this test
}

// TestWatchNeedsNothingButTheEndpoint: archives are too large to be read, and their
// plain routes may be behind a proxy that hides them.
func TestWatchNeedsNothingButTheEndpoint(t *testing.T) {
	for _, protocol := range protocols[:2] {
		for _, delivery := range []string{"direct", "redirect"} {
			t.Run(protocol+" "+delivery, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, delivery, 1)
				s.options.Poll = time.Hour
				s.fail(func(_ int, r *http.Request) fault {
					if r.URL.Path != "/mcp" {
						return fault{status: http.StatusNotFound}
					}
					return fault{}
				})
				w := watchAll(t, s.connect(protocol), "repo://team/app/archive/main.tar.zst?profile=full")
				w.until("the beginning", isCommit(s.repo.Git("rev-parse", "main")))
				s.awaitEvents(t)
				w.until("a push", isCommit(s.repo.Commit("main", gittest.Regular("README.md", "# other"))))
				s.repo.Git("update-ref", "-d", "refs/heads/main")
				w.until("a deletion", func(state client.State) bool { return state.Missing })
				w.until("another branch", isCommit(s.repo.Commit("main", gittest.Regular("README.md", "# third"))))
				if err := w.stop(); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
	}
}
