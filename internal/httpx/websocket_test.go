package httpx_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

func TestWebSocketServesBothEras(t *testing.T) {
	t.Parallel()
	target := newTarget(t, targetOptions{links: newLinks(t).linking(t)})
	for _, version := range eras {
		s := dial(t, target.url)
		if version == sessionVersion {
			if f := s.call(rpc(version, 1, "resources/list", nil)); f.Error.Code != -32600 ||
				!strings.Contains(f.Error.Message, "initialize") {
				t.Errorf("before initialize: %s", f.raw)
			}
			s.initialize(version)
			if f := s.call(rpc(version, 1, "initialize",
				map[string]any{"protocolVersion": version})); f.Error.Code != -32600 {
				t.Errorf("a second initialize: %s", f.raw)
			}
		}
		if f := s.call(rpc(version, 1, "resources/list", nil)); !strings.Contains(f.raw, `"streamable":true`) {
			t.Errorf("%s: resources/list: %s", version, f.raw)
		}
		const file = "repo://hello/contents/README.md"
		if f := s.call(rpc(version, 3, methodRead, map[string]any{"uri": file})); !strings.Contains(f.raw,
			`"text":"hello\n"`) {
			t.Errorf("%s: resources/read: %s", version, f.raw)
		}
		want := map[string]int{sessionVersion: -32002, modernVersion: -32602}[version]
		if f := s.call(rpc(version, 4, methodRead, map[string]any{"uri": "repo://none"})); f.Error.Code != want ||
			f.Error.Data["reason"] != "not_found" {
			t.Errorf("%s: an unknown repository: %s", version, f.raw)
		}
		f := s.call(rpc(version, 5, methodStream, map[string]any{"uri": "repo://hello/archive/main.tar"}))
		if f.Result["downloadUrl"] == nil {
			t.Fatalf("%s: resources/stream: %s", version, f.raw)
		}
		hello := gittest.Existing(t, filepath.Join(target.root, "hello.git"))
		if got := target.get(t, at(t, f.Result)); got.status != http.StatusOK ||
			!bytes.Equal(got.body, hello.Archive("--format=tar", target.Head)) {
			t.Errorf("%s: the archive is %v", version, got)
		}
	}
}

func TestWebSocketStreamNeedsLinks(t *testing.T) {
	t.Parallel()
	target := newTarget(t, targetOptions{})
	f := dial(t, target.url).call(rpc(modernVersion, 1, methodStream,
		map[string]any{"uri": "repo://hello/archive/main.tar"}))
	if f.Error.Code != -32003 || !strings.Contains(f.Error.Message, "--public-url") ||
		!strings.Contains(f.raw, `"suggestion":"Accept: */*"`) {
		t.Error(f.raw)
	}
	linked := newTarget(t, targetOptions{links: newLinks(t).linking(t)})
	for url, want := range map[string]bool{target.url: false, linked.url: true} {
		f := dial(t, url).call(rpc(modernVersion, 1, "server/discover", nil))
		if strings.Contains(f.raw, `"stream":true`) != want ||
			strings.Contains(f.raw, `"modes":["downloadUrl"]`) != want || f.Result == nil {
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
		conn, response, err := websocket.Dial(t.Context(), target.url+"/ws", &websocket.DialOptions{HTTPHeader: header,
			Host: test.host})
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
	if f := s.call(strings.Replace(rpc(modernVersion, 1, "resources/list", nil), modernVersion, "2099-01-01",
		1)); f.Error.Code != -32022 {
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
	if err := s.conn.Write(t.Context(), websocket.MessageBinary,
		[]byte(rpc(modernVersion, 1, "resources/list", nil))); err != nil {
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
	s.send(`[` + rpc("", 1, "ping", nil) + `,{"jsonrpc":"2.0","method":"notifications/x"},` +
		rpc("", 2, methodRead, map[string]any{"uri": "repo://hello"}) + `]`)
	message, err := s.read()
	var replies []frame
	if err != nil || json.Unmarshal(message, &replies) != nil || len(replies) != 2 || string(replies[1].ID) != "2" ||
		replies[1].Result == nil {
		t.Errorf("%v: %s", err, message)
	}
	s = dial(t, target.url)
	s.initialize(sessionVersion)
	if f := s.call(`[` + rpc("", 1, "ping", nil) + `]`); f.Error.Code != -32600 ||
		!strings.Contains(f.Error.Message, batchVersion) {
		t.Errorf("in 2025-11-25: %s", f.raw)
	}
}

func TestWebSocketConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	// One address has a half of all connections.
	target := newTarget(t, targetOptions{http: httpx.Options{Sockets: 4}})
	first := dial(t, target.url)
	dial(t, target.url)
	if _, response, err := websocket.Dial(t.Context(), target.url+"/ws", nil); err == nil || response == nil ||
		response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
		t.Fatalf("a third connection: %v, %v", response, err)
	}
	if err := first.conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	awaitPlace(t, target.url)
}

func TestWebSocketTellsOfPushes(t *testing.T) {
	t.Parallel()
	s, repo := followed(t)
	session, modern := dial(t, s.url), dial(t, s.url)
	session.initialize(sessionVersion)
	watched := map[string]any{"uri": followedBranch}
	if f := session.call(rpc(sessionVersion, 1, "resources/subscribe", watched)); f.Result == nil {
		t.Fatal(f.raw)
	}
	if f := session.call(rpc(sessionVersion, 2, "tools/list", nil)); !strings.Contains(f.raw, `"search_repositories"`) {
		t.Error(f.raw)
	}
	listen := func(id int) string {
		return rpc(modernVersion, id, "subscriptions/listen",
			map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{followedBranch}}})
	}
	const tag = `"io.modelcontextprotocol/subscriptionId":7`
	if f := modern.call(listen(7)); !strings.HasSuffix(f.Method, "acknowledged") || !strings.Contains(f.raw, tag) {
		t.Fatal(f.raw)
	}
	if f := modern.call(listen(7)); f.Error.Code != -32600 {
		t.Errorf("an id that is in use: %s", f.raw)
	}
	repo.Commit("main", gittest.Regular("a", "2"))
	if f := session.next(); f.Method != "notifications/resources/updated" || f.Params["uri"] != followedBranch {
		t.Errorf("session: %s", f.raw)
	}
	if f := modern.next(); f.Method != "notifications/resources/updated" || f.Params["uri"] != followedBranch ||
		!strings.Contains(f.raw, tag) {
		t.Errorf("modern: %s", f.raw)
	}
	for id := 8; id < 11; id++ {
		if f := modern.call(listen(id)); !strings.HasSuffix(f.Method, "acknowledged") {
			t.Fatal(f.raw)
		}
	}
	if f := modern.call(listen(11)); f.Error.Code != -32600 ||
		!strings.Contains(f.Error.Message, "notifications/cancelled") {
		t.Errorf("one stream too many: %s", f.raw)
	}
	modern.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	gittest.Await(t, "the stream ends, without a reply", func() bool {
		f := modern.call(listen(12))
		acknowledged := strings.HasSuffix(f.Method, "acknowledged")
		if !acknowledged && string(f.ID) != "12" {
			t.Fatal(f.raw)
		}
		return acknowledged
	})
}
