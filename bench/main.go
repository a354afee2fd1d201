// Command bench measures repomcp beside git, compressors and go-git: whole
// processes, in turn, in one run, on repositories that it generates itself.
//
//	go run ./bench                   # everything, into docs/performance.md
//	go run ./bench -quick -o -       # small repositories, to standard output
//	go run ./bench -only a,search -rounds 9 -o -
//	go run ./bench -only sync -o -   # sync beside git, curl and rsync
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
// contestants.sh has the tables of who is compared with whom, on what, and of what is
// wanted; corpora.sh makes the repositories. Linux only.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
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
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("finding a cache folder: %w", err)
	}
	b, output := bench{start: time.Now()}, ""
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.BoolVar(&b.quick, "quick", false, "small repositories, to try it out; the verdicts mean nothing")
	set.IntVar(&b.rounds, "rounds", 7, "rounds of each comparison; three at most where a round takes minutes")
	set.StringVar(&b.dir, "dir", filepath.Join(cache, "repomcp-bench"),
		"folder that keeps the generated repositories, several GiB")
	set.StringVar(&output, "o", "docs/performance.md",
		"file whose part between the markers becomes the report, - for standard output")
	set.StringVar(&b.selection, "only", "",
		"repositories and comparisons to measure, with commas between (default: all)")
	if err := set.Parse(args); err != nil {
		return err
	}
	report, err := openReport(output)
	if err != nil {
		return err
	}
	if b.tables, err = readTables(ctx); err != nil {
		return err
	}
	b.progress("building repomcp")
	// As a release is built: with libc it starts a millisecond later.
	const build = `exec env CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o "$1" github.com/repomcp/repomcp/cmd/repomcp`
	if _, err := shell(ctx, nil, build, b.binary()); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	failed := b.measureAll(ctx)
	return errors.Join(failed, report.write(b.markdown(ctx)))
}

// wants reports whether the selection has any of the keys.
func (b *bench) wants(keys ...string) bool {
	selected := strings.Split(b.selection, ",")
	return b.selection == "" || slices.ContainsFunc(keys, func(key string) bool {
		return slices.Contains(selected, key)
	})
}

func (b *bench) binary() string { return filepath.Join(b.dir, "repomcp") }

func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%7.1f s  %s\n", time.Since(b.start).Seconds(), fmt.Sprintf(format, args...))
}

// measureAll goes through the selected repositories and comparisons. A contestant
// that fails has no figures; the others go on.
func (b *bench) measureAll(ctx context.Context) (failed error) {
	for _, c := range b.tables.corpora {
		selected := slices.DeleteFunc(slices.Clone(b.tables.comparisons), func(k comparison) bool {
			return !slices.Contains(k.corpora, c.key) || !b.wants(c.key, k.key)
		})
		if len(selected) == 0 {
			continue
		}
		if err := b.prepare(ctx, &c); err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
		failed = errors.Join(failed, b.compareAll(ctx, c, selected))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return failed
}

func (b *bench) compareAll(ctx context.Context, c corpus, selected []comparison) (failed error) {
	p := place{dir: filepath.Join(b.dir, "lab")}
	defer func() { failed = errors.Join(failed, p.close()) }()
	if err := p.open(ctx, c, b.binary()); err != nil {
		return err
	}
	for _, k := range selected {
		b.progress("%s: %s", c.title, k.title)
		r := result{k, c, map[string][]usage{}, map[string]error{}}
		b.compare(ctx, p, r)
		for name, cause := range r.failures {
			failed = errors.Join(failed, fmt.Errorf("%s, %s: %w", c.title, name, cause))
		}
		b.results = append(b.results, r)
	}
	return failed
}

// result is what the rounds of one comparison on one repository found.
type result struct {
	comparison
	corpus   corpus
	usages   map[string][]usage // by contestant, round by round
	failures map[string]error
}

// compare interleaves the contestants, in one order and then in the other, so
// that none always follows the same one.
func (b *bench) compare(ctx context.Context, p place, r result) {
	const longRounds = 3 // are enough where one takes minutes
	rounds := cmp.Or(r.rounds, b.rounds)
	if r.corpus.long {
		rounds = min(rounds, longRounds)
	}
	for round := range rounds {
		turn := slices.Clone(r.contestants)
		if round%2 == 1 {
			slices.Reverse(turn)
		}
		for _, one := range turn {
			r.attempt(ctx, one, func() error { return p.runAside(ctx, r.comparison, one, round, one.setup) })
		}
		r.attempt(ctx, turn[0], func() error { return p.runAside(ctx, r.comparison, turn[0], round, r.change) })
		for _, one := range turn {
			r.attempt(ctx, one, func() error {
				u, err := p.measure(ctx, r.comparison, one, round)
				if err == nil {
					r.usages[one.name] = append(r.usages[one.name], u)
					b.progress("round %d of %d, %s: %.3f s", round+1, rounds, one.name, u[wall])
				}
				return err
			})
		}
	}
	for _, one := range r.contestants { // also after a failure or an interruption: it ends what was started
		if err := p.runAside(context.WithoutCancel(ctx), r.comparison, one, rounds, one.end); err != nil {
			r.failures[one.name] = errors.Join(r.failures[one.name], err)
		}
	}
}

// attempt does something with a contestant unless it has failed.
func (r result) attempt(ctx context.Context, one contestant, do func() error) {
	if r.failures[one.name] != nil || ctx.Err() != nil {
		return
	}
	if err := do(); err != nil {
		r.failures[one.name] = err
	}
}
