package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// suite is one run of the benchmark.
type suite struct {
	settings settings
	programs programs
	git      string // version
	build    string // folder of the program under test
	log      io.Writer
	start    time.Time
}

// newSuite builds the program under test.
func newSuite(ctx context.Context, s settings, log io.Writer) (*suite, error) {
	b := &suite{settings: s, log: log, start: time.Now()}
	var err error
	if b.git, err = gitOutput(ctx, "", "version"); err != nil {
		return nil, err
	}
	if b.programs.self, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	b.programs.pigz, b.programs.zstd = find("pigz"), find("zstd")
	if b.build, err = os.MkdirTemp("", "repomcp-bench-"); err != nil {
		return nil, err
	}
	b.programs.repomcp = filepath.Join(b.build, "repomcp")
	b.progress("building repomcp")
	build := exec.CommandContext(ctx, "go", "build", "-o", b.programs.repomcp, "github.com/repomcp/repomcp/cmd/repomcp") //nolint:gosec // a path of this program's own
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("go build: %w\n%s", err, out), os.RemoveAll(b.build))
	}
	return b, nil
}

// close removes the folder, which has only the program in it.
func (b *suite) close() { _ = os.RemoveAll(b.build) } //nolint:gosec // a folder of its own

// progress tells the person who waits; the report does not depend on it.
func (b *suite) progress(text string) {
	_, _ = fmt.Fprintf(b.log, "%7.1f s  %s\n", time.Since(b.start).Seconds(), text)
}

// measure goes through the selected repositories. All are generated before the
// first measurement, so that a run is not cut short by a full disk.
func (b *suite) measure(ctx context.Context) (results, error) {
	selected, err := b.prepare(ctx)
	if err != nil {
		return results{}, err
	}
	r := results{git: b.git}
	for _, c := range selected {
		found, err := b.repository(ctx, c)
		if err != nil {
			return r, fmt.Errorf("%s: %w", c.title, err)
		}
		r.repositories = append(r.repositories, found)
	}
	r.took = time.Since(b.start)
	return r, nil
}

func (b *suite) prepare(ctx context.Context) ([]corpus, error) {
	var selected []corpus
	for _, c := range corpora(b.settings) {
		if !b.settings.wants(c.key) && (c.key != keyTree || !b.settings.wants(keyCrowd) && !b.settings.wants(keySearch)) {
			continue
		}
		if err := c.prepare(ctx, b.settings, b.git, b.progress); err != nil {
			return nil, err
		}
		selected = append(selected, c)
	}
	return selected, nil
}

// repository measures all that is to be known about one repository.
func (b *suite) repository(ctx context.Context, c corpus) (found repository, err error) {
	b.progress(c.title)
	f := field{programs: b.programs, corpus: c}
	found = repository{corpus: c, crowds: map[int]series{}}
	if found.facts, err = b.inspect(ctx, f); err != nil {
		return found, err
	}
	if f.server, err = startServer(ctx, b.programs.repomcp, c.root); err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, f.server.stop()) }()
	// What is measured is a server in use.
	if _, err := f.download(1)(ctx); err != nil {
		return found, err
	}
	rounds := b.settings.scale.rounds
	if c.long {
		rounds = b.settings.scale.longRounds
	}
	if b.settings.wants(c.key) {
		if found.archives, err = interleave(ctx, rounds, f.archives(), b.progress); err != nil {
			return found, err
		}
		if c.blobs {
			if found.readers, err = interleave(ctx, rounds, f.readers(), b.progress); err != nil {
				return found, err
			}
		}
	}
	if c.key == keyTree && b.settings.wants(keyCrowd) {
		if err := b.crowds(ctx, f, found.crowds); err != nil {
			return found, err
		}
	}
	if c.key == keyTree && b.settings.wants(keySearch) {
		found.searches, err = b.searches(ctx, f)
	}
	return found, err
}

func (b *suite) crowds(ctx context.Context, f field, found map[int]series) (err error) {
	for _, n := range b.settings.scale.crowds {
		b.progress(fmt.Sprintf("%d archives at once", n))
		if found[n], err = interleave(ctx, b.settings.scale.longRounds, f.crowd(n), b.progress); err != nil {
			return err
		}
	}
	return nil
}

// inspect finds what a repository holds and whether both programs make the
// same tar of it. It is the first to read it, so that everything is in the page
// cache afterwards.
func (b *suite) inspect(ctx context.Context, f field) (facts, error) {
	var found facts
	theirs, n, err := digest(ctx, f.git("tar"))
	if err != nil {
		return found, err
	}
	ours, _, err := digest(ctx, f.own("tar"))
	if err != nil {
		return found, err
	}
	found.tarBytes, found.same = n, ours == theirs
	listing, err := gitOutput(ctx, f.corpus.dir(), "ls-tree", "-r", "--name-only", "HEAD")
	if err != nil {
		return found, err
	}
	found.files = strings.Count(listing, "\n") + 1
	counts, err := gitOutput(ctx, f.corpus.dir(), "count-objects", "-v")
	if err != nil {
		return found, err
	}
	for line := range strings.Lines(counts) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		count, err := strconv.Atoi(value)
		if err == nil && (name == "count" || name == "in-pack") {
			found.objects += count
		}
	}
	return found, nil
}

// digest runs a process for what it writes.
func digest(ctx context.Context, s stage) (sum [sha256.Size]byte, n int64, err error) {
	cmd, hash, said := s.command(ctx), sha256.New(), &complaint{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return sum, 0, err
	}
	if err := cmd.Start(); err != nil {
		return sum, 0, err
	}
	n, err = io.Copy(hash, bufio.NewReaderSize(out, readBufferBytes))
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return sum, 0, fmt.Errorf("%s: %w: %s", s.path, err, said)
	}
	return [sha256.Size]byte(hash.Sum(nil)), n, nil
}
