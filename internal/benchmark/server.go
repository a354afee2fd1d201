package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopTimeout is how long a server may take to end before it is killed.
const stopTimeout = 10 * time.Second

// server is repomcp as a process of its own, serving one repository.
type server struct {
	cmd    *exec.Cmd
	url    string
	client *http.Client
	silent chan struct{} // closed when its standard error is at its end
}

// startServer serves the repositories below root.
func startServer(ctx context.Context, binary, root string) (*server, error) {
	// Not by the context: stop ends it, after its last reply.
	cmd := stage{binary, []string{"serve", "--root", root, "--listen", "127.0.0.1:0", "--log-level", "error"}}.command(context.WithoutCancel(ctx))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	// As curl does: what is compressed stays so.
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	s := &server{cmd: cmd, client: &http.Client{Transport: transport}, silent: make(chan struct{})}
	listening := regexp.MustCompile(`listening on (http://[^\s,]+)`)
	lines := bufio.NewScanner(stderr)
	var said strings.Builder
	for s.url == "" && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if match := listening.FindStringSubmatch(lines.Text()); match != nil {
			s.url = match[1]
		}
	}
	go func() {
		defer close(s.silent)
		_, _ = io.Copy(io.Discard, stderr) // keeps the pipe empty
	}()
	if s.url == "" {
		return nil, errors.Join(fmt.Errorf("the server does not listen: %s", said.String()), s.stop())
	}
	return s, nil
}

// stop ends the server and waits for it.
func (s *server) stop() error {
	s.client.CloseIdleConnections()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping the server: %w", err)
	}
	kill := time.AfterFunc(stopTimeout, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	<-s.silent
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("stopping the server: %w", err)
	}
	return nil
}

// run measures n downloads of the resource, requested together.
func (s *server) run(ctx context.Context, n int, uri string) (usage, error) {
	before, err := processorClock(s.cmd.Process.Pid)
	if err != nil {
		return usage{}, err
	}
	var mu sync.Mutex
	var bodies []io.Closer
	defer func() {
		for _, body := range bodies {
			_ = body.Close() // read to its end
		}
	}()
	watch := watchMemory([]int{s.cmd.Process.Pid})
	u, err := drainAll(time.Now(), n, func(int) (io.Reader, error) {
		body, err := s.stream(ctx, uri)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, body)
		return body, nil
	})
	u.peak = watch.stop()
	after, failed := processorClock(s.cmd.Process.Pid)
	u.cpu = after - before
	return u, errors.Join(err, failed)
}

// stream asks for a resource as an MCP client does and returns the body.
func (s *server) stream(ctx context.Context, uri string) (io.ReadCloser, error) {
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/stream","params":{"uri":%q,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"resourceStreaming":{}}}}}`, uri)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/mcp", strings.NewReader(message))
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, */*"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"resources/stream"},
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Mcp-Resource-Uri") == "" {
		said, err := io.ReadAll(io.LimitReader(response.Body, maxComplaintBytes))
		return nil, errors.Join(fmt.Errorf("the server replied %s: %s", response.Status, said), err, response.Body.Close())
	}
	return response.Body, nil
}
