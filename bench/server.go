package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopTimeout is how long a server may take to end before it is killed.
const stopTimeout = 10 * time.Second

// server is repomcp as a process of its own, serving one repository.
type server struct {
	cmd    *exec.Cmd
	url    string
	silent chan struct{} // closed when its standard error has ended
}

var listening = regexp.MustCompile(`listening on (http://[^\s,"]+)`)

// startServer serves the repositories below root and warms the server with one
// archive: what is measured is a server in use.
func startServer(ctx context.Context, binary, root string) (*server, error) {
	// The context does not end the server: stop does, after its last reply.
	//nolint:gosec,noctx // our own
	cmd := exec.Command(binary, "serve", "--root", root, "--listen", "127.0.0.1:0", "--log-level", "error",
		"--allowed-host", hostname(), "--read-limit", "100MiB")
	cmd.Env = isolated()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	s := &server{cmd: cmd, silent: make(chan struct{})}
	lines := bufio.NewScanner(stderr)
	for s.url == "" && lines.Scan() {
		if match := listening.FindStringSubmatch(lines.Text()); match != nil {
			s.url = match[1]
		}
	}
	go func() {
		defer close(s.silent)
		_, _ = io.Copy(io.Discard, stderr) // keeps the pipe empty
	}()
	if s.url == "" {
		return nil, errors.Join(errors.New("the server does not listen"), s.stop())
	}
	if _, err := measureCommand(ctx, download, append(isolated(), "URL="+s.url), 0); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// measure runs a client's command; time and memory are the server's.
func (s *server) measure(ctx context.Context, command string, environment []string) (usage, error) {
	before, err := processorClock(s.cmd.Process.Pid)
	if err != nil {
		return usage{}, err
	}
	u, err := measureCommand(ctx, command, environment, s.cmd.Process.Pid)
	after, failed := processorClock(s.cmd.Process.Pid)
	u.cpu = after - before
	return u, errors.Join(err, failed)
}

// stop ends the server and waits for it.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping the server: %w", err)
	}
	kill := time.AfterFunc(stopTimeout, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	<-s.silent
	return s.cmd.Wait()
}

// processorClock is the processor time of another process, by the id of its
// clock as clock_getcpuclockid(3) makes it. /proc/PID/stat has it too, but in
// steps of 10 ms, which is longer than a small archive takes.
func processorClock(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("processor clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}
