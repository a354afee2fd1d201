package httpx_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/mark3labs/mcp-go/mcp"    //nolint:depguard // a tool that a test can hold
	"github.com/mark3labs/mcp-go/server" //nolint:depguard // a tool that a test can hold

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

// socket is a client over WebSocket.
type socket struct {
	t    *testing.T
	conn *websocket.Conn
}

// dial opens a connection.
func dial(t *testing.T, url string) *socket {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, url+"/ws", &websocket.DialOptions{Subprotocols: []string{"mcp"}})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { _ = conn.CloseNow() }) // it may have been closed
	if conn.Subprotocol() != "mcp" {
		t.Errorf("subprotocol %q", conn.Subprotocol())
	}
	return &socket{t, conn}
}

func (s *socket) send(text string) {
	s.t.Helper()
	if err := s.conn.Write(s.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *socket) read() ([]byte, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), hang)
	defer cancel()
	kind, message, err := s.conn.Read(ctx)
	if err == nil && kind != websocket.MessageText {
		s.t.Errorf("a frame of type %v", kind)
	}
	return message, err
}

// frame is a message of the server.
type frame struct {
	ID     json.RawMessage
	Method string
	Params map[string]any
	Result map[string]any
	Error  struct {
		Code    int
		Message string
		Data    map[string]any
	}
	raw string
}

func (s *socket) next() frame {
	s.t.Helper()
	message, err := s.read()
	if err != nil {
		s.t.Fatal(err)
	}
	f := frame{raw: string(message)}
	if err := json.Unmarshal(message, &f); err != nil {
		s.t.Fatalf("%v: %.300s", err, message)
	}
	return f
}

func (s *socket) call(text string) frame {
	s.t.Helper()
	s.send(text)
	return s.next()
}

