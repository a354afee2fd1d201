//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// searchCommand measures code searches that have an index.
const searchCommand = "search"

// searchBench is a server with an index, and its clients' figures.
type searchBench struct {
	work, root, index string
	source            string // the repository with the history
	repositories      int
	rounds            int
	needles           []string // each in a file or two
	server            *stdioServer
}

// runSearch measures searches in the source tree of Go, in many small repositories that it generates of it, and in the
// commits of a history, and prints a table.
func runSearch(ctx context.Context, args []string) (err error) {
	set := flag.NewFlagSet("bench search", flag.ContinueOnError)
	var b searchBench
	set.IntVar(&b.repositories, "repositories", 10_000, "number of small repositories, of 200 KB each")
	set.IntVar(&b.rounds, "rounds", 40, "different searches of each kind")
	set.StringVar(&b.work, "dir", filepath.Join(os.TempDir(), "repomcp-bench-search"),
		"folder that keeps what is generated")
	set.StringVar(&b.source, "repo", os.Getenv("REPOMCP_BENCH_REPO"),
		"repository in whose history to search as well (default: $REPOMCP_BENCH_REPO)")
	if err := set.Parse(args); err != nil {
		return err
	}
	const build = `mkdir -p "$1"; CGO_ENABLED=0 exec go build -trimpath -o "$1/repomcp" \
		github.com/repomcp/repomcp/cmd/repomcp`
	if _, err := shell(ctx, nil, build, b.work); err != nil {
		return err
	}
	fmt.Printf("\n* date: %s\n* processors: %d\n* load at the start: %s\n\n", time.Now().Format(time.DateOnly),
		runtime.NumCPU(), load())
	fmt.Println("| where | search | median | mean | 95 of 100 | slowest |")
	fmt.Println("|---|---|--:|--:|--:|--:|")
	many := fmt.Sprintf("%d repositories", b.repositories)
	for _, place := range []struct {
		name    string
		prepare func(context.Context) error
		measure func(context.Context, string) error
	}{{"go", b.makeGo, b.searchGo}, {many, b.makeMany, b.searchMany}, {"history", b.makeHistory, b.searchHistory}} {
		if place.name == "history" && b.source == "" {
			continue
		}
		b.root = filepath.Join(b.work, strings.Fields(place.name)[0])
		b.index = b.root + ".index"
		if err := place.prepare(ctx); err != nil {
			return err
		}
		if err := b.measure(ctx, place.name, place.measure); err != nil {
			return fmt.Errorf("%s: %w", place.name, err)
		}
	}
	return nil
}

// goMirror makes a mirror of the source tree of Go in a folder.
const goMirror = `set -e; test -e "$1/go.git" && exit; mkdir -p "$1"; rm -rf "$1.tree"
		cp -r "$(go env GOROOT)" "$1.tree"
		chmod -R u+w "$1.tree"; cd "$1.tree"; rm -rf .git pkg/tool; git init -q -b main; git add -A
		git -c user.name=a -c user.email=a@b -c gc.auto=0 commit -q -m go
		git clone -q --bare . "$1.new"; mv "$1.new" "$1/go.git"; rm -rf "$1.tree"`

func (b *searchBench) makeGo(ctx context.Context) error {
	_, err := shell(ctx, nil, goMirror, b.root)
	return err
}

// filesEach is the number of files in each of the many repositories.
const filesEach = 16

// makeMany makes repositories of files of Go's library, each with lines of its own.
func (b *searchBench) makeMany(ctx context.Context) error {
	done := fmt.Sprintf("%s.%d", b.root, b.repositories)
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := os.RemoveAll(b.root); err != nil {
		return err
	}
	source := filepath.Join(runtime.GOROOT(), "src") //nolint:staticcheck // that of the machine that measures
	list, err := shell(ctx, nil, `cd "$1"; find . -type f -name '*.go' -size +3k -size -30k | sort`, source)
	if err != nil {
		return err
	}
	names := strings.Fields(list)
	for i := range b.repositories {
		var stream bytes.Buffer
		stream.WriteString("commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 1\nx\n")
		for n := range filesEach {
			name := names[(i*filesEach+n)*7919%len(names)]
			text, err := os.ReadFile(filepath.Join(source, name))
			if err != nil {
				return err
			}
			header := fmt.Sprintf("// unique%dx%d\n", i, n)
			fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s%s\n", strings.TrimPrefix(name, "./"),
				len(header)+len(text), header, text)
		}
		const script = `mkdir -p "$1" && git init -q --bare --template= -b main "$1" && git -C "$1" fast-import --quiet`
		importer := exec.CommandContext(ctx, "sh", "-c", script, "sh", //nolint:gosec // made above
			filepath.Join(b.root, fmt.Sprintf("g%d/r%d.git", i/100, i)))
		importer.Stdin, importer.Env = &stream, isolated()
		if said, err := importer.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}
	}
	return os.WriteFile(done, nil, 0o600)
}

