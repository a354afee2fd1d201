package history

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/mailmap"
)

const (
	// MaxBlameBytes bounds the size of a blamed file, in all of its versions: hundreds of thousands
	// of lines.
	MaxBlameBytes = 16 << 20
	// MaxBlameLines bounds its lines: comparing two versions takes some 100 bytes of memory per
	// line.
	MaxBlameLines = 500_000
	// maxBlamedBytes bounds the commits of a result.
	maxBlamedBytes = 64 << 20
	// MaxBlameCommits bounds the examined commits: some seconds of work, and more than the longest
	// path through the history of Linux.
	MaxBlameCommits = 500_000
)

// BlameOptions select the blamed lines.
type BlameOptions struct {
	Commit git.ID
	Path   string
	// First and Last bound the lines, counted from 1, inclusive. 0 means the first or last line of
	// the file; so does a Last beyond the end.
	First, Last int
	// Mailmap maps people to their names; nil leaves names unchanged.
	Mailmap *mailmap.Map
	// MaxCommits bounds the examined commits; 0 means [MaxBlameCommits].
	MaxCommits int
}

// BlameResult is the origin of lines.
type BlameResult struct {
	// Lines is the number of lines of the whole file.
	Lines int
	// Text is the content of the requested lines.
	Text []byte
	// Ranges are in the order of the lines and cover all requested lines.
	Ranges []BlameRange
	// Commits contains every commit of the ranges.
	Commits map[git.ID]Commit
}

// BlameRange is a run of lines that are contiguous in one version of the file.
type BlameRange struct {
	// Line is the first line of the run, counted from 1.
	Line int
	// Count is the number of lines.
	Count int
	// Commit introduced the lines.
	Commit git.ID
	// Path and Original are the name of the file in that commit, and the number of the run's first
	// line there.
	Path     string
	Original int
	// Boundary reports that the commit has no parents that could have had the lines.
	Boundary bool
	// Previous is the version before the commit, nil if the file was new.
	Previous *Version
}

// Version is a file in a commit.
type Version struct {
	Commit git.ID
	Path   string
}

// Blame finds the commits that lines of a file come from, across renames, like `git blame
// --porcelain`. It applies no textconv filter.
//
// A path that is no file is [git.ErrNotFound], and a range outside of the file
// [git.ErrInvalid]. [git.ErrTooLarge] means that the file or its history exceeds the limits:
// fewer lines may need less history.
func Blame(ctx context.Context, snapshot *git.Snapshot, cache *Cache, o BlameOptions) (BlameResult, error) {
	limit, err := parseLimit(o.Path)
	if err != nil {
		return BlameResult{}, err
	}
	o.MaxCommits = cmp.Or(o.MaxCommits, MaxBlameCommits)
	return withCommitGraph(ctx, snapshot, cache, func(s *source) (BlameResult, error) {
		s.people = o.Mailmap
		return o.blame(s, limit.path)
	})
}

func (o *BlameOptions) blame(s *source, path string) (BlameResult, error) {
	t := &tracer{
		source: s, left: o.MaxCommits, contents: lru.New[git.ID, []byte](maxContents),
		revisions: make(map[version]*revision),
	}
	newest, err := t.begin(version{s.number(o.Commit), path})
	if err != nil {
		return BlameResult{}, err
	}
	content, err := t.read(newest.id)
	if err != nil {
		return BlameResult{}, err
	}
	result, requested, err := o.cut(content)
	if err != nil || requested.count == 0 {
		return result, err
	}
	t.add(newest, []segment{requested})
	if err := t.run(); err != nil {
		return BlameResult{}, err
	}
	return result, t.report(&result)
}

// cut applies the range to the file's content.
func (o *BlameOptions) cut(content []byte) (result BlameResult, requested segment, err error) {
	starts := lineStarts(content)
	result.Lines = len(starts) - 1
	first, last := max(o.First, 1), o.Last
	if last <= 0 || last > result.Lines {
		last = result.Lines
	}
	if result.Lines == 0 && o.First <= 1 && o.Last <= 0 {
		return result, segment{}, nil
	}
	if first > last {
		return BlameResult{}, segment{}, fmt.Errorf("lines %d to %d of a file of %d: %w",
			first, o.Last, result.Lines, git.ErrInvalid)
	}
	result.Text = content[starts[first-1]:starts[last]]
	return result, segment{line: first - 1, original: first - 1, count: last - first + 1}, nil
}

// lineStarts returns the offsets of lines, followed by the end.
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

// report sorts the attributions by line, joins adjacent runs of one origin, and reads the commits.
func (t *tracer) report(result *BlameResult) error {
	slices.SortFunc(t.attributions, func(x, y attribution) int { return x.line - y.line })
	result.Commits = make(map[git.ID]Commit)
	bytes := 0
	for _, a := range t.attributions {
		next := t.blameRange(a)
		if n := len(result.Ranges); n > 0 && result.Ranges[n-1].continuedBy(next) {
			result.Ranges[n-1].Count += a.count
			continue
		}
		result.Ranges = append(result.Ranges, next)
		if _, known := result.Commits[next.Commit]; known {
			continue
		}
		commit, err := t.source.commit(next.Commit)
		if err != nil {
			return err
		}
		if bytes += commit.stored; bytes > maxBlamedBytes {
			return fmt.Errorf("the commits have more than %d bytes; ask for fewer lines: %w",
				maxBlamedBytes, git.ErrTooLarge)
		}
		result.Commits[commit.ID] = commit
	}
	return nil
}

func (r BlameRange) continuedBy(next BlameRange) bool {
	return r.Commit == next.Commit && r.Path == next.Path &&
		r.Original+r.Count == next.Original && r.Line+r.Count == next.Line
}

func (t *tracer) blameRange(a attribution) BlameRange {
	r := BlameRange{
		Line: a.line + 1, Count: a.count, Original: a.original + 1,
		Commit: t.source.id(a.revision.commit), Path: a.revision.path, Boundary: len(a.revision.parents) == 0,
	}
	if a.previous != nil {
		r.Previous = &Version{t.source.id(a.previous.commit), a.previous.path}
	}
	return r
}
