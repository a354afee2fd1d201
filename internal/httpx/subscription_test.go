package httpx_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestSubscriptionToNothingIsAcknowledgedBeforeItEnds(t *testing.T) {
	s := serve(t)
	for i := range 200 {
		response := s.modern("subscriptions/listen",
			map[string]any{"notifications": map[string]any{"toolsListChanged": true}})
		reply := text(t, response)
		ack, result := strings.Index(reply, "notifications/subscriptions/acknowledged"), strings.Index(reply,
			`"result"`)
		if ack < 0 || result < ack {
			t.Fatalf("subscription %d: %s", i, describe(response, reply))
		}
		_ = response.Body.Close() // read to its end
	}
}

// events reads the messages of an event stream.
func events(response *http.Response) <-chan string {
	messages := make(chan string)
	go func() {
		defer close(messages)
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				messages <- data
			}
		}
	}()
	return messages
}

func TestPushIsNotifiedInBothEras(t *testing.T) {
	s := serve(t)
	repo := s.repo("repo")
	repo.Commit("main", gittest.Regular("a", "1"))
	stop := s.watch()
	defer stop()
	const uri = "repo://repo/refs/heads/main"

	modern := s.modern("subscriptions/listen",
		map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{uri}}})
	defer func() { _ = modern.Body.Close() }() // ends the stream
	modernEvents := events(modern)
	if ack := <-modernEvents; !strings.Contains(ack, "acknowledged") || !strings.Contains(ack, uri) {
		t.Fatalf("first event: %s", ack)
	}

	session := s.initialize()
	old := s.get(session)
	defer func() { _ = old.Body.Close() }() // ends the stream
	oldEvents := events(old)
	if reply := text(t, s.post(session, map[string]any{"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe",
		"params": map[string]any{"uri": uri}})); !strings.Contains(reply, `"result"`) {
		t.Fatalf("subscribe: %s", reply)
	}

	repo.Commit("main", gittest.Regular("a", "2"))
	want := fmt.Sprintf(`"uri":%q`, uri)
	for era, stream := range map[string]<-chan string{"modern": modernEvents, "session": oldEvents} {
		if event := <-stream; !strings.Contains(event, "notifications/resources/updated") ||
			!strings.Contains(event, want) {
			t.Errorf("%s era: %s", era, event)
		}
	}
}

func TestModernEraHasNoSubscribe(t *testing.T) {
	s := serve(t)
	for _, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
		for _, params := range []map[string]any{nil, {"uri": ""}, {"uri": "repo://repo"}} {
			response := s.modern(method, params)
			if reply := text(t, response); response.StatusCode != http.StatusNotFound ||
				!strings.Contains(reply, `"code":-32601`) {
				t.Errorf("%s with %v: %s", method, params, describe(response, reply))
			}
		}
	}
}

// The acknowledgement has what is heard of, and no more. What is no filter is refused before it.
func TestListenSaysWhatItHearsOf(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	conn := dial(t, s.url)
	for i, c := range []struct {
		filter string
		want   string // in the first message
		code   int
	}{
		{`{"resourceSubscriptions":["nope://x"]}`, `"notifications":{}`, 0},
		{`{"resourceSubscriptions":["nope://x","repo://to-come"]}`,
			`"notifications":{"resourceSubscriptions":["repo://to-come"]}`, 0},
		{`{"toolsListChanged":true,"resourcesListChanged":true}`, `"notifications":{"resourcesListChanged":true}`, 0},
		{`{}`, `"notifications":{}`, 0}, {`null`, `"notifications\" of params must be an object`, -32602},
		{`[]`, `"notifications\" of params must be an object`, -32602},
		{`"all"`, `"notifications\" of params must be an object`, -32602},
		{`{"resourceSubscriptions":"repo://hello"}`, `resourceSubscriptions\" of params must be an array`, -32602},
		{`{"resourceSubscriptions":["repo://hello",7]}`, `resourceSubscriptions.1\" of params must be a string`, -32602},
		{`{"resourcesListChanged":"yes"}`, `resourcesListChanged\" of params must be true or false`, -32602},
	} {
		params := map[string]any{"notifications": json.RawMessage(c.filter)}
		f := conn.call(rpc(modernVersion, i, "subscriptions/listen", params))
		if !strings.Contains(f.raw, strings.TrimPrefix(c.want, `"`)) || f.Error.Code != c.code {
			t.Errorf("%s: %s", c.filter, f.raw)
		}
		if c.code != 0 {
			if a := s.do(t, s.call(modernVersion, "subscriptions/listen", params)); a.code != c.code ||
				a.status != http.StatusBadRequest {
				t.Errorf("%s over HTTP: %v", c.filter, a)
			}
			continue
		}
		if strings.Contains(c.want, "{}") { // which is over at once
			if end := conn.next(); end.Result == nil {
				t.Errorf("%s: %s", c.filter, end.raw)
			}
			continue
		}
		conn.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"_meta":`+
			`{%q:%q,%q:{}}}}`, i, metaVersion, modernVersion, metaCapabilities))
	}
}
