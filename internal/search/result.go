package search

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

// Request is a search.
type Request struct {
	Query Query
	// Ref is the revision, as for [git.Snapshot.Resolve]; the default branch
	// when empty. Of several repositories those that lack it are left out.
	Ref string
	// Before and After are how many lines come with each matching one, at most
	// MaxContext.
	Before, After int
	Limits        Limits
	// Cursor is where another search of the same query and ref stopped.
	Cursor string
}

// MaxContext bounds the lines of context on each side: more is reading the file.
const MaxContext = 20

// Limits bound one call. A zero field means its default.
type Limits struct {
	Lines       int           // matching lines
	OutputBytes int           // of texts and paths
	Files       int           // that are searched
	ReadBytes   int64         // of files that the cache does not know
	Time        time.Duration // checked between files
}

// The defaults of [Limits].
const (
	DefaultLines       = 100
	DefaultOutputBytes = 256 << 10
	DefaultFiles       = math.MaxInt
	// DefaultReadBytes is several times a large source tree, and some seconds.
	DefaultReadBytes = 1 << 30
	// DefaultTime is less than clients wait for an answer.
	DefaultTime = 10 * time.Second
)

func (l Limits) withDefaults() Limits {
	return Limits{
		Lines:       cmp.Or(l.Lines, DefaultLines),
		OutputBytes: cmp.Or(l.OutputBytes, DefaultOutputBytes),
		Files:       cmp.Or(l.Files, DefaultFiles),
		ReadBytes:   cmp.Or(l.ReadBytes, DefaultReadBytes),
		Time:        cmp.Or(l.Time, DefaultTime),
	}
}

// Result is what a search found until it was done or stopped.
type Result struct {
	Files []File
	// Lines is the number of matching lines in Files.
	Lines  int
	Counts Counts
	// Stopped is why the search is not done; "" when it is. Cursor goes on.
	Stopped Stop
	Cursor  string
	// Problems are what could not be searched, at most maxProblems.
	Problems []Problem
}

// Stop is the limit that ended a search.
type Stop string

// The limits that a search can reach.
const (
	StopLines  Stop = "lines"
	StopOutput Stop = "output"
	StopFiles  Stop = "files"
	StopRead   Stop = "read"
	StopTime   Stop = "time"
)

// Explain returns in words after what a search stopped, "" when it is done.
func (r *Result) Explain(l Limits) string {
	l = l.withDefaults()
	lines := "lines"
	if r.Lines == 1 {
		lines = "line"
	}
	texts := map[Stop]string{
		StopLines:  fmt.Sprintf("stopped after %d matching %s", r.Lines, lines),
		StopOutput: fmt.Sprintf("stopped after %d bytes of output", l.OutputBytes),
		StopFiles:  fmt.Sprintf("stopped after %d files", l.Files),
		StopRead:   fmt.Sprintf("stopped after reading %d MiB", l.ReadBytes>>20),
		StopTime:   fmt.Sprintf("stopped after %s", l.Time),
	}
	return texts[r.Stopped]
}

// Counts say what was looked at. They are the same whatever was cached. Those of
// the pages of one search add up to those of a search without limits.
type Counts struct {
	Repositories int // whose search began
	Files        int // searched
	Binary       int // skipped: they have a NUL near the beginning
	Large        int // skipped: they are above Options.FileBytes, or too large for a long expression
	Damaged      int // could not be read
	Broken       int // repositories whose search did not begin, or did not end
}

func (c *Counts) add(d Counts) {
	c.Repositories += d.Repositories
	c.Files += d.Files
	c.Binary += d.Binary
	c.Large += d.Large
	c.Damaged += d.Damaged
	c.Broken += d.Broken
}

// File is a file with matching lines.
type File struct {
	Repository string
	Commit     git.ID
	Path       string // any bytes, as git has them
	Blob       git.ID
	// Lines are in the order of their numbers; those of context among them.
	Lines []Line
}

// Line is a line of a file, as it is shown: without its end, and without a CR
// before that.
type Line struct {
	Number int // from 1
	// Column is where the first match begins, in bytes of the stored line from 1; 0
	// for a line of context.
	Column int
	// Text is UTF-8. Of a long line it is a part around the first match.
	Text string
	// Ranges are the matches in Text, in bytes, from left to right; at most 32 for
	// each term, without those outside of Text.
	Ranges []pattern.Span
	// Before and After are how many bytes of the stored line Text leaves out.
	Before, After int
	// Escaped says that the line is no UTF-8: invalid bytes are written as \xff.
	Escaped bool
}

// Matches reports whether the line is not one of context.
func (l *Line) Matches() bool { return l.Column > 0 }

// Problem is something that could not be searched.
type Problem struct {
	Repository string
	Path       string // "" for the whole repository
	Err        error
}

// maxProblems bounds the list; Counts.Damaged has all.
const maxProblems = 20
