package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	// readBufferBytes is four times what a pipe holds: reading must cost less
	// than anything that is measured.
	readBufferBytes = 256 << 10
	// maxComplaintBytes is how much of a process's standard error is kept.
	maxComplaintBytes = 4 << 10
)

// stage is one process of a pipeline.
type stage struct {
	path string
	args []string
}

// command makes the process with an environment that the machine's configuration
// does not reach.
func (s stage) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.path, s.args...) //nolint:gosec // the contestants are this program's own choice
	cmd.Env = isolated()
	return cmd
}

// isolated is an environment for git and all others: the run must not depend
// on who makes it. The mirror may belong to somebody else, which git asks about.
func isolated() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}
}

// pipeline is a row of processes, each reading what the one before it writes,
// as a shell would connect them.
type pipeline struct {
	processes  []*exec.Cmd
	complaints []*complaint
	output     *os.File
}

func startPipeline(ctx context.Context, stages []stage) (_ *pipeline, err error) {
	p := &pipeline{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.abandon())
		}
	}()
	for _, s := range stages {
		if err := p.append(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.path, err)
		}
	}
	return p, nil
}

func (p *pipeline) append(ctx context.Context, s stage) error {
	cmd, said := s.command(ctx), &complaint{}
	cmd.Stderr = said
	previous := p.output
	if previous != nil {
		cmd.Stdin = previous
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	p.output, cmd.Stdout = reader, writer
	err = cmd.Start()
	// The ends that the processes have must be theirs alone, or nobody sees
	// the other side close.
	err = errors.Join(err, writer.Close())
	if previous != nil {
		err = errors.Join(err, previous.Close())
	}
	if cmd.Process != nil {
		p.processes, p.complaints = append(p.processes, cmd), append(p.complaints, said)
	}
	return err
}

// abandon ends what was started.
func (p *pipeline) abandon() error {
	var err error
	if p.output != nil {
		err = p.output.Close()
	}
	for _, cmd := range p.processes {
		err = errors.Join(err, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	}
	return err
}

// finish waits for the processes and adds up their processor time.
func (p *pipeline) finish() (cpu time.Duration, err error) {
	err = p.output.Close()
	for i, cmd := range p.processes {
		if failed := cmd.Wait(); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w: %s", cmd.Path, failed, p.complaints[i]))
		}
		if state := cmd.ProcessState; state != nil {
			cpu += state.UserTime() + state.SystemTime()
		}
	}
	return cpu, err
}

// runProcesses measures n pipelines of the same stages, started together.
func runProcesses(ctx context.Context, n int, stages ...stage) (u usage, err error) {
	start := time.Now()
	running := make([]*pipeline, 0, n)
	defer func() {
		for _, p := range running {
			err = errors.Join(err, p.abandon())
		}
	}()
	var pids []int
	for range n {
		p, err := startPipeline(ctx, stages)
		if err != nil {
			return usage{}, err
		}
		running = append(running, p)
		for _, cmd := range p.processes {
			pids = append(pids, cmd.Process.Pid)
		}
	}
	watch := watchMemory(pids)
	u, err = drainAll(start, n, func(i int) (io.Reader, error) { return running[i].output, nil })
	// Before the processes are waited for, while their ids are still theirs.
	u.peak = watch.stop()
	for _, p := range running {
		cpu, failed := p.finish()
		u.cpu, err = u.cpu+cpu, errors.Join(err, failed)
	}
	running = nil
	u.wall = time.Since(start)
	return u, err
}

// drainAll opens n streams at once and reads each to its end.
func drainAll(start time.Time, n int, open func(i int) (io.Reader, error)) (usage, error) {
	found, errs := make([]usage, n), make([]error, n)
	var reading sync.WaitGroup
	for i := range n {
		reading.Go(func() {
			r, err := open(i)
			if err == nil {
				found[i], err = drain(start, r)
			}
			errs[i] = err
		})
	}
	reading.Wait()
	total := usage{wall: time.Since(start)}
	for _, u := range found {
		total.bytes += u.bytes
		total.first = max(total.first, u.first)
	}
	return total, errors.Join(errs...)
}

// drain reads to the end and notes when the first byte came.
func drain(start time.Time, r io.Reader) (u usage, err error) {
	buffer := make([]byte, readBufferBytes)
	for {
		n, err := r.Read(buffer)
		if n > 0 && u.bytes == 0 {
			u.first = time.Since(start)
		}
		u.bytes += int64(n)
		if errors.Is(err, io.EOF) {
			return u, nil
		}
		if err != nil {
			return u, err
		}
	}
}

// complaint keeps the beginning of what a process says on standard error.
type complaint struct{ text bytes.Buffer }

func (c *complaint) Write(p []byte) (int, error) {
	c.text.Write(p[:min(len(p), maxComplaintBytes-c.text.Len())])
	return len(p), nil
}

func (c *complaint) String() string { return strings.TrimSpace(c.text.String()) }
