//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
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
	repositories      int
	rounds            int
	server            *stdioServer
}

// runSearch measures searches in the source tree of Go, and in many small repositories that it generates of it, and
// prints a table.
func runSearch(ctx context.Context, args []string) (err error) {
	set := flag.NewFlagSet("bench search", flag.ContinueOnError)
	var b searchBench
	set.IntVar(&b.repositories, "repositories", 10_000, "number of small repositories, of 200 KB each")
	set.IntVar(&b.rounds, "rounds", 40, "different searches of each kind")
	set.StringVar(&b.work, "dir", filepath.Join(os.TempDir(), "repomcp-bench-search"),
		"folder that keeps what is generated")
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
	fmt.Println("| where | search | median | 95 of 100 | slowest |")
	fmt.Println("|---|---|---|---|---|")
	for _, place := range []struct {
		name    string
		prepare func(context.Context) error
	}{{"go", b.makeGo}, {fmt.Sprintf("%d repositories", b.repositories), b.makeMany}} {
		b.root = filepath.Join(b.work, strings.Fields(place.name)[0])
		b.index = b.root + ".index"
		if err := place.prepare(ctx); err != nil {
			return err
		}
		if err := b.measure(ctx, place.name); err != nil {
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
func (b *searchBench) measure(ctx context.Context, where string) (err error) {
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
	fmt.Printf("| %s | built in %.0f s, %.0f s of processors, %d MiB | | | |\n", where,
		time.Since(started).Seconds(), clock.Seconds(), bytes>>20)
	for _, k := range []struct {
		name      string
		arguments func(i int) map[string]any
	}{
		{"a needle that is nowhere", func(i int) map[string]any {
			return map[string]any{"query": fmt.Sprintf("zzyzx%dq", i), "syntax": "text", "sort": "path"}
		}},
		{"a needle that is rare", func(i int) map[string]any {
			return map[string]any{"query": fmt.Sprintf("unique%dx3", 7*i+1), "syntax": "text", "sort": "path"}
		}},
		{"a frequent word, ranked", func(i int) map[string]any {
			return map[string]any{"query": frequentWords[i%len(frequentWords)]}
		}},
		{"a question, ranked", func(i int) map[string]any {
			return map[string]any{"query": fmt.Sprintf("how does the %s handle a %s",
				frequentWords[i%len(frequentWords)], frequentWords[(i+5)%len(frequentWords)])}
		}},
		{"an expression", func(i int) map[string]any {
			return map[string]any{"query": fmt.Sprintf("func [A-Z]%c[a-z]+\\(ctx.*error", 'a'+i%26), "syntax": "regexp",
				"sort": "path"}
		}},
	} {
		if err := b.ask(where, k.name, k.arguments); err != nil {
			return err
		}
	}
	return b.compare(ctx, where)
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

// ask times different searches of a kind, and prints a row.
func (b *searchBench) ask(where, name string, arguments func(i int) map[string]any) error {
	return row(where, name, b.rounds, func(i int) error {
		var result toolResult
		err := b.server.call("tools/call", map[string]any{"name": "search_code", "arguments": arguments(i)}, &result)
		if err == nil && result.IsError {
			err = errors.New(result.Content[0].Text)
		}
		return err
	})
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
	slices.Sort(times)
	shown := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
	fmt.Printf("| %s | %s | %s | %s | %s |\n", where, name, shown(times[rounds/2]), shown(times[rounds*19/20]),
		shown(times[rounds-1]))
	return nil
}

// compare measures git grep in the single repository.
func (b *searchBench) compare(ctx context.Context, where string) error {
	if where != "go" { // the others are too many for it
		return nil
	}
	return row(where, "`git grep`, a needle that is nowhere", min(b.rounds, 10), func(i int) error {
		_, err := shell(ctx, isolated(), `git -C "$1/go.git" grep -n -I -F "zzyzx$2q" HEAD || test $? = 1`, b.root,
			strconv.Itoa(i))
		return err
	})
}

// load returns the machine's, of 1, 5 and 15 minutes.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