// closed reads until the connection ends and returns its status.
func (s *socket) closed() websocket.StatusCode {
	s.t.Helper()
	for {
		if _, err := s.read(); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func (s *socket) initialize(version string) {
	s.t.Helper()
	f := s.call(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{"resourceStreaming":{}},"clientInfo":{"name":"test","version":"1"}}}`)
	if f.Result["protocolVersion"] != version {
		s.t.Fatal(f.raw)
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// rpc writes a request of an era.
func rpc(version string, id int, method string, params map[string]any) string {
	all := map[string]any{}
	for name, value := range params {
		all[name] = value
	}
	if version == modernVersion {
		all["_meta"] = map[string]any{metaVersion: version, metaCapabilities: map[string]any{"resourceStreaming": map[string]any{}}}
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": all})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestWebSocketServesBothEras(t *testing.T) {
	t.Parallel()
	target := newTarget(t, targetOptions{links: newLinks(t).linking(t)})
	for _, version := range eras {
		s := dial(t, target.url)
		if version == sessionVersion {
			if f := s.call(rpc(version, 1, "resources/list", nil)); f.Error.Code != -32600 || !strings.Contains(f.Error.Message, "initialize") {
				t.Errorf("before initialize: %s", f.raw)
			}
			s.initialize(version)
			if f := s.call(rpc(version, 1, "initialize", map[string]any{"protocolVersion": version})); f.Error.Code != -32600 {
				t.Errorf("a second initialize: %s", f.raw)
			}
		}
		if f := s.call(rpc(version, 1, "resources/list", nil)); !strings.Contains(f.raw, `"streamable":true`) {
			t.Errorf("%s: resources/list: %s", version, f.raw)
		}
		const file = "repo://hello/contents/README.md"
		if f := s.call(rpc(version, 3, methodRead, map[string]any{"uri": file})); !strings.Contains(f.raw, `"text":"hello\n"`) {
			t.Errorf("%s: resources/read: %s", version, f.raw)
		}
		want := map[string]int{sessionVersion: -32002, modernVersion: -32602}[version]
		if f := s.call(rpc(version, 4, methodRead, map[string]any{"uri": "repo://none"})); f.Error.Code != want || f.Error.Data["reason"] != "not_found" {
			t.Errorf("%s: an unknown repository: %s", version, f.raw)
		}
		f := s.call(rpc(version, 5, methodStream, map[string]any{"uri": "repo://hello/archive/main.tar"}))
		if f.Result["downloadUrl"] == nil {
			t.Fatalf("%s: resources/stream: %s", version, f.raw)
		}
		hello := gittest.Existing(t, filepath.Join(target.root, "hello.git"))
		if got := target.get(t, at(t, f.Result)); got.status != http.StatusOK || !bytes.Equal(got.body, hello.Archive("--format=tar", target.head)) {
			t.Errorf("%s: the archive is %v", version, got)
		}
	}
}

func TestWebSocketStreamNeedsLinks(t *testing.T) {
	t.Parallel()
	target := newTarget(t, targetOptions{})
	f := dial(t, target.url).call(rpc(modernVersion, 1, methodStream, map[string]any{"uri": "repo://hello/archive/main.tar"}))
	if f.Error.Code != -32003 || !strings.Contains(f.Error.Message, "--public-url") || !strings.Contains(f.raw, `"suggestion":"Accept: */*"`) {
		t.Error(f.raw)
	}
	linked := newTarget(t, targetOptions{links: newLinks(t).linking(t)})
	for url, want := range map[string]bool{target.url: false, linked.url: true} {
		f := dial(t, url).call(rpc(modernVersion, 1, "server/discover", nil))
		if strings.Contains(f.raw, `"stream":true`) != want || strings.Contains(f.raw, `"modes":["downloadUrl"]`) != want || f.Result == nil {
			t.Errorf("with links %v: %s", want, f.raw)
		}
	}
}

func TestWebSocketIsCheckedBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	target := newTarget(t, targetOptions{http: httpx.Options{AllowedOrigins: []string{"https://ide.example"}}})
	for _, test := range []struct {
		origin, host string
		status       int
	}{
		{"https://evil.example", "", http.StatusForbidden},
		{"null", "", http.StatusForbidden},
		{"https://ide.example.evil.example", "", http.StatusForbidden},
		{"", "evil.example", http.StatusForbidden},
		{"https://ide.example", "", http.StatusSwitchingProtocols},
		{target.url, "", http.StatusSwitchingProtocols},
		{"", "", http.StatusSwitchingProtocols},
	} {
		header := http.Header{}
		if test.origin != "" {
			header.Set("Origin", test.origin)
		}
		conn, response, err := websocket.Dial(t.Context(), target.url+"/ws", &websocket.DialOptions{HTTPHeader: header, Host: test.host})
		if response == nil || response.StatusCode != test.status {
			t.Errorf("%+v: %v, %v", test, response, err)
		}
		if conn != nil {
			_ = conn.CloseNow() // only the handshake counts
		}
	}
	if a := target.get(t, "/ws"); a.status != http.StatusUpgradeRequired {
		t.Errorf("without an upgrade: %v", a)
	}
}

func TestWebSocketRefusesWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	target := newTarget(t, targetOptions{})
	s := dial(t, target.url)
	for text, code := range map[string]int{
		`{`: -32700, `{"a":1,"a":2}`: -32700, "\xff": -32700, `{}`: -32600, `[]`: -32600, `1`: -32600,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},` + rpc(modernVersion, 2, "resources/list", nil) + `]`: -32600,
	} {
		if f := s.call(text); f.Error.Code != code || f.ID != nil {
			t.Errorf("%q: %s", text, f.raw)
		}
	}
	if f := s.call(strings.Replace(rpc(modernVersion, 1, "resources/list", nil), modernVersion, "2099-01-01", 1)); f.Error.Code != -32022 {
		t.Errorf("an unknown version: %s", f.raw)
	}
	// Notifications and replies have no answer, whatever is wrong with them.
	s.send(`{"jsonrpc":"2.0","method":"notifications/unknown"}`)
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`)
	s.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	if f := s.call(rpc(sessionVersion, 9, "ping", nil)); string(f.ID) != "9" || f.Result == nil {
		t.Errorf("after all that: %s", f.raw)
	}

	largest := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20-58) + `"}}`
	if f := s.call(largest); f.Result == nil || len(largest) > 1<<20 {
		t.Errorf("%d bytes: %s", len(largest), f.raw)
	}
	s.send(largest + strings.Repeat(" ", 1<<10))
	if status := s.closed(); status != websocket.StatusMessageTooBig {
		t.Errorf("a large message: status %v", status)
	}
	s = dial(t, target.url)
	if err := s.conn.Write(t.Context(), websocket.MessageBinary, []byte(rpc(modernVersion, 1, "resources/list", nil))); err != nil {
		t.Fatal(err)
	}
	if status := s.closed(); status != websocket.StatusUnsupportedData {
		t.Errorf("a binary frame: status %v", status)
	}
}

func TestWebSocketAnswersManyRequests(t *testing.T) {
	t.Parallel()
	target := newTarget(t, targetOptions{})
	s := dial(t, target.url)
	const count = 300 // many times what runs at once
	var sending sync.WaitGroup
	sending.Go(func() {
		for id := range count {
			text := rpc(modernVersion, id, methodRead, map[string]any{"uri": "repo://hello/contents/README.md"})
			if err := s.conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	answered := make(map[string]bool)
	for range count {
		f := s.next()
		if !strings.Contains(f.raw, `"text":"hello\n"`) || answered[string(f.ID)] {
			t.Fatal(f.raw)
		}
		answered[string(f.ID)] = true
	}
	sending.Wait()
}

func TestWebSocketBatch(t *testing.T) {
	t.Parallel()
	target := newTarget(t, targetOptions{})
	s := dial(t, target.url)
	s.initialize(batchVersion)
	s.send(`[` + rpc("", 1, "ping", nil) + `,{"jsonrpc":"2.0","method":"notifications/x"},` + rpc("", 2, methodRead, map[string]any{"uri": "repo://hello"}) + `]`)
	message, err := s.read()
	var replies []frame
	if err != nil || json.Unmarshal(message, &replies) != nil || len(replies) != 2 || string(replies[1].ID) != "2" || replies[1].Result == nil {
		t.Errorf("%v: %s", err, message)
	}
	s = dial(t, target.url)
	s.initialize(sessionVersion)
	if f := s.call(`[` + rpc("", 1, "ping", nil) + `]`); f.Error.Code != -32600 || !strings.Contains(f.Error.Message, batchVersion) {
		t.Errorf("in 2025-11-25: %s", f.raw)
	}
}

func TestWebSocketConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	// One address has a half of all connections.
	target := newTarget(t, targetOptions{http: httpx.Options{Sockets: 4}})
	first := dial(t, target.url)
	dial(t, target.url)
	if _, response, err := websocket.Dial(t.Context(), target.url+"/ws", nil); err == nil || response == nil || response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
		t.Fatalf("a third connection: %v, %v", response, err)
	}
	if err := first.conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	for range 500 { // the server notices in its own time
		conn, _, err := websocket.Dial(t.Context(), target.url+"/ws", nil)
		if err == nil {
			_ = conn.CloseNow() // it was let in, which is all
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the place of a connection that ended was not given to another")
}

func TestWebSocketTellsOfPushes(t *testing.T) {
	s := serve(t)
	repo := s.repo("repo")
	repo.Commit("main", gittest.Regular("a", "1"))
	stop := s.watch()
	defer stop()
	const uri = "repo://repo/refs/heads/main"
	session, modern := dial(t, s.url), dial(t, s.url)
	session.initialize(sessionVersion)
	if f := session.call(rpc(sessionVersion, 1, "resources/subscribe", map[string]any{"uri": uri})); f.Result == nil {
		t.Fatal(f.raw)
	}
	if f := session.call(rpc(sessionVersion, 2, "tools/list", nil)); !strings.Contains(f.raw, `"search_repositories"`) {
		t.Error(f.raw)
	}
	listen := func(id int) string {
		return rpc(modernVersion, id, "subscriptions/listen", map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{uri}}})
	}
	const tag = `"io.modelcontextprotocol/subscriptionId":7`
	if f := modern.call(listen(7)); !strings.HasSuffix(f.Method, "acknowledged") || !strings.Contains(f.raw, tag) {
		t.Fatal(f.raw)
	}
	if f := modern.call(listen(7)); f.Error.Code != -32600 {
		t.Errorf("an id that is in use: %s", f.raw)
	}
	repo.Commit("main", gittest.Regular("a", "2"))
	if f := session.next(); f.Method != "notifications/resources/updated" || f.Params["uri"] != uri {
		t.Errorf("session: %s", f.raw)
	}
	if f := modern.next(); f.Method != "notifications/resources/updated" || f.Params["uri"] != uri || !strings.Contains(f.raw, tag) {
		t.Errorf("modern: %s", f.raw)
	}
	for id := 8; id < 11; id++ {
		if f := modern.call(listen(id)); !strings.HasSuffix(f.Method, "acknowledged") {
			t.Fatal(f.raw)
		}
	}
	if f := modern.call(listen(11)); f.Error.Code != -32600 || !strings.Contains(f.Error.Message, "notifications/cancelled") {
		t.Errorf("one stream too many: %s", f.raw)
	}
	modern.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	for i := 0; ; i++ { // the stream ends in its own time, without a reply
		f := modern.call(listen(12))
		if strings.HasSuffix(f.Method, "acknowledged") {
			break
		}
		if i > 500 || string(f.ID) != "12" {
			t.Fatal(f.raw)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

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
	t.Parallel()
	target := newTarget(t, targetOptions{
		http: httpx.Options{WriteTimeout: 100 * time.Millisecond, Sockets: 1},
		build: func(root string) {
			gittest.At(t, filepath.Join(root, "hello.git")).Commit("main", gittest.Regular("large", strings.Repeat("0123456789abcde\n", 200_000)))
		},
	})
	s := dial(t, target.url)
	for id := range 20 { // more than the buffers of the system hold
		text := rpc(modernVersion, id, methodRead, map[string]any{"uri": "repo://hello/contents/large"})
		if err := s.conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			break
		}
	}
	for range 1000 {
		conn, _, err := websocket.Dial(t.Context(), target.url+"/ws", nil)
		if err == nil {
			_ = conn.CloseNow() // the place was free, which is all
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("a client that does not read kept its connection")
}

// held is a server with a tool that runs until it is let go, or its request ends.
func held(t *testing.T) (s *site, started chan string, release chan struct{}) {
	t.Helper()
	s, started, release = serve(t), make(chan string, 100), make(chan struct{})
	s.mcp.AddTools(server.ServerTool{Tool: mcp.NewTool("hold"), Handler: func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		started <- "started"
		select {
		case <-release:
		case <-ctx.Done():
			started <- "cancelled"
		}
		return mcp.NewToolResultText("held"), nil
	}}, server.ServerTool{Tool: mcp.NewTool("fall"), Handler: func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic("on purpose")
	}})
	return s, started, release
}

func hold(id int) string {
	return rpc(modernVersion, id, "tools/call", map[string]any{"name": "hold"})
}

func TestWebSocketRunsSixteenRequestsAtATime(t *testing.T) {
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
	s, started, _ := held(t)
	client := dial(t, s.url)
	client.send(hold(1))
	<-started
	client.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if event := <-started; event != "cancelled" {
		t.Error(event)
	}
	// There is no reply to what was cancelled.
	if f := client.call(rpc(modernVersion, 2, "tools/call", map[string]any{"name": "fall"})); string(f.ID) != "2" || f.Error.Code != -32603 || strings.Contains(f.raw, "purpose") {
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
	s, started, release := held(t)
	client := dial(t, s.url)
	client.send(hold(1))
	<-started
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), hang)
		defer cancel()
		ended <- s.server.Shutdown(ctx)
	}()
	for { // until it drains
		_, response, err := websocket.Dial(t.Context(), s.url+"/ws", nil)
		if err != nil && response != nil && response.StatusCode == http.StatusServiceUnavailable {
			break
		}
		time.Sleep(time.Millisecond)
	}
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
	s := serve(t)
	s.repo("repo").Commit("main", gittest.Regular("a", "1"))
	idle, listening := dial(t, s.url), dial(t, s.url)
	if f := listening.call(rpc(modernVersion, 1, "subscriptions/listen", map[string]any{"notifications": map[string]any{"resourcesListChanged": true}})); !strings.HasSuffix(f.Method, "acknowledged") {
		t.Fatal(f.raw)
	}
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), hang)
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
	if _, response, err := websocket.Dial(t.Context(), s.url+"/ws", nil); err == nil || response == nil || response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a connection after the drain: %v, %v", response, err)
	}
}

// TestWebSocketDrainEnds cuts off a client that does not close its side.
func TestWebSocketDrainEnds(t *testing.T) {
	s := serve(t)
	dial(t, s.url) // and never read
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(fmt.Errorf("a client that does not answer: %w", err))
	}
}
