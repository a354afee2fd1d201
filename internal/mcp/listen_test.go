package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestModernEraHasNoSubscribe(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
	for _, method := range []string{MethodSubscribe, MethodUnsubscribe} {
		for _, params := range []map[string]any{nil, {"uri": ""}, {"uri": "repo://hello"}} {
			if a := s.do(t, s.call(modernVersion, method, params)); a.code != -32601 {
				t.Errorf("%s with %v: %v", method, params, a)
			}
		}
	}
}

// The acknowledgement contains exactly the subscribed resources. An invalid filter is refused before it.
func TestListenSaysWhatItHearsOf(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
	for i, c := range []struct {
		filter string
		want   string // in the first message
		code   int
	}{
		{`{"resourceSubscriptions":["nope://x"]}`, `"notifications":{}`, 0},
		{`{"resourceSubscriptions":["nope://x","repo://to-come"]}`,
			`"notifications":{"resourceSubscriptions":["repo://to-come"]}`, 0},
		{`{"toolsListChanged":true,"resourcesListChanged":true}`, `"notifications":{"resourcesListChanged":true}`, 0},
		{`{}`, `"notifications":{}`, 0}, {`null`, `notifications\" of params must be an object`, -32602},
		{`[]`, `notifications\" of params must be an object`, -32602},
		{`"all"`, `notifications\" of params must be an object`, -32602},
		{`{"resourceSubscriptions":"repo://hello"}`, `resourceSubscriptions\" of params must be an array`, -32602},
		{`{"resourceSubscriptions":["repo://hello",7]}`, `resourceSubscriptions.1\" of params must be a string`, -32602},
		{`{"resourcesListChanged":"yes"}`, `resourcesListChanged\" of params must be true or false`, -32602},
	} {
		request := s.call(modernVersion, MethodListen, map[string]any{"notifications": json.RawMessage(c.filter)})
		request.message["id"] = i
		if c.code != 0 {
			for _, a := range []received{s.do(t, request), s.connect(t, modernVersion).do(request)} {
				if a.code != c.code || !strings.Contains(string(a.body), c.want) {
					t.Errorf("%s: %v, want %s", c.filter, a, c.want)
				}
			}
			continue
		}
		connection := s.connect(t, modernVersion)
		messages, _ := stream(t, func(ctx context.Context, send func([]byte) error) {
			_ = send(connection.exchange(ctx, request, send).body) // the reply comes last
		})
		if first := <-messages; !strings.Contains(first, c.want) {
			t.Errorf("%s: %s, want %s", c.filter, first, c.want)
		}
		if !strings.Contains(c.want, "{}") { // the stream lasts until its client cancels it
			connection.Notified(t.Context(), cancelling(t, i))
			if more, open := <-messages; open && more != "" {
				t.Errorf("%s: a cancelled request has the reply %s", c.filter, more)
			}
		} else if end := <-messages; !strings.Contains(end, `"result"`) { // it is over at once
			t.Errorf("%s: %s", c.filter, end)
		}
	}
}

// cancelling is the notification that cancels a request of 2026-07-28.
func cancelling(t *testing.T, id int) Message {
	t.Helper()
	messages, _, failure := ParseMessages(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`, MethodCancelled,
		modernParams(fmt.Sprintf(`{"requestId":%d}`, id))))
	if failure != nil {
		t.Fatal(failure)
	}
	return messages[0]
}
