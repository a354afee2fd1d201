package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// fact is something about the machine or the programs that figures depend on.
type fact struct{ name, value string }

// machineFacts are gathered from /proc and from the programs themselves.
func machineFacts(ctx context.Context) ([]fact, error) {
	cpu, err := procLine("/proc/cpuinfo", "model name")
	if err != nil {
		return nil, err
	}
	total, err := procLine("/proc/meminfo", "MemTotal")
	if err != nil {
		return nil, err
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return nil, err
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil, err
	}
	kib, err := strconv.ParseFloat(strings.TrimSuffix(total, " kB"), 64)
	if err != nil {
		return nil, fmt.Errorf("/proc/meminfo: %w", err)
	}
	return []fact{
		{"date", time.Now().UTC().Format(time.DateOnly)},
		{"machine", fmt.Sprintf("%s, %d cores, %.1f GiB, %s/%s, Linux %s", cpu, runtime.NumCPU(), kib/(1<<20), runtime.GOOS, runtime.GOARCH, strings.TrimSpace(string(kernel)))},
		{"load at the end, of 1, 5 and 15 minutes, the run's own included", strings.Join(strings.Fields(string(load))[:3], " ")},
		{"repomcp", revision(ctx)},
		{"programs", fmt.Sprintf("%s, zlib %s, %s, %s, %s", runtime.Version(), zlibVersion(ctx), firstLine(ctx, "gzip"), firstLine(ctx, "pigz"), firstLine(ctx, "zstd"))},
	}, nil
}

// procLine finds the value of a name in a file of /proc.
func procLine(path, name string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), nil
		}
	}
	return "unknown", nil // not every processor has a name there
}

// revision of the program under test.
func revision(ctx context.Context) string {
	commit, err := gitOutput(ctx, "", "rev-parse", "--short", "HEAD")
	if err != nil {
		return "unknown revision"
	}
	if changes, err := gitOutput(ctx, "", "status", "--porcelain", "--untracked-files=no"); err != nil || changes != "" {
		return commit + " with changes"
	}
	return commit
}

// zlibVersion is what git says it was built with, or else the library that is
// installed.
func zlibVersion(ctx context.Context) string {
	if options, err := gitOutput(ctx, "", "version", "--build-options"); err == nil {
		for line := range strings.Lines(options) {
			if version, ok := strings.CutPrefix(line, "zlib"); ok {
				return strings.Trim(version, "-ng: \n")
			}
		}
	}
	for _, pattern := range []string{"/usr/lib/*/libz.so.1.*", "/usr/lib64/libz.so.1.*", "/lib/*/libz.so.1.*", "/usr/lib/libz.so.1.*"} {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return strings.TrimPrefix(filepath.Base(found[0]), "libz.so.")
		}
	}
	return "unknown"
}

// firstLine is how a compressor introduces itself.
func firstLine(ctx context.Context, program string) string {
	out, err := exec.CommandContext(ctx, program, "--version").CombinedOutput()
	if err != nil {
		return "no " + program
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}
