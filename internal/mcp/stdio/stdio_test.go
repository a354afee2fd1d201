package stdio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/logtest"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/stdio"
)

// Everything that the server has is there in every version, but resources/stream.
func TestEveryVersionIsServed(t *testing.T) {
	versions := mcp.Versions()
	if len(versions) < 5 || !slices.Contains(versions, "2024-11-05") {
		t.Fatalf("versions %v", versions)
	}
	for _, version := range versions {
		p := connect(t, stdio.Options{})
		var greeting message
		if version == modernVersion {
			greeting = p.call(rpc(version, 0, "server/discover", nil))
		} else {
			greeting = p.initialize(version)
		}
		const modes = `"binaryTransfer":{"supported":true,"maxBinarySize":10737418240,"supportedModes":["stream"]}`
		if strings.Contains(strings.ToLower(greeting.raw), "resourcestream") ||
			strings.Contains(greeting.raw, "resource-stream") || strings.Contains(greeting.raw, "resources/stream") ||
			!strings.Contains(greeting.raw, modes) || !strings.Contains(greeting.raw, `"subscribe":true`) {
			t.Errorf("%s: %s", version, greeting.raw)
		}
		for i, c := range []struct {
			method string
			params map[string]any
			want   string
		}{
			{"resources/list", nil, `"repo://hello/archive/refs/heads/main.tar.gz"`},
			{"resources/templates/list", nil, `"repo://{+repo}/contents{/path*}"`},
			{"resources/read", map[string]any{"uri": "repo://hello/contents/README.md"}, `"# Hello\n"`},
			{"tools/list", nil, `"get_file_contents"`},
			{"tools/call", map[string]any{"name": "get_file_contents", "arguments": map[string]any{"repo": "hello",
				"path": "README.md"}}, `# Hello`},
			{"prompts/list", nil, `"prompts":[{`},
			{"completion/complete",
				map[string]any{"ref": map[string]any{"type": "ref/resource", "uri": "repo://{+repo}"},
					"argument": map[string]any{"name": "repo", "value": "he"}}, `"values":["hello"]`},
		} {
			m := p.call(rpc(version, i+1, c.method, c.params))
			if m.Result == nil || !strings.Contains(m.raw, c.want) || string(m.ID) != fmt.Sprint(i+1) {
				t.Errorf("%s, %s: %s", version, c.method, m.raw)
			}
			if strings.HasSuffix(c.method, "/list") && (strings.Contains(m.raw, "resources/stream.") ||
				strings.Contains(m.raw, `treamable":true`) || strings.Contains(m.raw, `httpUrl":"`)) {
				t.Errorf("%s, %s promises what there is not: %s", version, c.method, m.raw)
			}
		}
		if m := p.call(rpc(version, 99, "resources/stream",
			map[string]any{"uri": "repo://hello/contents/README.md"})); m.Error.Code != -32601 ||
			!strings.Contains(m.Error.Message, "capabilities") {
			t.Errorf("%s: %s", version, m.raw)
		}
		_ = p.in.Close()
		if err := p.end(); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestAdviceIsGoodWithoutHTTP(t *testing.T) {
	p := connect(t, stdio.Options{})
	large := p.call(rpc(modernVersion, 1, "resources/read", map[string]any{"uri": "repo://hello/contents/large"}))
	if large.Error.Code != -32004 || !strings.Contains(large.Error.Message, "get_file_contents") ||
		strings.Contains(large.raw, "resources/stream") {
		t.Error(large.raw)
	}
	link := p.call(rpc(modernVersion, 2, "tools/call", map[string]any{"name": "get_archive_link",
		"arguments": map[string]any{"repo": "hello", "format": "zip", "prefix": "it's/"}}))
	if want := `repomcp archive --root DIR --format zip --prefix 'it'\\''s/' -o hello-` +
		p.repo.Git("rev-parse", "HEAD") + ".zip -- 'hello' "; !strings.Contains(link.raw, want) ||
		strings.Contains(link.raw, "GET /") || strings.Contains(link.raw, `treamable":true`) {
		t.Errorf("want %s in\n%s", want, link.raw)
	}
}

func TestWhatIsNoMessageLosesNothing(t *testing.T) {
	p := connect(t, stdio.Options{})
	ping := func(id, spaces int) string {
		text := rpc(modernVersion, id, "server/discover", nil)
		return text[:len(text)-1] + strings.Repeat(" ", spaces) + "}"
	}
	const most = 1 << 20
	for i, c := range []struct {
		sent string
		code int // 0: a result
	}{
		{"\n\r\n   \n" + ping(1, 0) + "\r\n", 0},
		{"{\"jsonrpc\":\n", -32700},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n", -32700},
		{"\ufeff" + ping(1, 0) + "\n", -32700},
		{ping(1, 0) + ping(2, 0) + "\n", -32700},
		{"[]\n", -32600},
		{"[" + ping(1, 0) + "]\n", -32600},
		{"17\n", -32600},
		{rpc(sessionVersion, 1, "tools/list", nil) + "\n", -32600}, // before initialize
		{strings.Replace(ping(1, 0), modernVersion, "2026-07-27", 1) + "\n", -32022},
		{ping(1, most-len(ping(1, 0))) + "\n", 0},
		{ping(1, most-len(ping(1, 0))) + "\r\n", 0},
		{ping(1, most-len(ping(1, 0))+1) + "\n", -32600},
		{strings.Repeat("[", 3*most) + "\n", -32600},
		{ping(1, 0) + "\n", 0},
	} {
		p.send(c.sent)
		if m := p.next(); m.Error.Code != c.code || (m.Result != nil) != (c.code == 0) {
			t.Errorf("%d: %.300s", i, m.raw)
		}
	}
	// The last message needs no end of line. Its id is beyond the integers that a floating point number has.
	p.send(strings.Replace(ping(7, 0), `"id":7`, `"id":9007199254740993`, 1))
	_ = p.in.Close()
	if m := p.next(); string(m.ID) != "9007199254740993" || m.Result == nil {
		t.Error(m.raw)
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(p.lines); len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestBatches(t *testing.T) {
	p := connect(t, stdio.Options{})
	p.initialize("2025-03-26")
	one := rpc(sessionVersion, 1, "tools/call", map[string]any{"name": "get_repository",
		"arguments": map[string]any{"repo": "hello"}})
	if m := p.call("[" + one +
		`,{"jsonrpc":"2.0","method":"notifications/progress"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`); !strings.HasPrefix(m.raw, `[{"jsonrpc":"2.0","id":1`) || !strings.HasSuffix(m.raw, `{"jsonrpc":"2.0","id":2,"result":{}}]`+"\n") {
		t.Error(m.raw)
	}
	// A batch without requests has no reply.
	if m := p.call(`[{"jsonrpc":"2.0","method":"notifications/progress"}]` + "\n" +
		rpc(sessionVersion, 3, "ping", nil)); string(m.ID) != "3" {
		t.Error(m.raw)
	}
}

func TestPushesAreTold(t *testing.T) {
	const uri = "repo://hello/refs/heads/main"
	session, modern := connect(t, stdio.Options{}), connect(t, stdio.Options{})
	session.initialize(sessionVersion)
	if m := session.call(rpc(sessionVersion, 1, "resources/subscribe", map[string]any{"uri": uri})); m.Result == nil {
		t.Fatal(m.raw)
	}
	if m := modern.call(rpc(modernVersion, 7, "subscriptions/listen",
		map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{uri}}})); !strings.HasSuffix(
		m.Method, "acknowledged") {
		t.Fatal(m.raw)
	}
	for _, p := range []*peer{session, modern} {
		p.repo.Commit("main", gittest.Regular("README.md", "# Changed\n"))
		if m := p.next(); m.Method != "notifications/resources/updated" || m.Params["uri"] != uri {
			t.Error(m.raw)
		}
		_ = p.in.Close()
	}
	// The end of the input ends the stream, which has a result then.
	if m := modern.next(); string(m.ID) != "7" || m.Result == nil {
		t.Error(m.raw)
	}
	if err := errors.Join(session.end(), modern.end()); err != nil {
		t.Error(err)
	}
}

func TestRequestsAreCancelledAndPanicsAreErrors(t *testing.T) {
	p := connect(t, stdio.Options{})
	p.send(hold(1) + "\n")
	<-p.started
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n")
	if event := <-p.started; event != "cancelled" {
		t.Error(event)
	}
	if m := p.call(rpc(modernVersion, 2, "tools/call", map[string]any{"name": "fall"})); string(m.ID) != "2" ||
		m.Error.Code != -32603 || strings.Contains(m.raw, "purpose") {
		t.Error(m.raw)
	}
}

// What ends the server lets requests in flight be answered.
func TestTheEndWaitsForRequests(t *testing.T) {
	for name, end := range map[string]func(p *peer){
		"end of the input": func(p *peer) { _ = p.in.Close() },
		"signal":           func(p *peer) { p.stop() },
	} {
		p := connect(t, stdio.Options{})
		p.send(hold(1) + "\n")
		<-p.started
		end(p)
		close(p.release)
		if m := p.next(); string(m.ID) != "1" || m.Result == nil {
			t.Errorf("%s: %s", name, m.raw)
		}
		if err := p.end(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheEndWaitsNoLongerThanItMay(t *testing.T) {
	for name, c := range map[string]struct {
		drain time.Duration
		end   func(p *peer)
	}{
		"end of the input":               {time.Millisecond, func(p *peer) { _ = p.in.Close() }},
		"signal":                         {time.Millisecond, func(p *peer) { p.stop() }},
		"end of the input, and a signal": {time.Hour, func(p *peer) { _ = p.in.Close(); p.stop() }},
	} {
		p := connect(t, stdio.Options{Drain: c.drain})
		p.send(hold(1) + "\n")
		<-p.started
		c.end(p)
		if err := p.end(); !errors.Is(err, stdio.ErrCutOff) {
			t.Errorf("%s: %v", name, err)
		}
		if event := <-p.started; event != "cancelled" {
			t.Errorf("%s: %s", name, event)
		}
	}
}

func TestClientThatReadsNoMoreEndsTheServer(t *testing.T) {
	p := connect(t, stdio.Options{})
	p.send(hold(1) + "\n")
	<-p.started
	_ = p.out.Close()
	p.send(hold(2) + "\n" + rpc(modernVersion, 3, "server/discover", nil) + "\n")
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

// A client that does not read holds up neither the end nor other clients.
func TestClientThatDoesNotReadIsLeft(t *testing.T) {
	p := connect(t, stdio.Options{Drain: time.Millisecond})
	p.send(rpc(modernVersion, 3, "tools/list", nil) + "\n")
	p.stop()
	if err := p.end(); !errors.Is(err, stdio.ErrCutOff) && err != nil {
		t.Error(err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestBrokenStreamsAreErrors(t *testing.T) {
	p := connect(t, stdio.Options{Out: full{}})
	p.send(rpc(modernVersion, 3, "tools/list", nil) + "\n")
	if err := p.end(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
	broken := errors.New("broken")
	if err := connect(t, stdio.Options{In: iotest.ErrReader(broken)}).end(); !errors.Is(err, broken) ||
		errors.Is(err, context.Canceled) {
		t.Errorf("a broken input: %v", err)
	}
}

// Every message has a line of the log: requests, notifications, those of a batch, and
// what is refused.
func TestEveryMessageIsLogged(t *testing.T) {
	said := &logtest.Log{}
	p := connect(t, stdio.Options{Logger: slog.New(slog.NewTextHandler(said, nil))})
	p.initialize("2025-03-26")
	p.call(rpc("2025-03-26", 1, "tools/call", map[string]any{"name": "get_file_contents",
		"arguments": map[string]any{"repo": "hello", "path": "README.md"}}))
	p.call(rpc("2025-03-26", 2, "no/such", nil))
	p.send(`[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":4,"method":"tools/list"}]` + "\n")
	p.next()
	p.send("no message\n")
	p.next()
	_ = p.in.Close()
	if err := p.end(); err != nil {
		t.Error(err)
	}
	log, head := said.String(), p.repo.Git("rev-parse", "HEAD")
	for line, want := range map[string]int{
		"msg=request transport=stdio": 7, "rpc=initialize outcome=done": 1,
		"rpc=notifications/initialized outcome=done": 1,
		"rpc=tools/call outcome=done":                1, "tool=get_file_contents repository=hello commit=" + head: 1,
		"rpc=no/such outcome=error": 1,
		"rpc=ping outcome=done":     1, "rpc=tools/list outcome=done": 1, `rpc="" outcome=error`: 1,
	} {
		if got := strings.Count(log, line); got != want {
			t.Errorf("%d lines have %q, want %d:\n%s", got, line, want, log)
		}
	}
}
