package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/archive/workers"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

// wanting is one thing that is searched for, as git is asked and as repomcp is.
type wanting struct {
	key   string // of the hidden mode
	title string
	git   []string
	also  []string // another way to ask git, or nil
	term  pattern.Term
}

// wantings are the searches that the issue names.
func wantings() []wanting {
	const methods = `func \([a-z]+ \*[A-Z][A-Za-z]*\) (Read|Write)[A-Z]`
	return []wanting{
		{"rare", "a rare text, `must be a non-nil`", []string{"-e", "must be a non-nil"}, nil, pattern.Term{Text: "must be a non-nil"}},
		{"common", "a common text, `return`", []string{"-e", "return"}, nil, pattern.Term{Text: "return"}},
		{"expression", "an expression, `" + strings.ReplaceAll(methods, "|", `\|`) + "`", []string{"-E", "-e", methods}, []string{"-P", "-e", methods},
			pattern.Term{Text: methods, Regexp: true}},
	}
}

// Names of the contestants of a search.
const (
	gitGrep    = "`git grep -n -I`"
	gitGrepP   = "`git grep -n -I -P`"
	ownSearch  = "repomcp, a process of its own"
	ownCold    = "repomcp, nothing remembered"
	ownWarm    = "repomcp, searched before"
	searchPeer = "repomcp-search-"
)

// searched is what was found about one wanting.
type searched struct {
	wanting
	series series
	lines  int
	same   bool // git and repomcp find the same lines
}

// unlimited lets a search find all that git does.
var unlimited = search.Limits{Lines: math.MaxInt, OutputBytes: math.MaxInt, ReadBytes: math.MaxInt64, Time: time.Hour}

// searchFileBytes is above every file of the corpus: git skips none for its size.
const searchFileBytes = 256 << 20

// searcher is a server's part that searches, with the repository open.
type searcher struct {
	catalogue *repos.Catalogue
	scheduler *workers.Scheduler
	search    *search.Searcher
}

func newSearcher(dir string) (*searcher, error) {
	catalogue, err := repos.Open(filepath.Dir(dir), repos.Options{})
	if err != nil {
		return nil, err
	}
	s := &searcher{catalogue: catalogue, scheduler: workers.New(0)}
	s.forget()
	return s, nil
}

// forget empties the cache of answers. Packs stay open, as in a server in use.
func (s *searcher) forget() {
	s.search = search.New(s.catalogue, s.scheduler, search.Options{FileBytes: searchFileBytes})
}

func (s *searcher) close() error {
	s.scheduler.Close()
	return s.catalogue.Close()
}

// write searches HEAD and writes what it finds as git grep -n does.
func (s *searcher) write(ctx context.Context, t pattern.Term, w io.Writer) error {
	query := search.Query{Terms: []pattern.Term{t}, Case: pattern.Sensitive, Repositories: search.Choice{Any: []string{repositoryName}}}
	result, err := s.search.Search(ctx, search.Request{Query: query, Limits: unlimited})
	if err != nil {
		return err
	}
	if len(result.Problems) > 0 {
		return result.Problems[0].Err
	}
	b := bufio.NewWriterSize(w, readBufferBytes)
	for _, f := range result.Files {
		for i := range f.Lines {
			l := &f.Lines[i]
			_, _ = b.WriteString("HEAD:")
			_, _ = b.WriteString(f.Path)
			_ = b.WriteByte(':')
			_, _ = b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(l.Number), 10))
			_ = b.WriteByte(':')
			_, _ = b.WriteString(l.Text)
			_ = b.WriteByte('\n')
		}
	}
	return b.Flush() // gives the error of all writes
}

// ownSearchHEAD is the contestant in a process of its own.
func ownSearchHEAD(ctx context.Context, dir, key string, stdout io.Writer) error {
	for _, want := range wantings() {
		if want.key != key {
			continue
		}
		s, err := newSearcher(dir)
		if err != nil {
			return err
		}
		return errors.Join(s.write(ctx, want.term, stdout), s.close())
	}
	return fmt.Errorf("there is no search %q", key)
}

// searches measures all wantings on one repository.
func (b *suite) searches(ctx context.Context, f field) (found []searched, err error) {
	s, err := newSearcher(f.corpus.dir())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, want := range wantings() {
		b.progress("searching for " + want.title)
		one := searched{wanting: want}
		if one.lines, one.same, err = s.compare(ctx, f, want); err != nil {
			return nil, err
		}
		if one.series, err = interleave(ctx, b.settings.scale.rounds, f.searchers(s, want), b.progress); err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, nil
}

// searchers are the contestants. The last two are in this process, which stands
// for a server: what they cost is the search and writing what it found.
func (f field) searchers(s *searcher, want wanting) []contestant {
	grep := func(arguments []string) stage {
		return stage{"git", append(append([]string{"--git-dir", f.corpus.dir(), "grep", "-n", "-I"}, arguments...), "HEAD")}
	}
	list := []contestant{
		f.process(gitGrep, grep(want.git)),
		f.peer(ownSearch, searchPeer+want.key),
		{name: ownCold, run: func(ctx context.Context) (usage, error) {
			s.forget()
			return s.measure(ctx, want.term)
		}},
		{name: ownWarm, run: func(ctx context.Context) (usage, error) {
			if _, err := s.measure(ctx, want.term); err != nil { // whatever the round's order is
				return usage{}, err
			}
			return s.measure(ctx, want.term)
		}},
	}
	if want.also != nil {
		list = append(list, f.process(gitGrepP, grep(want.also)))
	}
	return list
}

// measure searches in this process. What others left for the collector is not
// its concern.
func (s *searcher) measure(ctx context.Context, t pattern.Term) (usage, error) {
	runtime.GC()
	var counted counter
	before, err := ownClock()
	if err != nil {
		return usage{}, err
	}
	start := time.Now()
	err = s.write(ctx, t, &counted)
	u := usage{wall: time.Since(start), bytes: int64(counted)}
	after, failed := ownClock()
	u.first, u.cpu = u.wall, after-before
	return u, errors.Join(err, failed)
}

// counter counts what is written.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// compare looks once whether git finds the same lines of the same files. Texts
// are left out: long lines are cut, and an end of CR LF is not shown.
func (s *searcher) compare(ctx context.Context, f field, want wanting) (lines int, same bool, err error) {
	var ours bytes.Buffer
	if err := s.write(ctx, want.term, &ours); err != nil {
		return 0, false, err
	}
	cmd := exec.CommandContext(ctx, "git", append(append([]string{"--git-dir", f.corpus.dir(), "grep", "-n", "-I"}, want.git...), "HEAD")...) //nolint:gosec // its own repository
	cmd.Env = isolated()
	theirs, err := cmd.Output()
	if err != nil {
		return 0, false, fmt.Errorf("git grep: %w", err)
	}
	return bytes.Count(ours.Bytes(), newline), placesSum(ours.Bytes()) == placesSum(theirs), nil
}

var newline = []byte{'\n'}

// placesSum is a digest of "HEAD:path:number" of all lines. No path of the corpus
// has a colon.
func placesSum(output []byte) [sha256.Size]byte {
	sum := sha256.New()
	for line := range bytes.Lines(output) {
		fields := bytes.SplitN(line, []byte{':'}, 4)
		sum.Write(bytes.Join(fields[:min(3, len(fields))], []byte{':'}))
		sum.Write(newline)
	}
	return [sha256.Size]byte(sum.Sum(nil))
}
