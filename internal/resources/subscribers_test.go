package resources

import (
	"context"
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
