package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/git/quoting"
	"github.com/repomcp/repomcp/internal/tools/arguments"
)

const (
	// maxBlamedLines bounds the lines of a call: more than a result holds of most files. Fewer
	// lines need less history.
	maxBlamedLines = 500
	// maxBlamedText bounds the shown part of a line: a minified file has one line.
	maxBlamedText = 500
)

type blameArguments struct {
	revision
	path string
	lineRange
	mailmap bool
}

func (a *blameArguments) define(p *arguments.List) {
	a.revision.define(p)
	p.Text(&a.path, "path", pathDescription).Required = true
	a.lineRange.define(p, fmt.Sprintf("At most %d lines at once.", maxBlamedLines))
	defineMailmap(p, &a.mailmap)
}

// fileBlame is the data of get_file_blame.
type fileBlame struct {
	Repository string                 `json:"repository"`
	SHA        string                 `json:"sha" jsonschema:"Commit that has the file"`
	Path       string                 `json:"path"`
	TotalLines int                    `json:"totalLines" jsonschema:"Lines of the whole file"`
	Ranges     []blameRange           `json:"ranges" jsonschema:"Lines in order, those together that came together"`
	Commits    map[string]blameCommit `json:"commits" jsonschema:"The commits of the ranges, by id"`
	remarks
}

type blameRange struct {
	Start int      `json:"start" jsonschema:"First line, from 1"`
	SHA   string   `json:"sha" jsonschema:"Commit that the lines come from"`
	Path  string   `json:"path,omitempty" jsonschema:"What the file was called in that commit, when it was called otherwise"`
	Lines []string `json:"lines"`
}

type blameCommit struct {
	Author  string `json:"author" jsonschema:"Name and address"`
	Date    string `json:"date" jsonschema:"When the author wrote it"`
	Subject string `json:"subject" jsonschema:"First line of the message"`
}

func (v *visit) getFileBlame(ctx context.Context, a blameArguments) error {
	at, e, err := v.entryOf(ctx, a.revision, a.path)
	if err != nil {
		return err
	}
	if e.Mode.IsDir() || e.Mode.IsGitlink() {
		return say("%s is a %s, not a file. See what is in it with get_repository_tree.", quote("/"+e.path),
			kindOf(e.Mode))
	}
	a.lineRange = a.orSuffix(a.path, e)
	a.start = max(a.start, 1)
	last := a.start + maxBlamedLines - 1
	if a.end != 0 {
		last = min(a.end, last)
	}
	names, err := v.people(a.mailmap)
	if err != nil {
		return err
	}
	found, err := history.Blame(ctx, v.snapshot, v.History, history.BlameOptions{
		Commit: at.ID, Path: e.path, First: a.start, Last: last, Mailmap: names,
	})
	if errors.Is(err, git.ErrInvalid) && a.start == 1 {
		return say("%s is empty.", quote(e.path))
	}
	if errors.Is(err, git.ErrInvalid) {
		return say("start_line is %d, which is after the last line of %s.", a.start, quote(e.path))
	}
	if err != nil {
		return err
	}
	if diff.Binary(found.Text) {
		return say("%s is not a text file.", quote(e.path))
	}
	return file{v, at, e}.showBlame(ctx, found, a.lineRange)
}

func (f file) showBlame(ctx context.Context, found history.BlameResult, a lineRange) error {
	data := &fileBlame{
		Repository: quote(f.at.repository), SHA: f.at.ID.String(), Path: quote(f.entry.path), TotalLines: found.Lines,
		Ranges: []blameRange{}, Commits: make(map[string]blameCommit),
	}
	v := blameView{data: data, found: found, size: jsonSize(data)}
	v.fill(f.entry.path)
	f.content, f.data = v.text.String(), data
	last := a.start + v.shown - 1
	f.note("%s of %s, %s.", quote(clip(f.entry.path)), f.at, plural(found.Lines, "line"))
	if v.clipped {
		f.note("Long lines are cut, and end with … here; get_file_contents has them whole.")
	}
	if v.replaced {
		f.note("It is not all UTF-8: what is not is shown as U+FFFD.")
	}
	if last < found.Lines && (a.end == 0 || last < a.end) {
		f.next = fmt.Sprintf("start_line=%d", last+1)
		f.note("Lines %d to %d are shown. Go on with %s.", a.start, last, f.next)
		return f.pointFile(ctx)
	}
	return nil
}

// blameView shows lines in both forms: as text and as data.
type blameView struct {
	data              *fileBlame
	found             history.BlameResult
	text              strings.Builder
	shown, size       int
	clipped, replaced bool
}

func (v *blameView) fill(path string) {
	rest := v.found.Text
	for _, run := range v.found.Ranges {
		for i := range run.Count {
			content, after, _ := bytes.Cut(rest, []byte("\n"))
			if !v.add(run, i, path, v.clip(content)) {
				return
			}
			rest = after
		}
	}
}

// clip returns a line, cut if it is long.
func (v *blameView) clip(content []byte) string {
	content = bytes.TrimSuffix(content, []byte("\r"))
	shown := content
	if len(content) > maxBlamedText {
		shown = content[:maxBlamedText]
		shown = shown[:quoting.WholeRunes(shown)]
	}
	text := strings.ToValidUTF8(string(shown), string(utf8.RuneError))
	v.replaced = v.replaced || text != string(shown)
	if len(shown) < len(content) {
		text, v.clipped = text+"…", true
	}
	return text
}

// add adds the nth line of a run, if it fits. In the text, a line without an indent names the
// commit of the lines below it, and describes the commit the first time.
func (v *blameView) add(run history.BlameRange, nth int, path, content string) bool {
	id := run.Commit.String()
	commit := v.found.Commits[run.Commit]
	about := blameCommit{
		Author: personLine(commit.Author), Date: timestamp(commit.Author), Subject: clean(commit.Summary()),
	}
	shown := blameRange{Start: run.Line, SHA: id, Lines: []string{}}
	row := fmt.Sprintf("  %d %s\n", run.Line+nth, content)
	asData := jsonSize(content) + 1
	_, known := v.data.Commits[id]
	if nth == 0 {
		head := id[:shownID]
		if !known {
			head += fmt.Sprintf(" %s %s: %s", commit.Author.When().Format(time.DateOnly), line(commit.Author.Name),
				untabbed(about.Subject))
			asData += jsonSize(about) + len(id) + len(`"":,`)
		}
		if run.Path != path {
			shown.Path = quote(run.Path)
			head += " (in " + shown.Path + ")"
		}
		row = head + "\n" + row
		asData += jsonSize(shown)
	}
	if v.size += len(row) + asData; v.size > maxListedBytes && v.shown > 0 {
		return false
	}
	if nth == 0 {
		v.data.Commits[id] = about
		v.data.Ranges = append(v.data.Ranges, shown)
	}
	at := &v.data.Ranges[len(v.data.Ranges)-1]
	at.Lines = append(at.Lines, content)
	v.text.WriteString(row)
	v.shown++
	return true
}
