// Command benchmark measures repomcp beside git, compressors and go-git: whole
// processes, in turn, in one run, on repositories that it generates itself.
//
//	go run ./internal/benchmark            # all of it, into docs/performance.md
//	go run ./internal/benchmark -quick -o -
//	go run ./internal/benchmark -only a,c -rounds 9 -o -
//
// REPOMCP_BENCH_REPO names a repository of one's own to measure as well.
//
// # What is measured
//
// Each round runs every contestant once, in alternating order, so that what
// else the machine does meets all of them. A ratio is the median of the ratios
// of the rounds. Processor time is that of all processes of a pipeline, from
// wait4; of the server, its processor clock before and after. Memory is sampled
// from /proc while the processes run, anonymous and mapped pages apart, because
// a mapped pack is the page cache's and not the process's.
//
// # Where to start reading
//
// suite.go is the course of a run, contestants.go says who takes part,
// process.go and server.go take the measurements, targets.go holds what is
// wanted and report.go writes it all down. Linux only: it lives on /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchmark:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := parseSettings(args, stderr)
	if err != nil {
		return err
	}
	if s.peer != "" {
		return runPeer(ctx, s.peer, s.repository, stdout)
	}
	return benchmark(ctx, s, stdout, stderr)
}

// benchmark measures and writes the report. The report is written even when a
// contestant failed, with the failure in its row.
func benchmark(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	parts := s.parts()
	destination, err := openDestination(s.output, stdout, parts...)
	if err != nil {
		return err
	}
	b, err := newSuite(ctx, s, stderr)
	if err != nil {
		return err
	}
	defer b.close()
	found, err := b.measure(ctx)
	if err != nil {
		return err
	}
	facts, err := machineFacts(ctx)
	if err != nil {
		return err
	}
	reports := map[part]func(settings, []fact, results) string{archivesPart: report, searchPart: searchReport}
	failed := found.failures()
	for _, p := range parts {
		failed = errors.Join(failed, destination.write(p, reports[p](s, facts, found)))
	}
	return failed
}
