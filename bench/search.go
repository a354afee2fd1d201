//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
	set.StringVar(&b.work, "dir", filepath.Join(os.TempDir(), "repomcp-bench-search"), "folder that keeps what is generated")
	if err := set.Parse(args); err != nil {
		return err
	}
	const build = `set -e; mkdir -p "$1"; CGO_ENABLED=0 go build -trimpath -o "$1/repomcp" github.com/repomcp/repomcp/cmd/repomcp`
	if _, err := shell(ctx, nil, build, b.work); err != nil {
		return err
	}
	fmt.Println("| where | search | median | 95 of 100 | slowest |")
	fmt.Println("|---|---|---|---|---|")
	for _, place := range []struct{ name, script, argument string }{
		{"go", goMirror, ""}, {"many", manyMirrors, strconv.Itoa(b.repositories)},
	} {
		b.root, b.index = filepath.Join(b.work, place.name), filepath.Join(b.work, place.name+".index")
		if _, err := shell(ctx, nil, place.script, b.root, place.argument); err != nil {
			return err
		}
		if err := b.measure(ctx, place.name); err != nil {
			return fmt.Errorf("%s: %w", place.name, err)
		}
	}
	return nil
}

const (
	// goMirror makes a mirror of the source tree of Go in a folder.
	goMirror = `set -e; test -e "$1/go.git" && exit; mkdir -p "$1"; rm -rf "$1.tree"; cp -r "$(go env GOROOT)" "$1.tree"
		chmod -R u+w "$1.tree"; cd "$1.tree"; rm -rf .git pkg/tool; git init -q -b main; git add -A
		git -c user.name=a -c user.email=a@b -c gc.auto=0 commit -q -m go
		git clone -q --bare . "$1.new"; mv "$1.new" "$1/go.git"; rm -rf "$1.tree"`
	// manyMirrors makes repositories of files of Go's library, each with lines of its own.
	manyMirrors = `set -e; test -e "$1.done" && exit; rm -rf "$1"; mkdir -p "$1"; source="$(go env GOROOT)/src"
		find "$source" -name '*.go' -size +3 -size -60 | sort > "$1.files"; total=$(wc -l < "$1.files")
		git init -q --bare -b main "$1.template"; rm -rf "$1.template/hooks"
		for i in $(seq "$2"); do
			target="$1/g$((i / 100))/r$i.git"; mkdir -p "$1/g$((i / 100))"; cp -r "$1.template" "$target"
			{
				printf 'commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 1\nx\n'
				for n in $(seq 16); do
					file=$(sed -n "$(( (i * 16 + n) * 7919 % total + 1 ))p" "$1.files")
					header="// unique${i}x$n"
					printf 'M 100644 inline %s\ndata %s\n%s\n' "${file#"$source/"}" \
						"$(( $(wc -c < "$file") + ${#header} + 1 ))" "$header"
					cat "$file"; printf '\n'
				done
			} | git -C "$target" fast-import --quiet
		done; touch "$1.done"`
)

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
			return map[string]any{"query": fmt.Sprintf("how does the %s handle a %s", frequentWords[i%len(frequentWords)],
				frequentWords[(i+5)%len(frequentWords)])}
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
	if where != "go" {
		return nil
	}
	return row(where, "`git grep`, a needle that is nowhere", min(b.rounds, 10), func(i int) error {
		_, err := shell(ctx, isolated(), `git -C "$1/go.git" grep -n -I -F "zzyzx$2q" HEAD || test $? = 1`, b.root,
			strconv.Itoa(i))
		return err
	})
}
