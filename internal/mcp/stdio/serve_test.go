package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp" //nolint:depguard // a tool that a test can hold
	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/stdio"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/tools"
	"github.com/repomcp/repomcp/internal/tools/prompts"
	"github.com/repomcp/repomcp/internal/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	sessionVersion = "2025-11-25"
	modernVersion  = "2026-07-28"
)

// peer is a client of a server over a pair of pipes.
type peer struct {
	t       *testing.T
	repo    *gittest.Repo
	in      *io.PipeWriter
	out     *io.PipeReader
	lines   *bufio.Reader
	stop    context.CancelFunc
	ended   chan error
	started chan string   // what the tool hold has to say
	release chan struct{} // lets it go
}

// connect serves a repository until the test ends. The options are those that
// matter beside what is served; In and Out may be replaced.
func connect(t *testing.T, options stdio.Options) *peer {
	t.Helper()
	root := t.TempDir()
	p := &peer{t: t, repo: gittest.At(t, filepath.Join(root, "hello.git")), ended: make(chan error, 1),
		started: make(chan string, 100), release: make(chan struct{})}
	p.repo.Commit("main", gittest.Regular("README.md", "# Hello\n"), gittest.Regular("large", gittest.Noise(1<<20)))
	catalogue, err := repos.Open(root, repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := archive.NewEngine(archive.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := resources.New(resources.Options{Catalogue: catalogue, Engine: engine, NoHTTP: true})
	subscriptions := watch.New(watch.Options{Catalogue: catalogue})
	options.MCP = mcp.New(mcp.Options{Catalogue: catalogue, Resources: found, Subscriptions: subscriptions,
		ReadLimit: 64 << 10})
	for _, prompt := range prompts.All() {
		options.MCP.AddPrompt(prompt.Prompt, prompt.Write)
	}
	for _, tool := range append(tools.New(tools.Options{Catalogue: catalogue, Resources: found}), p.tools()...) {
		options.MCP.AddTool(tool.Tool, tool.Handler)
	}
	ctx, stop := context.WithCancel(t.Context())
	p.stop = stop
	var source io.Reader
	source, p.in = io.Pipe()
	p.out, options.Out = pipe(options.Out)
	if options.In == nil {
		options.In = source
	}
	p.lines = bufio.NewReader(p.out)
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	go func() {
		err := stdio.Serve(ctx, options)
		if w, ok := options.Out.(*io.PipeWriter); ok {
			_ = w.Close() // of a pipe, it does not fail
		}
		p.ended <- err
	}()
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		subscriptions.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		_ = p.out.Close() // of pipes, these do not fail
		_ = p.in.Close()
		<-watching
		engine.Close()
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// pipe makes one, unless there is something to write to already.
func pipe(out io.Writer) (*io.PipeReader, io.Writer) {
	r, w := io.Pipe()
	if out == nil {
		out = w
	}
	return r, out
}

// tools are one that runs until it is let go, or its request ends, and one that
// panics.
func (p *peer) tools() []tools.Tool {
	return []tools.Tool{
		{Tool: mcpgo.NewTool("hold"),
			Handler: func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
				p.started <- "started"
				select {
				case <-p.release:
				case <-ctx.Done():
					p.started <- "cancelled"
				}
				return mcpgo.NewToolResultText("held"), nil
			}},
		{Tool: mcpgo.NewTool("fall"), Handler: func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult,
			error) {
			panic("on purpose")
		}},
	}
}

func (p *peer) send(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, text); err != nil {
		p.t.Fatal(err)
	}
}

// message is one of the server.
type message struct {
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

// next reads a line, which has to be one JSON text.
func (p *peer) next() message {
	p.t.Helper()
	timer := time.AfterFunc(gittest.Patience, func() { _ = p.out.Close() })
	defer timer.Stop()
	line, err := p.lines.ReadBytes('\n')
	if err != nil {
		p.t.Fatalf("%v after %q", err, line)
	}
	m := message{raw: string(line)}
	if bytes.HasPrefix(line, []byte("[")) {
		return m
	}
	if err := json.Unmarshal(line, &m); err != nil {
		p.t.Fatalf("%v: %.300s", err, line)
	}
	return m
}

func (p *peer) call(text string) message {
	p.t.Helper()
	p.send(text + "\n")
	return p.next()
}

// end returns what the server ended with.
func (p *peer) end() error {
	p.t.Helper()
	select {
	case err := <-p.ended:
		return err
	case <-time.After(gittest.Patience):
		p.t.Fatal("the server does not end")
		return nil
	}
}

func (p *peer) initialize(version string) message {
	p.t.Helper()
	m := p.call(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{"resourceStreaming":{}},"clientInfo":{"name":"test","version":"1"}}}`)
	if m.Result["protocolVersion"] != version {
		p.t.Fatal(m.raw)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	return m
}

// rpc writes a request of an era.
func rpc(version string, id int, method string, params map[string]any) string {
	all := map[string]any{}
	for name, value := range params {
		all[name] = value
	}
	if version == modernVersion {
		all["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    version,
			"io.modelcontextprotocol/clientCapabilities": map[string]any{"resourceStreaming": map[string]any{}},
		}
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": all})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func hold(id int) string {
	return rpc(modernVersion, id, "tools/call", map[string]any{"name": "hold"})
}