// measure indexes a folder of mirrors, and searches in it.
func (b *searchBench) measure(
	ctx context.Context, where string, search func(context.Context, string) error,
) (err error) {
	if err := os.RemoveAll(b.index); err != nil {
		return err
	}
	b.server, err = startStdio(ctx, filepath.Join(b.work, "repomcp"), b.root, "--index-dir", b.index,
		"--log-level", "error")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.server.close()) }()
	started := time.Now()
	bytes, err := b.waitForIndex(ctx)
	if err != nil {
		return err
	}
	clock := processorClock(b.server.process.Process.Pid)
	fmt.Printf("| %s | built in %.0f s, %.0f s of processors, %d MiB | | | | |\n", where,
		time.Since(started).Seconds(), clock.Seconds(), bytes>>20)
	return search(ctx, where)
}

// searchMany searches in the many repositories.
func (b *searchBench) searchMany(_ context.Context, where string) error {
	b.needles = nil
	for i := range b.rounds {
		b.needles = append(b.needles, fmt.Sprintf("unique%dx3", 7*i+1))
	}
	return b.searchAll(where)
}

// searchKind is a kind of search: its queries, each another one, and other arguments.
type searchKind struct {
	name  string
	query func(i int) string
	more  map[string]any
}

// kinds returns the kinds of searches, with words that are in many files.
func (b *searchBench) kinds() []searchKind {
	word := func(i int) string { return frequentWords[i%len(frequentWords)] }
	text := map[string]any{"syntax": "text", "sort": "path"}
	return []searchKind{
		{"a needle that is nowhere", func(i int) string { return fmt.Sprintf("zzyzx%dq", i) }, text},
		{"a needle that is rare", func(i int) string { return b.needles[i%len(b.needles)] }, text},
		{"a frequent word, ranked", word, nil},
		{"a question, ranked", func(i int) string {
			return fmt.Sprintf("how does the %s handle a %s", word(i), word(i+5))
		}, nil},
		{"an expression", func(i int) string {
			return fmt.Sprintf("func [A-Z]%c[a-z]+\\(ctx.*error", 'a'+i%26)
		}, map[string]any{"syntax": "regexp", "sort": "path"}},
	}
}

