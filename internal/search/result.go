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
	// Ref is the revision, as for [git.Snapshot.Resolve]; the default branch if empty. A search
	// of several repositories skips those without it.
	Ref string
	// Before and After are the numbers of context lines around each match, at most MaxContext.
	Before, After int
	Order         Order
	Limits        Limits
	// Cursor continues another search of the same query, ref and order.
	Cursor string
}

// Order is the order of a result, and what it has of each file.
type Order int

const (
	// ByPath lists all lines that are found, by repository and path. All words must be in a file.
	ByPath Order = iota
	// ByRank lists the files that answer the query best first, and the best lines of each.
	ByRank
)

// MaxContext bounds the context lines on each side: more amounts to reading the file.
const MaxContext = 20

// Limits bound one call. A zero field means its default.
type Limits struct {
	Lines       int           // matching lines; unless files are ranked
	Ranked      int           // files of the result, if files are ranked
	FileLines   int           // matching lines of each of these
	OutputBytes int           // of lines and paths
	Files       int           // searched files
	ReadBytes   int64         // of files that are not in the cache
	Time        time.Duration // checked between files
}

// The defaults of [Limits].
const (
	DefaultLines       = 100
	DefaultRanked      = 10
	DefaultFileLines   = 3
	DefaultOutputBytes = 256 << 10
	DefaultFiles       = math.MaxInt
	// DefaultReadBytes is several times a large source tree, and takes some seconds.
	DefaultReadBytes = 1 << 30
	// DefaultTime is shorter than the timeouts of clients.
	DefaultTime = 10 * time.Second
)

func (l Limits) withDefaults() Limits {
	return Limits{
		Lines:       cmp.Or(l.Lines, DefaultLines),
		Ranked:      cmp.Or(l.Ranked, DefaultRanked),
		FileLines:   cmp.Or(l.FileLines, DefaultFileLines),
		OutputBytes: cmp.Or(l.OutputBytes, DefaultOutputBytes),
		Files:       cmp.Or(l.Files, DefaultFiles),
		ReadBytes:   cmp.Or(l.ReadBytes, DefaultReadBytes),
		Time:        cmp.Or(l.Time, DefaultTime),
	}
}

// again returns the limits of a call that goes as far as an earlier one did: a busy machine takes longer, and a
// cursor that was not made here must not do without limits.
func (l Limits) again() Limits {
	l.Files, l.ReadBytes, l.Time = math.MaxInt, max(l.ReadBytes, 2*l.ReadBytes), max(l.Time, 6*l.Time)
	return l
}

// Result is what a search found until it ended or reached a limit.
type Result struct {
	Files []File
	// Lines is the number of matching lines in Files.
	Lines int
	// Ranked is the number of files that were ranked, of which Files has some. Counts are those of all of
	// them. Cut is the limit because of which later files are ranked apart, behind these.
	Ranked int
	Cut    Stop
	// Scanned reports that no three characters in a row are known of all matches, so that the index could not tell
	// which files to read.
	Scanned bool
	// Within reports that no file has one of the words, and that these files have all of them within longer words.
	Within bool
	// Missing are names of the query, without underscores, that no file has as a whole.
	Missing []string
	Counts  Counts
	// Stopped is the limit that ended the search; "" if the search is complete. Cursor continues.
	Stopped Stop
	Cursor  string
	// Problems lists what could not be searched, up to maxProblems.
	Problems []Problem

	after func(files int) string // see CursorAfter
}

// CursorAfter returns the cursor to continue with if only the first files of a ranked result are used. At least one is.
func (r *Result) CursorAfter(files int) string { return r.after(files) }

// Stop is the limit that ended a search.
type Stop string

// Limits that a search can reach.
const (
	StopLines  Stop = "lines"
	StopRanked Stop = "ranked" // there are more files
	StopOutput Stop = "output"
	StopFiles  Stop = "files"
	StopRead   Stop = "read"
	StopTime   Stop = "time"
	// StopCandidates is the number of files that are ranked together.
	StopCandidates Stop = "candidates"
)

// Explain describes the limit that ended the search, "" if the search is complete.
func (r *Result) Explain(l Limits) string { return r.explain(r.Stopped, l) }

// ExplainCut describes the limit Cut.
func (r *Result) ExplainCut(l Limits) string { return r.explain(r.Cut, l) }

func (r *Result) explain(stop Stop, l Limits) string {
	l = l.withDefaults()
	lines := "lines"
	if r.Lines == 1 {
		lines = "line"
	}
	texts := map[Stop]string{
		StopLines:      fmt.Sprintf("stopped after %d matching %s", r.Lines, lines),
		StopRanked:     fmt.Sprintf("has %d files in all", r.Ranked),
		StopOutput:     fmt.Sprintf("stopped after %d bytes of output", l.OutputBytes),
		StopFiles:      fmt.Sprintf("stopped after %d files", l.Files),
		StopRead:       fmt.Sprintf("stopped after reading %d MiB", l.ReadBytes>>20),
		StopCandidates: fmt.Sprintf("stopped after finding %d files", maxCandidates),
		StopTime:       fmt.Sprintf("stopped after %s", l.Time),
	}
	return texts[stop]
}

// Counts are independent of the cache. The counts of all pages of a search add up to those of a
// search without limits.
type Counts struct {
	Repositories int // whose search began
	Files        int // searched
	NoPattern    int // of those, files with the name of a symbol in languages without patterns for definitions
	Binary       int // skipped: a NUL near the beginning
	Large        int // skipped: above Options.FileBytes, or too large for a long expression
	Damaged      int // unreadable
	Broken       int // repositories whose search failed
}

func (c *Counts) add(d Counts) {
	c.Repositories += d.Repositories
	c.Files += d.Files
	c.NoPattern += d.NoPattern
	c.Binary += d.Binary
	c.Large += d.Large
	c.Damaged += d.Damaged
	c.Broken += d.Broken
}

// File is a file with matching lines.
type File struct {
	Repository string
	Commit     git.ID
	Path       string // any bytes, as in git
	Blob       git.ID
	// More is the number of matching lines that a ranked result leaves out.
	More int
	// Lines are ordered by number and include context lines.
	Lines []Line
}

// Line is a line of a file as it is shown: without its LF, and without a CR before that.
type Line struct {
	Number int // from 1
	// Column is the position of the first match, in bytes of the stored line from 1; 0 for a
	// context line.
	Column int
	// Text is UTF-8. For a long line it is the part around the first match.
	Text string
	// Ranges are the matches within Text, in bytes, from left to right; at most 32 per term.
	Ranges []pattern.Span
	// Before and After are the numbers of bytes of the stored line that Text omits.
	Before, After int
	// Place is the line's place among the best of its file, from 1; 0 if lines are not ranked.
	Place int
	// Definition reports that the line defines a name that was searched for. Only a ranked result tells.
	Definition bool
	// Escaped reports that the line is not UTF-8: invalid bytes are written as \xff.
	Escaped bool
}

// Matches reports whether the line is a match rather than context.
func (l *Line) Matches() bool { return l.Column > 0 }

// Problem is a failure to search something.
type Problem struct {
	Repository string
	Path       string // "" for the whole repository
	Err        error
}

// maxProblems bounds the list; Counts.Damaged is complete.
const maxProblems = 20
