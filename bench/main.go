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
// contestants.go is the table of who is compared with whom, and on what;
// targets.go is the table of what is wanted. Linux only.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
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
	err := run(ctx, os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
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
	start     time.Time
	results   []result
	updates   string // the tables of the bytes of updates
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
	b.progress("building repomcp")
	//nolint:gosec // our own
	build := exec.CommandContext(ctx, "go", "build", "-o", b.binary(), "github.com/repomcp/repomcp/cmd/repomcp")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	failed := b.measure(ctx)
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

// result is what the rounds of one comparison on one repository found.
type result struct {
	comparison comparison
	corpus     corpus
	usages     map[string][]usage // by contestant, round by round
	failures   map[string]error
}

// measure goes through the selected repositories and comparisons. A contestant
// that fails has no figures; the others go on.
func (b *bench) measure(ctx context.Context) error {
	var failed error
	for _, c := range corpora() {
		selected := slices.DeleteFunc(comparisons(), func(k comparison) bool {
			return !slices.Contains(k.corpora, c.key) || !b.wants(c.key, k.key)
		})
		if len(selected) == 0 && !b.wantsUpdates(c) {
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

func (b *bench) compareAll(ctx context.Context, c corpus, selected []comparison) (err error) {
	p := place{}
	if c.key == "sync" {
		if p.lab, err = b.openLab(ctx, &c); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.lab.close()) }()
	}
	if p.server, err = startServer(ctx, b.binary(), c.root); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.server.stop()) }()
	if p.lab != nil {
		if err := p.lab.serve(ctx, c.root, p.server.url); err != nil {
			return err
		}
	}
	p.corpus = c
	var failed error
	for _, k := range selected {
		b.progress("%s: %s", c.title, k.title)
		r := b.compare(ctx, k, p)
		for name, cause := range r.failures {
			failed = errors.Join(failed, fmt.Errorf("%s, %s: %w", c.title, name, cause))
		}
		b.results = append(b.results, r)
	}
	return errors.Join(failed, b.compareUpdates(ctx, c, p.server))
}

// compare interleaves the contestants, in one order and then in the other, so
// that none always follows the same one.
func (b *bench) compare(ctx context.Context, k comparison, p place) result {
	r := result{k, p.corpus, map[string][]usage{}, map[string]error{}}
	rounds := cmp.Or(k.rounds, b.rounds)
	if p.corpus.long || k.long {
		rounds = min(rounds, 3)
	}
	for round := range rounds {
		turn := slices.Clone(k.contestants)
		if round%2 == 1 {
			slices.Reverse(turn)
		}
		r.each(ctx, turn, func(one contestant) error { return b.runAside(ctx, p, k, one, round, one.setup) })
		r.each(ctx, turn[:1], func(one contestant) error { return b.runAside(ctx, p, k, one, round, k.change) })
		r.each(ctx, turn, func(one contestant) error {
			u, err := b.runContestant(ctx, p, k, one, round)
			if err == nil {
				r.usages[one.name] = append(r.usages[one.name], u)
				b.progress("round %d of %d, %s: %.3f s", round+1, rounds, one.name, u.wall.Seconds())
			}
			return err
		})
	}
	for _, one := range k.contestants { // also after a failure or an interruption: it ends what was started
		if err := b.runAside(context.WithoutCancel(ctx), p, k, one, rounds, one.end); err != nil {
			r.failures[one.name] = errors.Join(r.failures[one.name], err)
		}
	}
	return r
}

// each does something with the contestants that have not failed.
func (r result) each(ctx context.Context, contestants []contestant, do func(contestant) error) {
	for _, one := range contestants {
		if r.failures[one.name] != nil || ctx.Err() != nil {
			continue
		}
		if err := do(one); err != nil {
			r.failures[one.name] = err
		}
	}
}
