package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/gittest"
)

const (
	// drained is how many downloads are under way when the signal comes.
	drained = 100
	// drainedBytes of each are more than the sockets of a connection hold, so that it is
	// under way until its client reads on.
	drainedBytes = 12 << 20
)

// drainees are clients of one server, each in a download that has begun.
type drainees struct {
	p      *process
	admin  string
	sum    [sha256.Size]byte
	bodies []io.ReadCloser
	heads  [][]byte
}

func newDrainees(t *testing.T, flags ...string) *drainees {
	t.Helper()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	content := gittest.Noise(drainedBytes)
	repo.Commit("main", gittest.Regular("large", content))
	c := &drainees{sum: sha256.Sum256([]byte(content))}
	c.p, c.admin = startWithAdmin(t, root, flags...)
	c.p.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // and no time limit
	for range drained {
		response, err := c.p.client.Get(c.p.url + "/raw/repo/main/large")
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response, err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		head := make([]byte, 64<<10)
		if _, err := io.ReadFull(response.Body, head); err != nil {
			t.Fatal(err)
		}
		c.bodies, c.heads = append(c.bodies, response.Body), append(c.heads, head)
	}
	return c
}

// finish reads downloads to their end and counts those that are whole. The others have
// to break.
func (c *drainees) finish(t *testing.T, from, to int) (whole int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := from; i < to; i++ {
		all.Go(func() {
			got := sha256.New()
			got.Write(c.heads[i])
			_, err := io.Copy(got, c.bodies[i])
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && [sha256.Size]byte(got.Sum(nil)) == c.sum:
				whole++
			case err == nil:
				t.Errorf("download %d ended cleanly with other bytes", i)
			}
		})
	}
	all.Wait()
	return whole
}

// listen opens an event stream of the modern protocol and returns its lines.
func (p *process) listen(t *testing.T) <-chan string {
	t.Helper()
	const message = `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"resourcesListChanged":true},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, p.url+"/mcp",
		strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"subscriptions/listen"},
	}
	response, err := p.client.Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		defer func() { _ = response.Body.Close() }()
		scanner := bufio.NewScanner(response.Body)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
		if err := scanner.Err(); err != nil {
			lines <- "broken: " + err.Error()
		}
	}()
	for line := range lines {
		if strings.Contains(line, "acknowledged") {
			return lines
		}
	}
	t.Fatal("the event stream does not begin")
	return nil
}

// kept is a connection over which a request was answered.
type kept struct {
	conn  net.Conn
	lines *bufio.Reader
}

func (p *process) keep(t *testing.T) *kept {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	k := &kept{conn, bufio.NewReader(conn)}
	if response, err := k.ask(p.url); err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
	return k
}

// ask sends a request and returns its whole reply; io.EOF says that the connection was
// closed in the place of one.
func (k *kept) ask(url string) (*http.Response, error) {
	request, err := http.NewRequest(http.MethodGet, url+"/refs/repo", nil)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(request.Write(k.conn), k.conn.SetReadDeadline(time.Now().Add(time.Minute))); err != nil {
		return nil, io.EOF
	}
	if _, err := k.lines.Peek(1); err != nil {
		return nil, io.EOF
	}
	response, err := http.ReadResponse(k.lines, request)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response, errors.Join(err, response.Body.Close())
}

// TestSIGTERMUnderAHundredStreams stops a server with all kinds of clients: it is not ready any more,
// connections end in order, and each download is complete.
func TestSIGTERMUnderAHundredStreams(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	c := newDrainees(t)
	p := c.p
	events := p.listen(t)
	socket, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(p.url, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	var idle []*kept
	for range 20 {
		idle = append(idle, p.keep(t))
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	signalled := time.Now()
	for status := 0; status != http.StatusServiceUnavailable; status, _ = p.get(t, c.admin+"/readyz") {
		if time.Since(signalled) > 5*time.Second {
			t.Fatalf("still ready: %d", status)
		}
	}
	for i, k := range idle {
		if response, err := k.ask(p.url); err != nil && !errors.Is(err, io.EOF) || err == nil &&
			response.StatusCode != http.StatusOK {
			t.Errorf("the kept connection %d: neither a reply nor an end: %v, %v", i, response, err)
		}
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://")); err == nil {
		_ = conn.Close()
		t.Error("new connections are accepted")
	}
	var last string
	for line := range events {
		if line != "" {
			last = line
		}
	}
	if !strings.Contains(last, `"id":7`) || !strings.Contains(last, `"complete"`) {
		t.Errorf("the event stream ended with %q", last)
	}
	if _, _, err := socket.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the WebSocket connection ended with %v", err)
	}
	if whole := c.finish(t, 0, drained); whole != drained {
		t.Errorf("%d of %d downloads are whole", whole, drained)
	}
	if err := <-p.done; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// TestWhatOutlivesTheDrainTimeIsBroken lets some finish, and the others not.
func TestWhatOutlivesTheDrainTimeIsBroken(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	const slow = 30
	c := newDrainees(t, "--drain-timeout", "20s")
	if err := c.p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if whole := c.finish(t, slow, drained); whole != drained-slow {
		t.Errorf("%d of %d downloads are whole", whole, drained-slow)
	}
	// The second signal is the end of the drain time for the others.
	if err := c.p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := <-c.p.done; !errors.As(err, &exit) || exit.ExitCode() != cli.ExitSignal {
		t.Errorf("the server ended with %v, want exit code %d", err, cli.ExitSignal)
	}
	if whole := c.finish(t, 0, slow); whole != 0 {
		t.Errorf("%d downloads are whole although their clients did not read them, want 0", whole)
	}
}
