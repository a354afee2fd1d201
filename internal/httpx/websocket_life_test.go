package httpx_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/mark3labs/mcp-go/mcp" //nolint:depguard // a tool that a test can hold

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

func TestWebSocketClientsMayGoAtAnyTime(t *testing.T) {
	t.Parallel()
	target := newTarget(t, targetOptions{})
	for i := range 20 {
		s := dial(t, target.url)
		for id := range i {
			s.send(rpc(modernVersion, id, methodRead, map[string]any{"uri": "repo://many/refs"}))
		}
		if err := s.conn.CloseNow(); err != nil {
			t.Error(err)
		}
	}
	// TestMain looks for what they left.
	if f := dial(t, target.url).call(rpc(modernVersion, 1, "resources/list", nil)); f.Result == nil {
		t.Error(f.raw)
	}
}

func TestWebSocketDropsClientsThatDoNotRead(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	target := newTarget(t, targetOptions{
		http: httpx.Options{WriteTimeout: 100 * time.Millisecond, Sockets: 1},
		build: func(root string) {
			gittest.At(t, filepath.Join(root, "hello.git")).Commit("main",
				gittest.Regular("large", strings.Repeat("0123456789abcde\n", 200_000)))
		},
	})
	s := dial(t, target.url)
	for id := range 20 { // more than the buffers of the system hold
		text := rpc(modernVersion, id, methodRead, map[string]any{"uri": "repo://hello/contents/large"})
		if err := s.conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			break
		}
	}
	awaitPlace(t, target.url)
}

// held is a server with a tool that runs until it is let go, or its request ends.
func held(t *testing.T) (s *site, started chan string, release chan struct{}) {
	t.Helper()
	s, started, release = serve(t), make(chan string, 100), make(chan struct{})
	s.mcp.AddTool(mcp.NewTool("hold"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		started <- "started"
		select {
		case <-release:
		case <-ctx.Done():
			started <- "cancelled"
		}
		return mcp.NewToolResultText("held"), nil
	})
	s.mcp.AddTool(mcp.NewTool("fall"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic("on purpose")
	})
	return s, started, release
}

func hold(id int) string {
	return rpc(modernVersion, id, "tools/call", map[string]any{"name": "hold"})
}

func TestWebSocketRunsSixteenRequestsAtATime(t *testing.T) {
	t.Parallel()
	s, started, release := held(t)
	client := dial(t, s.url)
	for id := range 20 {
		client.send(hold(id))
	}
	for range 16 {
		<-started
	}
	// The server reads nothing more, so that another client's whole exchange
	// fits between.
	if f := dial(t, s.url).call(rpc(modernVersion, 1, "resources/list", nil)); f.Result == nil {
		t.Error(f.raw)
	}
	if len(started) != 0 {
		t.Errorf("%d more requests run", len(started))
	}
	close(release)
	for range 20 {
		if f := client.next(); f.Result == nil {
			t.Error(f.raw)
		}
	}
}

func TestWebSocketRequestsAreCancelled(t *testing.T) {
	t.Parallel()
	s, started, _ := held(t)
	client := dial(t, s.url)
	client.send(hold(1))
	<-started
	client.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if event := <-started; event != "cancelled" {
		t.Error(event)
	}
	// There is no reply to what was cancelled.
	if f := client.call(rpc(modernVersion, 2, "tools/call", map[string]any{"name": "fall"})); string(f.ID) != "2" ||
		f.Error.Code != -32603 || strings.Contains(f.raw, "purpose") {
		t.Errorf("a tool that panics: %s", f.raw)
	}
	client.send(hold(3))
	<-started
	if err := client.conn.CloseNow(); err != nil {
		t.Error(err)
	}
	if event := <-started; event != "cancelled" {
		t.Error(event)
	}
}

func TestWebSocketDrainWaitsForRequests(t *testing.T) {
	t.Parallel()
	s, started, release := held(t)
	client, embedded := dial(t, s.url), asPrincipal(t, s.server, "") // the listener ends with the drain
	client.send(hold(1))
	<-started
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), gittest.Patience)
		defer cancel()
		ended <- s.server.Shutdown(ctx)
	}()
	gittest.Await(t, "the server drains", func() bool {
		_, response, err := websocket.Dial(t.Context(), embedded+"/ws", nil)
		return err != nil && response != nil && response.StatusCode == http.StatusServiceUnavailable
	})
	close(release)
	if f := client.next(); string(f.ID) != "1" || f.Result == nil {
		t.Error(f.raw)
	}
	if status := client.closed(); status != websocket.StatusGoingAway {
		t.Errorf("status %v", status)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWebSocketDrain(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.repo("repo").Commit("main", gittest.Regular("a", "1"))
	idle, listening := dial(t, s.url), dial(t, s.url)
	if f := listening.call(rpc(modernVersion, 1, "subscriptions/listen",
		map[string]any{"notifications": map[string]any{"resourcesListChanged": true}})); !strings.HasSuffix(
		f.Method, "acknowledged") {
		t.Fatal(f.raw)
	}
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), gittest.Patience)
		defer cancel()
		ended <- s.server.Shutdown(ctx)
	}()
	if f := listening.next(); string(f.ID) != "1" || f.Result == nil {
		t.Errorf("the stream ends with %s", f.raw)
	}
	for name, client := range map[string]*socket{"idle": idle, "listening": listening} {
		if status := client.closed(); status != websocket.StatusGoingAway {
			t.Errorf("%s: status %v", name, status)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	embedded := asPrincipal(t, s.server, "") // its own listener ended with the drain
	if _, response, err := websocket.Dial(t.Context(), embedded+"/ws", nil); err == nil || response == nil ||
		response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a connection after the drain: %v, %v", response, err)
	}
}

// TestWebSocketDrainEnds cuts off a client that does not close its side.
func TestWebSocketDrainEnds(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dial(t, s.url) // and never read
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(fmt.Errorf("a client that does not answer: %w", err))
	}
}
