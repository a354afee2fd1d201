//go:build linux

// Command bench measures repomcp beside git, compressors and go-git: whole
// processes, in turn, in one run, on repositories that it generates itself. It asks
// Linux for the memory and the clocks of processes, and is for that system alone.
//
//	go run ./bench              # everything, to standard output
//	go run ./bench -quick       # on small repositories
//	go run ./bench -only a,search -rounds 9
//	go run ./bench -only sync   # sync beside git, curl and rsync
//	go run ./bench search      # code searches that have an index: see runSearch
//	go run ./bench agents -sets DIR   # which files one search finds for questions: see runAgents
//
// REPOMCP_BENCH_REPO names a repository of your own to measure as well.
//
// Each round runs every contestant of a comparison once, in alternating order,
// so that whatever else the machine does meets all of them. A ratio is the
// median of the ratios of the rounds. Processor time is that of a command and
// of everything that it started; of a server, its processor clock before and
// after. Memory is sampled from /proc, anonymous and mapped pages apart,
// because a mapped pack belongs to the page cache and not to the process.
//
// contestants.sh has the tables of the compared programs, of their inputs, and of what is
// wanted; corpora.sh makes the repositories. Linux only.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	quick     bool
	rounds    int
	dir       string // folder that keeps the generated repositories and the program under test
	selection string // keys of repositories and comparisons, with commas between; "" means all
	tables    tables
	start     time.Time
	results   []result
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == peerCommand {
		return runPeer(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == searchCommand {
		return runSearch(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == agentsCommand {
		return runAgents(ctx, args[1:])
	}
	b := bench{start: time.Now()}
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.BoolVar(&b.quick, "quick", false, "small repositories, to try it out; the verdicts mean nothing")
	set.IntVar(&b.rounds, "rounds", 7, "rounds of each comparison; three at most where a round takes minutes")
	set.StringVar(&b.dir, "dir", filepath.Join(os.TempDir(), "repomcp-bench"),
		"folder that keeps the generated repositories, several GiB")
	set.StringVar(&b.selection, "only", "",
		"repositories and comparisons to measure, with commas between (default: all)")
	if err := set.Parse(args); err != nil {
		return err
	}
	var err error
	if b.tables, err = readTables(ctx); err != nil {
		return err
	}
	b.progress("building repomcp")
	// As a release is built: with libc it starts a millisecond later.
	const build = `CGO_ENABLED=0 exec go build -trimpath -ldflags='-s -w' -o "$1" \
		github.com/repomcp/repomcp/cmd/repomcp`
	if _, err := shell(ctx, nil, build, b.binary()); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	failed := b.measureAll(ctx)
	fmt.Print(b.report(ctx))
	return failed
}

// wants reports whether the selection has any of the keys.
func (b *bench) wants(keys ...string) bool {
	return b.selection == "" || slices.ContainsFunc(strings.Split(b.selection, ","),
		func(key string) bool { return slices.Contains(keys, key) })
}

func (b *bench) binary() string { return filepath.Join(b.dir, "repomcp") }

func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%7.1f s  %s\n", time.Since(b.start).Seconds(), fmt.Sprintf(format, args...))
}

// measureAll goes through the selected repositories and comparisons, until one fails.
func (b *bench) measureAll(ctx context.Context) error {
	for _, c := range b.tables.corpora {
		selected := slices.DeleteFunc(slices.Clone(b.tables.comparisons), func(k comparison) bool {
			return !slices.Contains(k.corpora, c.key) || !b.wants(c.key, k.key)
		})
		if len(selected) == 0 {
			continue
		}
		err := b.prepare(ctx, &c)
		if err == nil {
			err = b.compareAll(ctx, c, selected)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
	}
	return nil
}

func (b *bench) compareAll(ctx context.Context, c corpus, selected []comparison) (err error) {
	p := place{dir: filepath.Join(b.dir, "lab")}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.open(ctx, c, b.binary()); err != nil {
		return err
	}
	for _, k := range selected {
		r := result{k, c, map[string][]usage{}}
		if err := b.compare(ctx, p, r); err != nil {
			return fmt.Errorf("%s: %w", k.title, err)
		}
		b.results = append(b.results, r)
	}
	return nil
}

// result is what the rounds of one comparison on one repository found.
type result struct {
	comparison
	corpus corpus
	usages map[string][]usage // by contestant, round by round
}

// compare interleaves the contestants, in one order and then in the other, so
// that none always follows the same one.
func (b *bench) compare(ctx context.Context, p place, r result) (err error) {
	rounds := min(cmp.Or(r.rounds, b.rounds), cmp.Or(r.corpus.rounds, math.MaxInt))
	defer func() { // also after a failure or an interruption: it ends what was started
		for _, one := range r.contestants {
			_, failed := p.run(context.WithoutCancel(ctx), r.comparison, one, rounds, one.end)
			err = errors.Join(err, failed)
		}
	}()
	for round := range rounds {
		turn := slices.Clone(r.contestants)
		if round%2 == 1 {
			slices.Reverse(turn)
		}
		for _, one := range turn {
			if _, err := p.run(ctx, r.comparison, one, round, one.setup); err != nil {
				return fmt.Errorf("before %s: %w", one.name, err)
			}
		}
		if _, err := p.run(ctx, r.comparison, turn[0], round, r.change); err != nil {
			return err
		}
		for _, one := range turn {
			u, err := p.run(ctx, r.comparison, one, round, one.command)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			r.usages[one.name] = append(r.usages[one.name], u)
			b.progress("%s, %s, round %d of %d, %s: %.3f s", r.corpus.title, r.title, round+1, rounds, one.name,
				u[wall])
		}
	}
	return nil
}
