package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/tools/excerpt"
)

// function is a definition that is shown around lines of a search.
type function struct {
	definitions.Definition
	text string // its lines, or the first of them
	last int    // the last line of text
}

func (f function) isCut() bool { return f.last < f.End }

// has reports whether the text has a line.
func (f function) has(line int) bool { return f.Start <= line && line <= f.last }

func (f function) data() codeFunction {
	d := codeFunction{Start: f.Start, End: f.End, Text: f.text}
	if f.isCut() {
		d.Shown = f.last
	}
	return d
}

// fileFunctions are the definitions around the lines of one file of a search.
type fileFunctions struct {
	all   []function // around the best line first
	shown []function // those that there is room for, by their lines
	// hasPattern reports whether the file could be looked through; outside counts the lines in no definition.
	hasPattern bool
	outside    int
}

const (
	// minFunctionBytes is the least part of a function that is worth a cut.
	minFunctionBytes = 256
	// maxFunctionFiles bounds the files that are parsed for one result, each of up to definitions.MaxBytes.
	maxFunctionFiles = 20
	// cutShare is the share of the room that a function gets if it has to be cut, so that others are shown as well.
	cutShare = 2
)

// addFunctions adds the definitions around the lines of ranked files, so that texts and data have at most the given
// size each: that of the best line of each file, and then others. The files for which there is no room come in the
// next result.
func (s *service) addFunctions(ctx context.Context, f *searchResult, size int) error {
	files := f.Files
	for n := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n == maxFunctionFiles {
			f.keepFiles(files, n)
			break
		}
		around, err := s.functionsAround(ctx, &files[n])
		if err != nil {
			return err
		}
		f.Files, f.functions = files[:n+1], append(f.functions, around)
		f.Cursor = f.CursorAfter(n + 1)
		fits, err := f.addBest(size)
		if err != nil {
			return err
		}
		if !fits && n > 0 {
			f.keepFiles(files, n)
			break
		}
	}
	for n := range f.functions {
		for _, other := range f.functions[n].all {
			if _, err := f.tryFunction(&f.functions[n], other, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepFiles leaves out all files but the first ones.
func (f *searchResult) keepFiles(files []search.File, count int) {
	f.functions = f.functions[:count]
	for f.Files = files; len(f.Files) > count; {
		f.leaveOutFile()
	}
}

// functionsAround finds the innermost definitions that contain lines of a file.
func (s *service) functionsAround(ctx context.Context, found *search.File) (around fileFunctions, err error) {
	snapshot, err := s.Catalogue.For(ctx).Snapshot(found.Repository)
	if err != nil {
		return around, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	text, list, err := file{
		visit: &visit{service: s, snapshot: snapshot},
		entry: entry{found.Path, git.TreeEntry{ID: found.Blob}},
	}.definitions()
	if errors.As(err, new(*failure)) { // there is no pattern, or the file is too large
		return around, nil
	}
	if err != nil {
		return around, err
	}
	around.hasPattern = true
	lines := strings.SplitAfter(strings.ToValidUTF8(string(text), "\uFFFD"), "\n")
	byPlace := func(a, b search.Line) int { return a.Place - b.Place }
	for _, l := range slices.SortedFunc(slices.Values(found.Lines), byPlace) {
		d := innermost(list, l.Number)
		switch {
		case d == nil:
			around.outside++
		case !slices.ContainsFunc(around.all, func(f function) bool { return f.Start == d.Start && f.End == d.End }):
			around.all = append(around.all, function{*d, strings.Join(lines[d.Start-1:d.End], ""), d.End})
		}
	}
	return around, nil
}

// innermost returns the innermost definition that contains a line, or nil.
func innermost(list []definitions.Definition, line int) *definitions.Definition {
	for i := len(list) - 1; i >= 0; i-- { // those inside of others are behind them
		if d := &list[i]; d.Start <= line && line <= d.End {
			return d
		}
	}
	return nil
}

// addBest adds the best function of the last file, or the beginning of it. It reports whether the file with it keeps
// to a size.
func (f *searchResult) addBest(size int) (bool, error) {
	used, err := f.size()
	if err != nil || used > size {
		return false, err
	}
	last := &f.functions[len(f.functions)-1]
	if len(last.all) == 0 {
		return true, nil
	}
	best := last.all[0]
	fits, err := f.tryFunction(last, best, size)
	for room := (size - used) / cutShare; !fits && err == nil && room >= minFunctionBytes; room -= room / 4 {
		part := excerpt.Beginning(best.text, room)
		if part.Within > 0 { // not even a line fits
			break
		}
		fits, err = f.tryFunction(last, function{best.Definition, part.Text, best.Start + part.Last - 1}, size)
	}
	return fits, err
}

// tryFunction adds a function unless the result is too large then.
func (f *searchResult) tryFunction(to *fileFunctions, add function, size int) (bool, error) {
	before := to.shown
	contains := func(other function) bool { return other.has(add.Start) && other.has(add.End) }
	if slices.ContainsFunc(before, contains) {
		return true, nil
	}
	to.shown = slices.DeleteFunc(slices.Clone(before), func(other function) bool {
		return add.Start <= other.Start && other.End <= add.last
	})
	to.shown = append(to.shown, add)
	slices.SortFunc(to.shown, func(a, b function) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	used, err := f.size()
	if err != nil || used > size {
		to.shown = before
		return false, err
	}
	return true, nil
}

// writeFunctions writes the lines of a file that were found, with the definitions around them.
func writeFunctions(b *strings.Builder, found search.File, functions []function) {
	lines, before := found.Lines, 0
	begin := func(number int) {
		if before > 0 && number > before+1 {
			b.WriteString("--\n")
		}
		before = number
	}
	writeAlone := func(until int) {
		for ; len(lines) > 0 && lines[0].Number < until; lines = lines[1:] {
			begin(lines[0].Number)
			writeFound(b, "  ", &lines[0], lineText(&lines[0]))
		}
	}
	for _, f := range functions {
		writeAlone(f.Start)
		number := f.Start
		for text := range strings.Lines(f.text) {
			begin(number)
			text = strings.TrimRight(text, "\r\n")
			if len(lines) > 0 && lines[0].Number == number {
				writeFound(b, "  ", &lines[0], text)
				lines = lines[1:]
			} else {
				fmt.Fprintf(b, "  %d- %s\n", number, text)
			}
			number++
		}
		if f.isCut() {
			rest := fmt.Sprintf("repo=%s ref=%s path=%s start_line=%d end_line=%d", quote(found.Repository),
				found.Commit.String()[:shownID], quote(found.Path), f.last+1, f.End)
			b.WriteString(cutHere("Read the rest with get_file_contents " + rest))
		}
	}
	writeAlone(math.MaxInt)
}

// noteAlone notes why lines are shown without the definitions around them.
func (f searchResult) noteAlone(r *result) {
	outside, unknown, cramped := 0, 0, 0
	for i, around := range f.functions {
		if !around.hasPattern {
			unknown++
			continue
		}
		outside += around.outside
		cramped -= around.outside
		for _, l := range f.Files[i].Lines {
			if !slices.ContainsFunc(around.shown, func(f function) bool { return f.has(l.Number) }) {
				cramped++
			}
		}
	}
	for _, alone := range []struct {
		count      int
		thing, why string
	}{
		{outside, "line", "outside of definitions"},
		{cramped, "line", "no room for the definition; a larger perPage makes more"},
		{unknown, "file", "no pattern for definitions in its language"},
	} {
		if alone.count > 0 {
			r.note("Shown as single lines: %s (%s).", plural(alone.count, alone.thing), alone.why)
		}
	}
}
