package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"    //nolint:depguard // a client that shares nothing with the server's transport
	mcpgo "github.com/mark3labs/mcp-go/mcp" //nolint:depguard // as above
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/logtest"
)

// helloRoot is a folder with one repository.
func helloRoot(t *testing.T) (root string, repo *gittest.Repo) {
	t.Helper()
	root = t.TempDir()
	repo = gittest.At(t, filepath.Join(root, "group", "hello.git"))
	repo.Commit("main", gittest.Regular("README.md", "# Hello\n"))
	return root, repo
}

// within is a context that ends long after it should have been enough.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// The official Go client starts the program, and gets a notification of a push.
func TestGoClientStartsTheProgram(t *testing.T) {
	root, repo := helloRoot(t)
	ctx, updated := within(t), make(chan string, 10)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context,
			r *mcp.ResourceUpdatedNotificationRequest) {
			updated <- r.Params.URI
		},
	})
	command := exec.Command(program(t), "serve", "--stdio", "--root", root)
	session, err := c.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const uri = "repo://group/hello/contents/README.md"
	if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	read, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil || read.Contents[0].Text != "# Hello\n" {
		t.Errorf("%v, %v", read, err)
	}
	called, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "list_commits",
		Arguments: map[string]any{"repo": "group/hello"}})
	if err != nil || called.IsError {
		t.Errorf("%v, %v", called, err)
	}
	listed, err := session.ListPrompts(ctx, nil)
	if err != nil || len(listed.Prompts) == 0 {
		t.Errorf("%v, %v", listed, err)
	}
	repo.Commit("main", gittest.Regular("README.md", "# Changed\n"))
	select {
	case got := <-updated:
		if got != uri {
			t.Error(got)
		}
	case <-ctx.Done():
		t.Error("the client was not told of the push")
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

func TestMCPGoStartsTheProgram(t *testing.T) {
	root, repo := helloRoot(t)
	ctx, updated := within(t), make(chan string, 10)
	c, err := client.NewStdioMCPClient(program(t), nil, "stdio", "--root", root)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(ctx); err != nil { // only then it hears notifications
		t.Fatal(err)
	}
	c.OnNotification(func(n mcpgo.JSONRPCNotification) { updated <- n.Method })
	var initialize mcpgo.InitializeRequest
	initialize.Params.ProtocolVersion = sessionVersion
	initialize.Params.ClientInfo = mcpgo.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(ctx, initialize); err != nil {
		t.Fatal(err)
	}
	var subscribe mcpgo.SubscribeRequest
	subscribe.Params.URI = "repo://group/hello"
	//nolint:staticcheck // deprecated for clients, and what those of today send
	if err := c.Subscribe(ctx, subscribe); err != nil {
		t.Fatal(err)
	}
	var call mcpgo.CallToolRequest
	call.Params.Name = "search_repositories"
	if result, err := c.CallTool(ctx, call); err != nil || result.IsError {
		t.Errorf("%v, %v", result, err)
	}
	repo.Commit("main", gittest.Regular("README.md", "# Changed\n"))
	select {
	case method := <-updated:
		if method != "notifications/resources/updated" {
			t.Error(method)
		}
	case <-ctx.Done():
		t.Error("the client was not told of the push")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// child is the program with its pipes.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out io.ReadCloser
	log *logtest.Log
}

func spawn(t *testing.T, arguments ...string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(program(t), arguments...), log: &logtest.Log{}}
	c.Stderr = c.log
	var err error
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if c.out, err = c.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // it may have ended
	return c
}

func (c *child) ask(t *testing.T, message string) string {
	t.Helper()
	if _, err := io.WriteString(c.in, message+"\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c.out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, c.log)
	}
	return line
}

const discover = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

func TestSignalsAndClosedPipesEndTheProgram(t *testing.T) {
	t.Parallel()
	root, _ := helloRoot(t)
	for name, end := range map[string]func(c *child) error{
		"SIGTERM":        func(c *child) error { return c.Process.Signal(syscall.SIGTERM) },
		"SIGINT":         func(c *child) error { return c.Process.Signal(syscall.SIGINT) },
		"end of input":   func(c *child) error { return c.in.Close() },
		"closed output":  func(c *child) error { return c.out.Close() },
		"the client die": func(c *child) error { return errors.Join(c.in.Close(), c.out.Close()) },
	} {
		c := spawn(t, "stdio", "--root", root)
		if reply := c.ask(t, discover); !strings.Contains(reply, `"supportedVersions"`) {
			t.Errorf("%s: %s", name, reply)
		}
		if err := end(c); err != nil {
			t.Fatal(err)
		}
		if name == "closed output" {
			_, _ = io.WriteString(c.in, discover+"\n") // it may have ended already
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, c.log)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s does not end the program", name)
		}
		if !strings.HasPrefix(c.log.String(), "repomcp ") || !strings.Contains(c.log.String(), "1 repository") {
			t.Errorf("%s: %s", name, c.log)
		}
	}
}

