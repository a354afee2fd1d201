//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// samplePause is the least time between two looks at the memory of processes, and
// sampleShare how many times longer than a look the pause after it is: looking at
// fifty processes must not slow them down.
const samplePause, sampleShare = 3 * time.Millisecond, 20

// usage is what one measurement found, by quantity.
type usage [mapped + 1]float64

// quantity is what is measured.
type quantity int

// The quantities, in seconds or MiB but for the first byte.
const (
	wall      quantity = iota // until all has ended
	cpu                       // of all processes
	first                     // until the first byte, in milliseconds
	size                      // of standard output
	anonymous                 // peaks of resident memory, summed over the processes
	mapped
)

// quantities are their names in the table of targets.
var quantities = []string{"wall", "cpu", "first", "size", "anonymous", "mapped"}

const mebibyte = 1 << 20

// isolated is an environment without any user's configuration of git.
func isolated() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}
}

// shell runs a script that is not measured, and returns what it says.
func shell(ctx context.Context, environment []string, script string, args ...string) (string, error) {
	//nolint:gosec // our own scripts
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Env = environment
	said, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return strings.TrimSpace(string(said)), nil
}

// measureCommand runs a command of the shell and reads its output to the end. Time of
// the processor and memory are those of the server, or of the command where it is 0.
func measureCommand(ctx context.Context, command string, environment []string, server int) (u usage, err error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", commands+command) //nolint:gosec // from the table of contestants
	var said bytes.Buffer
	before, start := processorClock(server), time.Now()
	cmd.Env, cmd.Stdout, cmd.Stderr = environment, &output{&u, start}, &said
	if err := cmd.Start(); err != nil {
		return u, err
	}
	end, peak := make(chan struct{}), make(chan usage)
	go sampleMemory(cmp.Or(server, cmd.Process.Pid), end, peak)
	err = cmd.Wait()
	u[wall] = time.Since(start).Seconds()
	close(end)
	memory := <-peak
	u[anonymous], u[mapped] = memory[anonymous], memory[mapped]
	if err != nil {
		return u, fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	// That of a shell includes that of all it waited for.
	u[cpu] = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if server != 0 {
		u[cpu] = (processorClock(server) - before).Seconds()
	}
	u.correct(said.String())
	return u, nil
}

// output counts what a command writes.
type output struct {
	*usage
	start time.Time
}

func (o *output) Write(p []byte) (int, error) {
	if o.usage[size] == 0 {
		o.usage[first] = float64(time.Since(o.start)) / float64(time.Millisecond)
	}
	o.usage[size] += float64(len(p)) / mebibyte
	return len(p), nil
}

// correct takes the wall time that a command reports about a part of itself,
// by a line on standard error.
func (u *usage) correct(said string) {
	_, rest, ok := strings.Cut(said, measuredPrefix)
	text, _, _ := strings.Cut(rest, "\n")
	if seconds, err := strconv.ParseFloat(text, 64); ok && err == nil {
		u[wall], u[cpu], u[first] = seconds, seconds, 1000*seconds
	}
}

// processorClock is the processor time of another process, by the id of its
// clock as clock_getcpuclockid(3) makes it. /proc/PID/stat has it too, but in
// steps of 10 ms, which is longer than a small archive takes.
func processorClock(pid int) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(int32(^pid<<3|2), &t) // of a server that has ended the command fails
	return time.Duration(t.Nano())
}

// sampleMemory keeps the greatest sums over a process and its descendants.
func sampleMemory(pid int, end <-chan struct{}, peak chan<- usage) {
	var most usage
	for ended := false; !ended; {
		start := time.Now()
		var now usage
		now.addMemory(pid)
		most[anonymous], most[mapped] = max(most[anonymous], now[anonymous]), max(most[mapped], now[mapped])
		select {
		case <-end:
			ended = true
		case <-time.After(max(samplePause, sampleShare*time.Since(start))):
		}
	}
	peak <- most
}

// addMemory adds what a process and its descendants have now (proc_pid_status(5));
// nothing once it has ended.
func (u *usage) addMemory(pid int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // an ended process has none
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		kibibytes, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(rest, "kB\n")), 64)
		switch name {
		case "RssAnon":
			u[anonymous] += kibibytes / 1024
		case "RssFile", "RssShmem":
			u[mapped] += kibibytes / 1024
		}
	}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, field := range strings.Fields(string(children)) {
		if child, err := strconv.Atoi(field); err == nil {
			u.addMemory(child)
		}
	}
}
