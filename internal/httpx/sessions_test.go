package httpx_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// cancelling posts a notification, which has to be accepted.
func (s *site) cancelling(header http.Header, id any) {
	s.t.Helper()
	response := s.post(header, map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled",
		"params": map[string]any{"requestId": id}})
	if body := text(s.t, response); response.StatusCode != http.StatusAccepted || body != "" {
		s.t.Fatal(describe(response, body))
	}
}

func TestCancelledStreamIsAborted(t *testing.T) {
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	session, stranger := s.initialize(), s.initialize()
	response := s.post(session, map[string]any{"jsonrpc": "2.0", "id": "a", "method": "resources/stream",
		"params": map[string]any{"uri": archiveURI}})
	begin(t, response)
	// Nobody else can cancel it, nor can its own client by another id.
	s.cancelling(stranger, "a")
	s.cancelling(session, "b")
	s.cancelling(session, 1)
	if _, err := io.CopyN(io.Discard, response.Body, bulk/2); err != nil {
		t.Fatalf("the stream ended by what did not concern it: %v", err)
	}
	// The client does not read now: the server is waiting in a write.
	s.cancelling(session, "a")
	s.log.Await(t, "outcome=aborted")
	if rest, err := io.Copy(io.Discard, response.Body); err == nil {
		t.Errorf("the cancelled stream ended cleanly after %d more bytes", rest)
	}
}

// slowTool is called "slow": it lasts until its request ends.
func slowTool(began chan<- struct{}) (mcp.Tool, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult,
	error)) {
	return mcp.NewTool("slow"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

func TestCancelledToolCallEnds(t *testing.T) {
	t.Parallel()
	s := serve(t)
	began := make(chan struct{}, 3)
	s.mcp.AddTool(slowTool(began))
	session, stranger := s.initialize(), s.initialize()
	session["Mcp-Protocol-Version"], stranger["Mcp-Protocol-Version"] = []string{batchVersion}, []string{batchVersion}
	call := map[string]any{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": map[string]any{"name": "slow"}}
	replies := make([]chan string, 3)
	var asking sync.WaitGroup
	defer asking.Wait()
	for i, request := range []struct {
		header  http.Header
		message any
	}{{session, call}, {session, []any{call}}, {stranger, call}} {
		replies[i] = make(chan string, 1)
		asking.Go(func() {
			body, err := io.ReadAll(s.post(request.header, request.message).Body)
			if err != nil {
				t.Error(err)
			}
			replies[i] <- string(body)
		})
		<-began
	}
	s.cancelling(session, 5)
	for _, reply := range replies[:2] {
		if got := <-reply; !strings.Contains(got, "The request was cancelled.") || !strings.Contains(got, `"id":5`) ||
			!strings.Contains(got, `"code":-32800`) || !strings.Contains(got, `"reason":"cancelled"`) {
			t.Errorf("the reply to a cancelled request is %s", got)
		}
	}
	select {
	case got := <-replies[2]:
		t.Errorf("the request of another session with the same id was cancelled as well: %s", got)
	default:
	}
	s.cancelling(stranger, 5)
	<-replies[2]
	if log := s.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("a call that its client cancelled is an error to the log:\n%s", log)
	}
}

// TestModernCancellationEndsNobodysRequest: since 2026-07-28 there are no
// sessions, so that an id says nothing of whose request is meant.
func TestModernCancellationEndsNobodysRequest(t *testing.T) {
	t.Parallel()
	s := serve(t)
	began := make(chan struct{}, 1)
	s.mcp.AddTool(slowTool(began))
	stream := events(s.modern("subscriptions/listen",
		map[string]any{"notifications": map[string]any{"resourcesListChanged": true}}))
	if ack := <-stream; !strings.Contains(ack, "acknowledged") {
		t.Fatal(ack)
	}
	ctx, cancel := context.WithCancel(t.Context())
	header := http.Header{"Mcp-Protocol-Version": {modernVersion}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"slow"},
		"Content-Type": {"application/json"}, "Accept": {acceptBoth}}
	body := rpc(modernVersion, 1, "tools/call", map[string]any{"name": "slow"})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	ended := make(chan error, 1)
	go func() {
		response, err := s.client.Do(request)
		if err == nil {
			_ = response.Body.Close() // it should not have come
		}
		ended <- err
	}()
	<-began
	notification := s.post(http.Header{"Mcp-Protocol-Version": {modernVersion},
		"Mcp-Method": {"notifications/cancelled"}}, map[string]any{
		"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": 1,
			"_meta": map[string]any{metaVersion: modernVersion, metaCapabilities: map[string]any{}}},
	})
	if body := text(t, notification); notification.StatusCode != http.StatusAccepted {
		t.Fatal(describe(notification, body))
	}
	// A round trip later both still run.
	if reply := text(t, s.modern("resources/list", nil)); !strings.Contains(reply, `"result"`) {
		t.Fatal(reply)
	}
	select {
	case event, open := <-stream:
		t.Errorf("the subscription ended: %s, %v", event, open)
	case err := <-ended:
		t.Errorf("the call ended: %v", err)
	default:
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("a call that nothing ended has a reply")
	}
}

