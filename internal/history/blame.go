package history

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/mailmap"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// MaxBlameBytes is the largest file that is blamed, in any of its versions:
	// hundreds of thousands of lines.
	MaxBlameBytes = 16 << 20
	// MaxBlameLines is the number of lines that it may have: comparing two
	// versions takes some 100 bytes of memory for each.
	MaxBlameLines = 500_000
	// maxBlamedBytes bounds the commits of a result.
	maxBlamedBytes = 64 << 20
	// MaxBlameCommits is how many commits are looked at before a blame gives up:
	// some seconds of work, and more than lie between the two ends of Linux.
	MaxBlameCommits = 500_000
)

// BlameOptions say which lines are blamed.
type BlameOptions struct {
	Commit repos.ID
	Path   string
	// First and Last bound the lines, counted from 1 and both included. 0 means
	// the first and the last line of the file; a Last beyond the end as well.
	First, Last int
	// Mailmap says what people are called; nil leaves names as they are.
	Mailmap *mailmap.Map
	// MaxCommits is how many commits are looked at at most; 0 is
	// [MaxBlameCommits].
	MaxCommits int
}

// BlameResult says where lines come from.
type BlameResult struct {
	// Lines is how many the whole file has.
	Lines int
	// Text is the content of the lines that were asked for.
	Text []byte
	// Ranges are in the order of the lines and cover all that were asked for.
	Ranges []BlameRange
	// Commits has every commit of the ranges.
	Commits map[repos.ID]Commit
}

// BlameRange is a run of lines that are one run in one version of the file.
type BlameRange struct {
	// Line is the first line of the run, counted from 1.
	Line int
	// Count is the number of lines.
	Count int
	// Commit has put the lines there.
	Commit repos.ID
	// Path and Original are what the file was called in that commit, and which
	// line of it was the first of the run.
	Path     string
	Original int
	// Boundary says that the commit has no parents that could have had the
	// lines before.
	Boundary bool
	// Previous is the version before the commit, nil when the file was new.
	Previous *Version
}

// Version is a file in a commit.
type Version struct {
	Commit repos.ID
	Path   string
}

// Blame finds the commits that lines of a file come from, following the file
// when it was renamed: what `git blame --porcelain` says. What a textconv filter
// would change is not changed.
//
// A path that is no file is [repos.ErrNotFound], a range outside of the file
// [repos.ErrInvalid], and [repos.ErrTooLarge] says that the file or its history
// is beyond the limits: a range of fewer lines may need less of the history.
func Blame(ctx context.Context, snapshot *repos.Snapshot, facts *Facts, o BlameOptions) (BlameResult, error) {
	limit, err := parseLimit(o.Path)
	if err != nil {
		return BlameResult{}, err
	}
	if o.MaxCommits <= 0 {
		o.MaxCommits = MaxBlameCommits
	}
	return walking(ctx, snapshot, facts, func(s *source) (BlameResult, error) {
		s.people = o.Mailmap
		return o.blame(s, limit.path)
	})
}

func (o *BlameOptions) blame(s *source, path string) (BlameResult, error) {
	b := &board{source: s, left: o.MaxCommits, blobs: blobs{source: s}, commits: make(map[repos.ID]*suspect)}
	start, err := b.start(o.Commit, path)
	if err != nil {
		return BlameResult{}, err
	}
	content, err := b.content(start)
	if err != nil {
		return BlameResult{}, err
	}
	result, wanted, err := o.cut(content)
	if err != nil || wanted.count == 0 {
		return result, err
	}
	b.give(start, []share{wanted})
	if err := b.run(); err != nil {
		return BlameResult{}, err
	}
	return result, b.report(&result)
}

// cut applies the range to the file's content.
func (o *BlameOptions) cut(content []byte) (result BlameResult, wanted share, err error) {
	starts := lineStarts(content)
	result.Lines = len(starts) - 1
	first, last := max(o.First, 1), o.Last
	if last <= 0 || last > result.Lines {
		last = result.Lines
	}
	if result.Lines == 0 && o.First <= 1 && o.Last <= 0 {
		return result, share{}, nil
	}
	if first > last {
		return BlameResult{}, share{}, fmt.Errorf("lines %d to %d of a file of %d: %w", first, o.Last, result.Lines, repos.ErrInvalid)
	}
	result.Text = content[starts[first-1]:starts[last]]
	return result, share{line: first - 1, original: first - 1, count: last - first + 1}, nil
}

// lineStarts gives where lines begin, and the end.
func lineStarts(content []byte) []int {
	starts := []int{0}
	for at := 0; at < len(content); {
		n := bytes.IndexByte(content[at:], '\n') + 1
		if n == 0 {
			n = len(content) - at
		}
		at += n
		starts = append(starts, at)
	}
	return starts
}

// report puts what was found in order, joins runs that belong together,
// and reads the commits.
func (b *board) report(result *BlameResult) error {
	slices.SortFunc(b.found, func(x, y verdict) int { return x.line - y.line })
	result.Commits = make(map[repos.ID]Commit)
	bytes := 0
	for _, v := range b.found {
		if n := len(result.Ranges); n > 0 && result.Ranges[n-1].continued(v) {
			result.Ranges[n-1].Count += v.count
			continue
		}
		result.Ranges = append(result.Ranges, v.blameRange())
		if _, known := result.Commits[v.by.commit.id]; known {
			continue
		}
		commit, err := b.source.commit(v.by.commit.id)
		if err != nil {
			return err
		}
		if bytes += commit.stored; bytes > maxBlamedBytes {
			return fmt.Errorf("the commits have more than %d bytes; ask for fewer lines: %w", maxBlamedBytes, repos.ErrTooLarge)
		}
		result.Commits[commit.ID] = commit
	}
	return nil
}

func (r BlameRange) continued(v verdict) bool {
	return r.Commit == v.by.commit.id && r.Path == v.by.path && r.Original+r.Count == v.original+1 && r.Line+r.Count == v.line+1
}

func (v verdict) blameRange() BlameRange {
	r := BlameRange{
		Line: v.line + 1, Count: v.count, Original: v.original + 1,
		Commit: v.by.commit.id, Path: v.by.path, Boundary: len(v.by.commit.parents) == 0,
	}
	if p := v.by.previous; p != nil {
		r.Previous = &Version{Commit: p.commit.id, Path: p.path}
	}
	return r
}
