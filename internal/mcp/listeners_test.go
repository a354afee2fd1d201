package mcp

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/gittest"
)

// listener is a client that waits for notifications, in one era.
type listener struct {
	t        *testing.T
	era      string
	messages <-chan string
}

// listen has a client of 2026-07-28 hear of resources, and of the list if it wants that, until
// stop is called.
func (s *local) listen(t *testing.T, address string, list bool, uris ...string) (messages <-chan string, stop func()) {
	t.Helper()
	return s.listenAs(t, access.Principal{}, address, list, uris...)
}

func (s *local) listenAs(
	t *testing.T, principal access.Principal, address string, list bool, uris ...string,
) (messages <-chan string, stop func()) {
	t.Helper()
	c := s.call(modernVersion, MethodListen, map[string]any{
		"notifications": map[string]any{"resourceSubscriptions": uris, "resourcesListChanged": list},
	})
	parsed, _, failure := ParseMessages(c.encode(t))
	if failure != nil {
		t.Fatal(failure)
	}
	r, _, failure := s.Admit(access.WithPrincipal(t.Context(), principal), parsed[0], c.header.Get)
	if failure != nil {
		t.Fatal(failure)
	}
	r.Address = address
	return stream(t, func(ctx context.Context, send func([]byte) error) {
		s.Listen(access.WithPrincipal(ctx, principal), r, send)
	})
}

// events opens the event stream of a session, until stop is called.
func (s *local) events(t *testing.T, session string) (messages <-chan string, stop func()) {
	t.Helper()
	return s.eventsOf(t, access.Principal{}, session)
}

func (s *local) eventsOf(
	t *testing.T, principal access.Principal, session string,
) (messages <-chan string, stop func()) {
	t.Helper()
	opened := s.OpenEvents(access.WithPrincipal(t.Context(), principal), &Request{Session: session}, "", nil)
	return stream(t, func(ctx context.Context, send func([]byte) error) {
		defer opened.Close()
		opened.Run(access.WithPrincipal(ctx, principal), func(_ string, message []byte) error { return send(message) })
	})
}

// stream runs what sends messages. stop ends it, and waits until it has ended.
func stream(t *testing.T, run func(ctx context.Context, send func([]byte) error)) (<-chan string, func()) {
	ctx, cancel := context.WithCancel(t.Context())
	messages, ended := make(chan string), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(messages)
		run(ctx, func(message []byte) error {
			select {
			case messages <- string(message):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	stop := func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return messages, stop
}

// listeners are one client of each era, both subscribed to the same.
func (s *local) listeners(t *testing.T, uris ...string) []listener {
	t.Helper()
	modern, _ := s.listen(t, "", true, uris...)
	if ack := <-modern; !strings.Contains(ack, "acknowledged") {
		t.Fatalf("first message: %s", ack)
	}
	session := s.initialize(t, sessionVersion, "{}")
	old, _ := s.events(t, session)
	for _, uri := range uris {
		if a := s.subscribe(t, session, uri); a.failed() {
			t.Fatalf("subscribe: %v", a)
		}
	}
	return []listener{{t, "modern", modern}, {t, "session", old}}
}

func (s *local) subscribe(t *testing.T, session, uri string) received {
	t.Helper()
	c := s.call(sessionVersion, MethodSubscribe, map[string]any{"uri": uri})
	c.header.Set(HeaderSession, session)
	return s.do(t, c)
}

// follow keeps subscriptions going until stop is called.
func (s *local) follow(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.subscriptions.Run(ctx) })
	running.Go(func() { s.catalogue.Watch(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// repo makes a repository and waits until the server has noticed it.
func (s *local) repo(t *testing.T, name string) *gittest.Repo {
	t.Helper()
	repo := gittest.At(t, filepath.Join(s.root, name+".git"))
	gittest.Await(t, "the server notices "+name, func() bool {
		_, err := s.catalogue.Get(name)
		return err == nil
	})
	return repo
}

// until counts notifications, by URI or method and without pings, up to the one that is wanted.
func (l listener) until(last string) map[string]int {
	l.t.Helper()
	counts := make(map[string]int)
	for counts[last] == 0 {
		select {
		case message := <-l.messages:
			var m struct {
				Method string
				Params struct{ URI string }
			}
			if err := json.Unmarshal([]byte(message), &m); err != nil {
				l.t.Fatalf("%s era: %q: %v", l.era, message, err)
			}
			if m.Method == "ping" {
				continue // keeps the stream open, on a slow machine in the middle of the test
			}
			name := m.Params.URI
			if m.Method != "notifications/resources/updated" {
				name = m.Method
			}
			counts[name]++
		case <-time.After(gittest.Patience):
			l.t.Fatalf("%s era: no notification of %s; there were %v", l.era, last, counts)
		}
	}
	return counts
}