var (
	configuration = regexp.MustCompile("(?s)```json\n(.*?)```")
	commandLine   = regexp.MustCompile("(?m)^claude mcp add repomcp -- (.*)$")
)

// clientEntry is how clients write what they start.
type clientEntry struct {
	Type    string
	Command string
	Args    []string
	Env     map[string]string
}

// What docs/stdio.md has clients start is a server.
func TestDocumentedCommandsServe(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	page, err := os.ReadFile("../../docs/stdio.md")
	if err != nil {
		t.Fatal(err)
	}
	var entries []clientEntry
	for _, block := range configuration.FindAllSubmatch(page, -1) {
		var file map[string]json.RawMessage
		if err := json.Unmarshal(block[1], &file); err != nil {
			t.Fatalf("%v:\n%s", err, block[1])
		}
		for key, value := range file {
			var named map[string]clientEntry
			if err := json.Unmarshal(value, &named); err != nil || len(named) != 1 {
				t.Fatalf("%s: %v", key, err)
			}
			for _, entry := range named {
				entries = append(entries, entry)
			}
		}
	}
	for _, line := range commandLine.FindAllStringSubmatch(string(page), -1) {
		words := strings.Fields(line[1])
		entries = append(entries, clientEntry{Command: words[0], Args: words[1:]})
	}
	if len(entries) != 5 {
		t.Fatalf("%d entries", len(entries))
	}
	root, _ := helloRoot(t)
	for _, entry := range entries {
		if entry.Type != "" && entry.Type != "stdio" || filepath.Base(entry.Command) != "repomcp" {
			t.Errorf("%+v", entry)
		}
		words := strings.Split(strings.ReplaceAll(strings.Join(entry.Args, "\x00"), "/srv/git", root), "\x00")
		c := spawn(t, words...)
		if reply := c.ask(t, discover); !strings.Contains(reply, `"supportedVersions"`) {
			t.Errorf("%+v: %s", entry, reply)
		}
		if err := errors.Join(c.in.Close(), c.Wait()); err != nil {
			t.Errorf("%+v: %v\n%s", entry, err, c.log)
		}
	}
}

// The command that a result gives makes the archive.
func TestArchiveCommandOfAToolWorks(t *testing.T) {
	root, repo := helloRoot(t)
	c := spawn(t, "stdio", "--root", root)
	reply := c.ask(t, strings.Replace(discover, `"server/discover","params":{`,
		`"tools/call","params":{"name":"get_archive_link","arguments":{"repo":"group/hello","format":"tar","prefix":"it's/"},`, 1))
	if err := errors.Join(c.in.Close(), c.Wait()); err != nil {
		t.Error(err)
	}
	_, command, found := strings.Cut(shownLine(t, reply), "writes the archive: ")
	if !found {
		t.Fatal(reply)
	}
	command, _, _ = strings.Cut(command, "\n")
	shell := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(command, "DIR", `"$ROOT"`, 1))
	shell.Dir, shell.Env = t.TempDir(), append(os.Environ(), "ROOT="+root)
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	files, err := filepath.Glob(filepath.Join(shell.Dir, "*.tar"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	got, err := os.ReadFile(files[0])
	if want := repo.Archive("--format=tar", "--prefix=it's/", "main"); err != nil || string(got) != string(want) {
		t.Errorf("%d bytes, want %d, %v", len(got), len(want), err)
	}
}

// shownLine is what a reply with the result of a tool shows.
func shownLine(t *testing.T, reply string) string {
	t.Helper()
	var message struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(reply), &message); err != nil {
		t.Fatal(err)
	}
	return shown(t, message.Result)
}