func TestSubscriptionEndsWithItsResultAtShutdown(t *testing.T) {
	t.Parallel()
	s := serve(t)
	response := s.modern("subscriptions/listen",
		map[string]any{"notifications": map[string]any{"resourcesListChanged": true}})
	if response.Header.Get("X-Accel-Buffering") != "no" || response.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("headers: %v", response.Header)
	}
	stream := events(response)
	if ack := <-stream; !strings.Contains(ack, "acknowledged") {
		t.Fatal(ack)
	}
	session := s.get(s.initialize())
	if session.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("headers of the event stream of a session: %v", session.Header)
	}
	if err := s.server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	var last struct {
		ID     int
		Result struct {
			ResultType string         `json:"resultType"`
			Meta       map[string]any `json:"_meta"`
		}
	}
	message := <-stream
	if err := json.Unmarshal([]byte(message), &last); err != nil || last.ID != 1 ||
		last.Result.ResultType != "complete" || last.Result.Meta["io.modelcontextprotocol/subscriptionId"] != 1.0 {
		t.Errorf("the last message is %s, %v", message, err)
	}
	if more, open := <-stream; open {
		t.Errorf("there is one more: %s", more)
	}
	if rest, err := io.ReadAll(session.Body); err != nil || len(rest) > 0 {
		t.Errorf("the event stream of a session: %q, %v", rest, err)
	}
}

func TestIdleEventStreamsAreKeptAlive(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{heartbeat: 10 * time.Millisecond})
	listen := s.call(modernVersion, "subscriptions/listen",
		map[string]any{"notifications": map[string]any{"resourcesListChanged": true}})
	for want, c := range map[string]*call{"\n: \n\n: \n": listen,
		`"method":"ping"`: s.getCall(s.sessions[sessionVersion])} {
		response, err := s.open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for part := make([]byte, 1<<10); !bytes.Contains(got, []byte(want)); {
			n, err := response.Body.Read(part)
			if got = append(got, part[:n]...); err != nil {
				t.Fatalf("%v after %q, want %q", err, got, want)
			}
		}
		_ = response.Body.Close() // it never ends
	}
}

// TestRefusalsOfMessagesAreMessages: a client of SEP-2532 that goes by the type
// alone would save a plain text as the file.
func TestRefusalsOfMessagesAreMessages(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for _, version := range eras {
		for name, c := range map[string]struct {
			edit   func(*call)
			status int
		}{
			"foreign Origin": {func(c *call) { c.header.Set("Origin", "https://evil.example") },
				http.StatusForbidden},
			"foreign Host": {func(c *call) { c.host = "evil.example" }, http.StatusForbidden},
			"header twice": {func(c *call) { c.header.Add("Content-Type", "application/json") },
				http.StatusBadRequest},
			"no Accept":  {func(c *call) { c.header.Set("Accept", "text/html") }, http.StatusNotAcceptable},
			"large body": {func(c *call) { c.body = make([]byte, 1<<20+1) }, http.StatusRequestEntityTooLarge},
			"plain text": {func(c *call) { c.header.Set("Content-Type", "text/plain") },
				http.StatusUnsupportedMediaType},
			"Content-Encoding": {func(c *call) { c.header.Set("Content-Encoding", "gzip") },
				http.StatusUnsupportedMediaType},
		} {
			request := s.good(t, version, methodStream)
			c.edit(request)
			a := s.do(t, request)
			var message map[string]json.RawMessage
			if err := json.Unmarshal(a.body, &message); err != nil || a.status != c.status ||
				a.header.Get("Content-Type") != "application/json" || a.code != -32600 || message["id"] != nil {
				t.Errorf("%s in %s: %v, %v", name, version, a, err)
			}
		}
	}
	// Other routes have plain texts.
	if a := s.get(t, "/archive/hello/main.tar.gz", "Origin: https://evil.example"); a.status != http.StatusForbidden ||
		!strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
		t.Errorf("a plain download: %v", a)
	}
}

func TestPlainTarHasItsLengthFromTheFirstTime(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		s := newTarget(t, targetOptions{})
		a := s.do(t, s.call(version, methodStream, map[string]any{"uri": "repo://hello/archive/main.tar"}))
		if length := a.header.Get("Content-Length"); a.status != http.StatusOK || length != fmt.Sprint(len(a.body)) ||
			a.header.Get("Accept-Ranges") != "none" {
			t.Errorf("%s: %d %v of %d bytes", version, a.status, a.header, len(a.body))
		}
	}
}