// searchAll searches in all repositories.
func (b *searchBench) searchAll(where string) error {
	for _, k := range b.kinds() {
		err := row(where, k.name, b.rounds, func(i int) error {
			arguments := map[string]any{"query": k.query(i)}
			maps.Copy(arguments, k.more)
			_, err := b.find(arguments)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// searchGo searches in the single repository, with git grep beside it, and pushes to it.
func (b *searchBench) searchGo(ctx context.Context, where string) error {
	const names = `cd "$1" && grep -rhoE '^func Test[A-Za-z0-9]{12,}' --include '*_test.go' . | cut -c 6- | sort -u |
		shuf -n "$2" --random-source=/bin/sh`
	source := filepath.Join(runtime.GOROOT(), "src") //nolint:staticcheck // that of the machine that measures
	list, err := shell(ctx, nil, names, source, strconv.Itoa(b.rounds))
	if err != nil {
		return err
	}
	b.needles = strings.Fields(list)
	if err := b.searchAll(where); err != nil {
		return err
	}
	err = row(where, "`git grep`, a needle that is nowhere", min(b.rounds, 10), func(i int) error {
		_, err := shell(ctx, isolated(), `git -C "$1/go.git" grep -n -I -F "zzyzx$2q" HEAD || test $? = 1`, b.root,
			strconv.Itoa(i))
		return err
	})
	if err != nil {
		return err
	}
	if err := b.searchWithZoekt(ctx, where); err != nil {
		return err
	}
	return b.push(ctx, where)
}

// pushedFile is a commit of a file with one line.
const pushedFile = `set -e; cd "$1/go.git"; blob=$(echo "$2" | git hash-object -w --stdin)
		GIT_INDEX_FILE=$1/pushed; export GIT_INDEX_FILE; git read-tree HEAD
		git update-index --add --cacheinfo "100644,$blob,pushed"; tree=$(git write-tree)
		commit=$(git -c user.name=a -c user.email=a@b commit-tree -p HEAD -m push "$tree")
		git update-ref HEAD "$commit"`

// push measures the first search after a push, which has to find it, and how long the push takes to get into the index:
// then a segment is new.
func (b *searchBench) push(ctx context.Context, where string) error {
	rounds := min(b.rounds, 10)
	found, indexed := make([]time.Duration, rounds), make([]time.Duration, rounds)
	for i := range rounds {
		line := fmt.Sprintf("pushed%dz%d", i, time.Now().UnixNano()) // the repository has those of earlier runs
		before, err := b.segments()
		if err == nil {
			_, err = shell(ctx, isolated(), pushedFile, b.root, line)
		}
		if err != nil {
			return err
		}
		started := time.Now()
		text, err := b.find(map[string]any{"query": line, "syntax": "text"})
		if found[i] = time.Since(started); err != nil || !strings.Contains(text, line) {
			return errors.Join(err, fmt.Errorf("push %d is not found: %s", i, text))
		}
		for now := before; slices.Equal(now, before); time.Sleep(time.Millisecond) {
			if now, err = b.segments(); err != nil || time.Since(started) > quietTime {
				return errors.Join(err, fmt.Errorf("push %d is not in the index after %v", i, time.Since(started)))
			}
		}
		indexed[i] = time.Since(started)
	}
	printRow(where, "a line that was just pushed", found)
	printRow(where, "from the push to the index", indexed)
	return nil
}

// segments returns the files of the index.
func (b *searchBench) segments() ([]string, error) {
	return filepath.Glob(filepath.Join(b.index, "*.segment"))
}

// makeHistory makes a mirror of the repository with the history.
func (b *searchBench) makeHistory(ctx context.Context) error {
	const clone = `test -e "$1/history.git" || git clone -q --bare "$2" "$1/history.git"`
	_, err := shell(ctx, isolated(), clone, b.root, b.source)
	return err
}

const (
	// maxCommits bounds the commits of a history that are searched.
	maxCommits = 5000
	// settled is the pass after the index has got everything.
	settled = "settled"
)

// searchHistory searches for a needle in commits of the first-parent history, from the newest on, three times. Only the
// files of branches and tags are in the index when it begins, and those of all commits before the last time.
func (b *searchBench) searchHistory(ctx context.Context, where string) error {
	list, err := shell(ctx, isolated(), `git -C "$1/history.git" rev-list --first-parent -n "$2" HEAD`, b.root,
		strconv.Itoa(maxCommits))
	if err != nil {
		return err
	}
	commits := strings.Fields(list)
	for _, pass := range []string{"first", "second", settled} {
		if pass == settled {
			if _, err := b.waitForIndex(ctx); err != nil {
				return err
			}
		}
		name := fmt.Sprintf("a needle that is nowhere, in each of %d commits, %s pass", len(commits), pass)
		err := row(where, name, len(commits), func(i int) error {
			_, err := b.find(map[string]any{"query": "zzyzx" + pass, "syntax": "text", "ref": commits[i]})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// frequentWords are each in hundreds of files of Go's tree at least.
var frequentWords = strings.Fields("reader writer error context buffer parse string time file name value type read " +
	"write close open path token index length")

// quietTime is how long the folder of an index does not change when it is built.
const quietTime = 5 * time.Second

// waitForIndex waits until the index is built, and returns the size of its files.
func (b *searchBench) waitForIndex(ctx context.Context) (bytes int64, err error) {
	seen, since := "", time.Now()
	for time.Since(since) < quietTime || bytes == 0 {
		now, err := shell(ctx, nil, `cd "$1" && ls -l --time-style=full-iso && du -sb . | cut -f 1`, b.index)
		if err != nil {
			return 0, err
		}
		if now != seen {
			seen, since = now, time.Now()
		}
		lines := strings.Fields(now)
		if bytes, err = strconv.ParseInt(lines[len(lines)-1], 10, 64); err != nil {
			return 0, err
		}
		if !strings.Contains(now, ".segment") {
			bytes = 0
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(quietTime / 10):
		}
	}
	return bytes, nil
}

// find calls search_code, and returns the first text of its result.
func (b *searchBench) find(arguments map[string]any) (string, error) {
	var result toolResult
	err := b.server.call("tools/call", map[string]any{"name": "search_code", "arguments": arguments}, &result)
	if err == nil && result.IsError {
		err = errors.New(result.Content[0].Text)
	}
	if err != nil {
		return "", err
	}
	return result.Content[0].Text, nil
}

// row prints how long calls of do take.
func row(where, name string, rounds int, do func(i int) error) error {
	times := make([]time.Duration, rounds)
	for i := range times {
		started := time.Now()
		if err := do(i); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		times[i] = time.Since(started)
	}
	printRow(where, name, times)
	return nil
}

func printRow(where, name string, times []time.Duration) {
	slices.Sort(times)
	sum := time.Duration(0)
	for _, t := range times {
		sum += t
	}
	n := len(times)
	shown := func(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
	fmt.Printf("| %s | %s | %s | %s | %s | %s |\n", where, name, shown(times[n/2]), shown(sum/time.Duration(n)),
		shown(times[n*19/20]), shown(times[n-1]))
}

// load returns the machine's, of 1, 5 and 15 minutes.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
