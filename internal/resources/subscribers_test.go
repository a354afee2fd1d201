package resources

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/gittest"
)

// ear is a session without a transport.
type ear struct {
	id       string
	messages chan mcp.JSONRPCNotification
}

func (e *ear) SessionID() string                                   { return e.id }
func (e *ear) NotificationChannel() chan<- mcp.JSONRPCNotification { return e.messages }
func (e *ear) Initialize()                                         {}
func (e *ear) Initialized() bool                                   { return true }
func (e *ear) next(t *testing.T) string {
	t.Helper()
	select {
	case m := <-e.messages:
		uri, _ := m.Params.AdditionalFields["uri"].(string)
		return m.Method + " " + uri
	case <-time.After(20 * time.Second):
		t.Fatal("there is no notification")
		return ""
	}
}

// listening makes a server over one repository that tells of changes.
func listening(t *testing.T) (*Server, *gittest.Repo) {
	t.Helper()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	repo.Commit("main", gittest.Regular("a", "0"))
	s := library(t, root, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Watch(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return s, repo
}

const branchURI = "repo://repo/refs/heads/main"

func TestClientThatDoesNotReadIsToldOnceLater(t *testing.T) {
	s, repo := listening(t)
	slow, fast := &ear{messages: make(chan mcp.JSONRPCNotification)}, &ear{messages: make(chan mcp.JSONRPCNotification, 100)}
	const other = "repo://repo/refs/heads/other"
	for _, session := range []*ear{slow, fast} {
		s.subscriptions.listen(s.mcp.WithContext(t.Context(), session), &mcp.SubscriptionFilter{ResourceSubscriptions: []string{branchURI, other}})
	}
	for i := range 3 {
		repo.Commit("main", gittest.Regular("a", string(rune('1'+i))))
		if got := fast.next(t); got != methodUpdated+" "+branchURI {
			t.Fatal(got)
		}
	}
	if got := slow.next(t); got != methodUpdated+" "+branchURI {
		t.Fatal(got)
	}
	// Only one was kept: the next is of what comes now.
	repo.Commit("other", gittest.Regular("a", "1"))
	if got := slow.next(t); got != methodUpdated+" "+other {
		t.Fatal(got)
	}
}

func TestSessionsAreForgottenAfterTheirGrace(t *testing.T) {
	s, _ := listening(t)
	session := &ear{id: "one", messages: make(chan mcp.JSONRPCNotification, 1)}
	ctx := s.mcp.WithContext(t.Context(), session)
	held := func() (clients, watched int) {
		s.subscriptions.mu.Lock()
		defer s.subscriptions.mu.Unlock()
		return len(s.subscriptions.clients), s.subscriptions.watcher.Len()
	}
	expect := func(what string, clients, watched int) {
		t.Helper()
		if c, w := held(); c != clients || w != watched {
			t.Errorf("%s: %d clients and %d repositories, want %d and %d", what, c, w, clients, watched)
		}
	}
	if err := s.subscriptions.subscribe(ctx, branchURI); err != nil {
		t.Fatal(err)
	}
	if err := s.mcp.RegisterSession(ctx, session); err != nil {
		t.Fatal(err)
	}
	s.subscriptions.sweep(time.Now().Add(2 * sessionGrace))
	expect("connected", 1, 1)
	s.mcp.UnregisterSession(ctx, "one")
	s.subscriptions.sweep(time.Now())
	expect("within the grace", 1, 1)
	s.subscriptions.sweep(time.Now().Add(2 * sessionGrace))
	expect("after it", 0, 0)
	// One that never had a stream.
	if err := s.subscriptions.subscribe(ctx, branchURI); err != nil {
		t.Fatal(err)
	}
	s.subscriptions.sweep(time.Now().Add(2 * sessionGrace))
	expect("without a stream", 0, 0)
	if s.subscriptions.total != 0 || len(s.subscriptions.byRepository) != 0 {
		t.Errorf("%d subscriptions are left: %v", s.subscriptions.total, s.subscriptions.byRepository)
	}
}

func TestStreamThatEndsIsForgotten(t *testing.T) {
	s, _ := listening(t)
	ctx, cancel := context.WithCancel(t.Context())
	session := &ear{messages: make(chan mcp.JSONRPCNotification, 1)}
	filter := &mcp.SubscriptionFilter{ResourceSubscriptions: []string{branchURI, "repo://unknown", "https://example.com/"}}
	s.subscriptions.listen(s.mcp.WithContext(ctx, session), filter)
	if len(filter.ResourceSubscriptions) != 3 || s.subscriptions.watcher.Len() != 1 {
		t.Errorf("%v of %d repositories", filter.ResourceSubscriptions, s.subscriptions.watcher.Len())
	}
	cancel()
	for range 500 {
		s.subscriptions.mu.Lock()
		left := len(s.subscriptions.clients) + s.subscriptions.total + s.subscriptions.watcher.Len()
		s.subscriptions.mu.Unlock()
		if left == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("something is left of the stream")
}

// from is the context of a request of a session at an address.
func from(t *testing.T, session, address string) context.Context {
	return (&Request{Session: session, Address: address, events: make(chan struct{})}).Attach(t.Context())
}

func TestNewSubscriptionsTakeThePlaceOfThoseWithoutAStream(t *testing.T) {
	root := t.TempDir()
	gittest.At(t, filepath.Join(root, "repo.git")).Commit("main", gittest.Regular("a", "0"))
	s := library(t, root, Options{Subscribing: Subscribing{PerSession: 2, Total: 4}})
	subs := s.subscriptions
	subscribe := func(session, address, uri string) error { return subs.subscribe(from(t, session, address), uri) }
	watched := func() (sessions string) {
		subs.mu.Lock()
		defer subs.mu.Unlock()
		for _, session := range []string{"a", "b", "c", "d", "e"} {
			if c := subs.clients[session]; c != nil {
				sessions += fmt.Sprint(session, len(c.subscriptions))
			}
		}
		return sessions
	}
	stream := &ear{id: "a", messages: make(chan mcp.JSONRPCNotification, 1)}
	if err := s.mcp.RegisterSession(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ session, address, uri string }{
		{"a", "10.0.0.1", branchURI}, {"b", "10.0.0.1", branchURI}, {"c", "10.0.0.2", branchURI}, {"d", "10.0.0.3", branchURI},
	} {
		if err := subscribe(c.session, c.address, c.uri); err != nil {
			t.Fatalf("%v: %v", c, err)
		}
	}
	// An address has a half of all, whoever else watches nothing.
	if err := subscribe("e", "10.0.0.1", branchURI); err == nil || watched() != "a1b1c1d1" {
		t.Errorf("the third of an address: %v, %s", err, watched())
	}
	// b has been without a stream for longest; a has one.
	if err := subscribe("e", "10.0.0.4", branchURI); err != nil || watched() != "a1c1d1e1" {
		t.Errorf("the fifth of all: %v, %s", err, watched())
	}
	if err := subscribe("d", "10.0.0.3", "repo://repo"); err != nil || watched() != "a1d2e1" {
		t.Errorf("one more of a session: %v, %s", err, watched())
	}
	// Who was forgotten subscribes anew.
	if err := subscribe("b", "10.0.0.1", branchURI); err != nil || watched() != "a1b1e1" {
		t.Errorf("one that comes back: %v, %s", err, watched())
	}
	for _, session := range []string{"a", "b", "e"} {
		subs.unsubscribe(from(t, session, ""), branchURI)
	}
	// Only the session with a stream is known now, and nothing is left of others.
	if subs.total != 0 || watched() != "a0" || len(subs.clients) != 1 || len(subs.byAddress) != 0 || len(subs.waiting) != 0 || subs.watcher.Len() != 0 {
		t.Errorf("left: %d, %s, %v", subs.total, watched(), subs.byAddress)
	}
	s.mcp.UnregisterSession(t.Context(), "a")
	if len(subs.clients) != 0 {
		t.Errorf("left: %v", subs.clients)
	}
}

func TestSubscriptionsOfAllWithAStreamAreNotEvicted(t *testing.T) {
	s := library(t, t.TempDir(), Options{Subscribing: Subscribing{Total: 2}})
	for _, session := range []string{"a", "b"} {
		if err := s.mcp.RegisterSession(t.Context(), &ear{id: session, messages: make(chan mcp.JSONRPCNotification, 1)}); err != nil {
			t.Fatal(err)
		}
		if err := s.subscriptions.subscribe(from(t, session, ""), branchURI); err != nil {
			t.Fatal(err)
		}
	}
	var failure *Error
	if err := s.subscriptions.subscribe(from(t, "c", ""), branchURI); !errors.As(err, &failure) || failure.Reason != ReasonSubscriptions {
		t.Errorf("a third: %v", err)
	}
	if len(s.subscriptions.clients) != 2 {
		t.Errorf("%d clients are known, want 2", len(s.subscriptions.clients))
	}
}
