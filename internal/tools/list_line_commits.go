package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/git/history"
)

// isOfLines reports whether the log is of lines of a file.
func (a *logArguments) isOfLines() bool { return a.symbol != "" || a.start > 0 }

// readCursor decodes the cursor of a log of lines or authors. That of other logs belongs to the
// history.
func (a *logArguments) readCursor(tool string, given map[string]any) error {
	if !a.isOfLines() && !a.authors {
		return nil
	}
	return a.paging.readCursor(tool, given)
}

// checkLines refuses what cannot be combined with lines.
func (a *logArguments) checkLines() error {
	switch {
	case a.path == "":
		return say("symbol and lines need path, the file that has them.")
	case a.symbol != "" && a.start > 0:
		return say("Give symbol or lines, not both.")
	case a.base != "" || strings.Contains(a.commitName(), "..") || a.log.Author != "" || a.grep != "" ||
		a.since != "" || a.until != "" || a.log.Pickaxe != "" || a.pickaxeRegexp != "" || a.log.FirstParent ||
		a.log.Follow || a.authors:
		return say("With symbol or lines give ref and path alone: the file is followed across renames anyway.")
	}
	return a.lineRange.check()
}

// listLineCommits lists the commits that changed lines of a file, or the definition of a symbol.
func (v *visit) listLineCommits(ctx context.Context, a logArguments) error {
	at, e, err := v.entryOf(ctx, a.pinned(0, a.revision), a.path)
	if err != nil {
		return err
	}
	f := file{v, at, e}
	if !e.Mode.IsRegular() {
		return say("%s is a %s, which has no lines.", quote("/"+e.path), kindOf(e.Mode))
	}
	if a.symbol != "" {
		if a.lineRange, err = f.symbolLines(a.symbol); err != nil {
			return err
		}
	}
	options := history.LineLogOptions{
		Start: at.ID, Path: e.path, First: a.start, Last: a.end, Skip: a.skipped(), Limit: a.perPage,
	}
	if a.end == 0 {
		options.Last = history.MaxBlameLines
	}
	if options.Mailmap, err = v.people(a.mailmap); err != nil {
		return err
	}
	page, err := history.LineLog(ctx, v.snapshot, v.History, options)
	if errors.Is(err, git.ErrInvalid) {
		return say("%s has no lines %s.", quote(clip(e.path)), a.lineRange)
	}
	if err != nil {
		return err
	}
	a.pin(at.ID)
	f.showLineCommits(a, page)
	v.note("%s.", at)
	return nil
}

// symbolLines returns the lines of the only definition of a name.
func (f file) symbolLines(name string) (lineRange, error) {
	_, named, err := f.named(name)
	if err != nil {
		return lineRange{}, err
	}
	lines := lineRange{start: named[0].Start, end: named[0].End}
	if len(named) > 1 {
		var others []string
		for _, d := range named[:min(len(named), maxCandidates)] {
			others = append(others, lineRange{start: d.Start, end: d.End}.String())
		}
		return lines, say("%s is defined %d times in %s. Give lines instead: %s.", quote(clip(name)), len(named),
			quote(clip(f.entry.path)), strings.Join(others, " or "))
	}
	f.note("%s is in lines %s.", quote(clip(name)), lines)
	return lines, nil
}

// String returns the range as the argument lines takes it.
func (a lineRange) String() string {
	if a.end == 0 {
		return fmt.Sprintf("%d-", a.start)
	}
	return fmt.Sprintf("%d-%d", a.start, a.end)
}

// showLineCommits lists as many commits as fit.
func (f file) showLineCommits(a logArguments, page history.LineLogPage) {
	data := &commitList{Repository: quote(f.at.repository), SHA: f.at.ID.String(), Commits: []commitItem{}}
	size := f.size()
	for i := range page.Commits {
		c := &page.Commits[i]
		shown := commitLine(&c.Commit, c.Path, rangesText(c.Ranges))
		if size += shown.size(); size > maxListedBytes && i > 0 {
			page.More = true
			break
		}
		f.lines, data.Commits = append(f.lines, shown.line), append(data.Commits, shown.data)
	}
	f.data = data
	count := plural(len(data.Commits), "commit")
	switch {
	case page.More:
		w := window{paging: a.paging}
		data.NextCursor = w.after(a.skipped() + len(data.Commits))
		f.next = "cursor=" + data.NextCursor
		f.note("%s changed the lines. Go on with the same arguments and %s", count, f.next)
	case page.Stopped:
		f.note("%s changed the lines. Stopped after comparing %d versions of the file: for more, give fewer lines, or "+
			"ref with one of these commits and the lines that are behind its path.", count, history.MaxLineVersions)
	default:
		f.note("%s changed the lines, the first of them included.", count)
	}
	a.noteSkipped(f.result)
}

// rangesText writes ranges as 3-9,12-12.
func rangesText(ranges []diff.Range) string {
	parts := make([]string, min(len(ranges), maxCandidates))
	for i := range parts {
		parts[i] = fmt.Sprintf("%d-%d", ranges[i].Start+1, ranges[i].End)
	}
	return strings.Join(parts, ",")
}
