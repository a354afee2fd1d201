package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	readBufferBytes = 256 << 10
	// samplePause is the least time between two looks at the memory of
	// processes, and sampleShare how many times longer than a look the pause
	// after it is: looking at fifty processes must not slow them down.
	samplePause = 3 * time.Millisecond
	sampleShare = 20
)

// usage is what one measurement found.
type usage struct {
	wall, cpu, first  time.Duration // until all has ended; of all processes; until the first byte
	bytes             int64         // of standard output
	anonymous, mapped int64         // peaks of resident memory, summed over the processes
}

// Quantities of a usage, as numbers for the arithmetic.
func wall(u usage) float64      { return u.wall.Seconds() }
func cpu(u usage) float64       { return u.cpu.Seconds() }
func first(u usage) float64     { return u.first.Seconds() }
func size(u usage) float64      { return float64(u.bytes) }
func anonymous(u usage) float64 { return float64(u.anonymous) }
func mapped(u usage) float64    { return float64(u.mapped) }

// isolated is an environment in which nobody's configuration of git counts.
func isolated() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}
}

// measureCommand runs a command of the shell and reads its output to the end.
// The memory is that of the process pid, or of the command's where pid is 0.
func measureCommand(ctx context.Context, command string, environment []string, pid int) (u usage, err error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // from the table of contestants
	var said bytes.Buffer
	cmd.Env, cmd.Stderr = environment, &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return u, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return u, err
	}
	if pid == 0 {
		pid = cmd.Process.Pid
	}
	end, peak := make(chan struct{}), make(chan usage)
	go sampleMemory(pid, end, peak)
	u.bytes, u.first, err = drain(start, out)
	close(end)
	memory := <-peak
	u.anonymous, u.mapped = memory.anonymous, memory.mapped
	// The processor time of a shell includes that of all it waited for.
	err = errors.Join(err, cmd.Wait())
	u.wall = time.Since(start)
	if err != nil {
		return u, fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	u.correct(said.String())
	return u, nil
}

// correct takes the wall time that a command reports about a part of itself,
// by a line on standard error.
func (u *usage) correct(said string) {
	_, rest, ok := strings.Cut(said, measuredPrefix)
	text, _, _ := strings.Cut(rest, "\n")
	if seconds, err := strconv.ParseFloat(text, 64); ok && err == nil {
		u.wall = time.Duration(seconds * float64(time.Second))
		u.cpu, u.first = u.wall, u.wall
	}
}

// drain reads to the end and notes when the first byte came.
func drain(start time.Time, r io.Reader) (n int64, first time.Duration, err error) {
	buffer := make([]byte, readBufferBytes)
	for {
		read, err := r.Read(buffer)
		if read > 0 && n == 0 {
			first = time.Since(start)
		}
		n += int64(read)
		if errors.Is(err, io.EOF) {
			return n, first, nil
		}
		if err != nil {
			return n, first, err
		}
	}
}

// sampleMemory keeps the greatest sums over a process and its descendants.
func sampleMemory(pid int, end <-chan struct{}, peak chan<- usage) {
	var most usage
	for ended := false; !ended; {
		start := time.Now()
		now := residentMemory(pid)
		most.anonymous, most.mapped = max(most.anonymous, now.anonymous), max(most.mapped, now.mapped)
		select {
		case <-end:
			ended = true
		case <-time.After(max(samplePause, sampleShare*time.Since(start))):
		}
	}
	peak <- most
}

// residentMemory is what a process and its descendants have now
// (proc_pid_status(5)); nothing once it has ended.
func residentMemory(pid int) (m usage) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // an ended process has none
	m.anonymous = kibibytes(status, "\nRssAnon:")
	m.mapped = kibibytes(status, "\nRssFile:") + kibibytes(status, "\nRssShmem:")
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, field := range strings.Fields(string(children)) {
		child, err := strconv.Atoi(field)
		if err == nil {
			of := residentMemory(child)
			m.anonymous, m.mapped = m.anonymous+of.anonymous, m.mapped+of.mapped
		}
	}
	return m
}

func kibibytes(status []byte, name string) int64 {
	_, rest, _ := bytes.Cut(status, []byte(name))
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	value, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return 0 // a kernel thread or an ended process has no such line
	}
	return value << 10
}
