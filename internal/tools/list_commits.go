package tools

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/git/mailmap"
	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/dates"
)

// maxSkipped bounds the commits that pages skip. A cursor goes further at no cost.
const maxSkipped = 100_000

// maxMailmap bounds the .mailmap that a call reads; Linux's has 50 KiB.
const maxMailmap = 1 << 20

type logArguments struct {
	revision
	base, path, since, until, grep, pickaxeRegexp string
	mailmap                                       bool
	symbol                                        string
	authors                                       bool
	lineRange
	paging

	log      history.LogOptions // all arguments but ref and base, parsed
	relative bool               // since or until depends on the time of the call
}

func (a *logArguments) define(p *arguments.List) {
	a.revision.define(p)
	p.Text(&a.base, "base", "Leave out what this leads to; or ref=base..head.")
	p.Text(&a.path, "path", "Only commits that changed this file or folder.")
	p.Text(&a.log.Author, "author", "Part of the author's name or address.")
	p.Text(&a.grep, "grep", "Regexp (RE2) for a line of the message, in any case.")
	p.Text(&a.log.Pickaxe, "pickaxe", "String whose count in a file changes, as git log -S.")
	p.Text(&a.pickaxeRegexp, "pickaxe_regexp", "Regexp of a changed line, as git log -G.")
	p.Text(&a.since, "since", "Committed since 2026-01-31, May 2026, 3 months ago.")
	p.Text(&a.until, "until", "Until then, whole days included.")
	p.Flag(&a.log.FirstParent, "first_parent", "Of merges only the first parent.")
	p.Flag(&a.log.Follow, "follow", "Follow the file across renames.")
	p.Text(&a.symbol, "symbol", "Only what changed this function or type of the file path, as git log -L.")
	a.defineLines(p)
	p.Flag(&a.authors, "authors", "Count by author instead, as git shortlog.")
	defineMailmap(p, &a.mailmap)
	a.paging.define(p, history.DefaultPage, 100)
}

// defineMailmap adds the argument of tools that show authors.
func defineMailmap(p *arguments.List, to *bool) {
	*to = true
	p.Flag(to, "mailmap", "false: names as in the commits.").Hidden = true
}

// people reads the .mailmap of HEAD, which git applies as well.
func (v *visit) people(mapped bool) (*mailmap.Map, error) {
	if !mapped {
		return nil, nil
	}
	m, err := mailmap.Read(v.snapshot, maxMailmap)
	if errors.Is(err, git.ErrTooLarge) {
		v.note("The .mailmap is larger than %d bytes: names are as in the commits.", maxMailmap)
		return nil, nil
	}
	return m, err
}

// commitList is the data of list_commits.
type commitList struct {
	Repository string       `json:"repository"`
	SHA        string       `json:"sha" jsonschema:"Commit that the list begins with"`
	Base       string       `json:"base,omitempty" jsonschema:"Commit that leads to what is left out; with base...head, the other side"`
	Commits    []commitItem `json:"commits"`
	Authors    []authorItem `json:"authors,omitempty" jsonschema:"With authors, instead of commits: most commits first"`
	NextCursor string       `json:"nextCursor,omitempty" jsonschema:"Argument cursor to go on with; absent when history has ended"`
	remarks
}

type commitItem struct {
	SHA     string `json:"sha"`
	Date    string `json:"date" jsonschema:"When it was committed"`
	Author  string `json:"author" jsonschema:"Name and address"`
	Subject string `json:"subject" jsonschema:"First paragraph of the message"`
	Merge   bool   `json:"merge,omitempty" jsonschema:"It has several parents"`
	Path    string `json:"path,omitempty" jsonschema:"With follow, symbol or lines, what the file was called"`
	Lines   string `json:"lines,omitempty" jsonschema:"With symbol or lines, which lines of the file they were"`
}

// authorItem is the share of an author.
type authorItem struct {
	Author  string `json:"author" jsonschema:"Name and address"`
	Commits int    `json:"commits"`
	First   string `json:"first" jsonschema:"When the author wrote the oldest of them"`
	Last    string `json:"last" jsonschema:"When the author wrote the newest of them"`
}

// listAuthors counts the commits of a log by author.
func (v *visit) listAuthors(ctx context.Context, a logArguments, of commitRange, o history.LogOptions) error {
	authors, complete, err := history.CountAuthors(ctx, v.snapshot, v.History, o)
	if err != nil {
		return err
	}
	if a.pin(of.head.ID); of.ranged {
		a.pin(of.head.ID, of.base.ID)
	}
	w, err := a.window(len(authors), nil)
	if err != nil {
		return err
	}
	var items []item[authorItem]
	for _, c := range authors[w.start:w.end] {
		d := authorItem{
			personLine(history.Person{Name: c.Name, Email: c.Email}), c.Commits, timestamp(c.First), timestamp(c.Last),
		}
		items = append(items, item[authorItem]{fmt.Sprintf("%d %s, %s to %s", c.Commits, line(c.Name),
			c.First.When().Format(time.DateOnly), c.Last.When().Format(time.DateOnly)), d})
	}
	data := &commitList{Repository: quote(of.head.repository), SHA: of.head.ID.String(), Commits: []commitItem{}}
	var at pages
	data.Authors, at = list(v.result, w, items)
	data.NextCursor, v.data = at.NextCursor, data
	if !complete {
		v.note("The history goes on: of each author only the newest commits are counted. Give a path or a time.")
	}
	v.note("%s in all. %s.", plural(len(authors), "author"), of)
	return nil
}

func (v *visit) listCommits(ctx context.Context, a logArguments) error {
	if a.isOfLines() {
		return v.listLineCommits(ctx, a)
	}
	of, err := v.commitRange(ctx, a)
	if err != nil {
		return err
	}
	options := a.log
	options.Start, options.Base, options.Symmetric = of.head.ID, of.base.ID, of.symmetric
	if options.Mailmap, err = v.people(a.mailmap); err != nil {
		return err
	}
	if a.authors {
		return v.listAuthors(ctx, a, of, options)
	}
	page, items, err := v.logToFit(ctx, options, maxListedBytes)
	if err != nil {
		return a.explain(err)
	}
	page.Next = a.withTimes(page.Next)
	data := &commitList{
		Repository: quote(of.head.repository), SHA: of.head.ID.String(), Commits: make([]commitItem, 0, len(items)),
		NextCursor: page.Next,
	}
	if of.ranged {
		data.Base = of.base.ID.String()
	}
	for _, i := range items {
		v.lines, data.Commits = append(v.lines, i.line), append(data.Commits, i.data)
	}
	v.data = data
	if page.Next != "" {
		v.next = "cursor=" + page.Next
	}
	switch {
	case page.Stopped && (options.Pickaxe != "" || options.PickaxeLines != nil):
		v.note("Stopped after looking into the files of %s; with path or a range it is fewer. Go on with the same "+
			"arguments and cursor=%s", plural(page.Looked, "commit"), page.Next)
	case page.Stopped:
		v.note("Stopped after looking at %s. Go on with the same arguments and cursor=%s",
			plural(page.Looked, "commit"), page.Next)
	case page.Next != "":
		v.note("%s. Go on with the same arguments and cursor=%s", plural(len(items), "commit"), page.Next)
	case len(items) == 0:
		v.note("No commit fits, or there are no more. Leave out an argument that selects, or take another ref.")
		v.noteMissing(ctx, of.head, options.Paths)
	}
	if page.Unsearched > 0 {
		v.note("%s had files that are too large, or too many, to be searched.", plural(page.Unsearched, "commit"))
	}
	a.noteSkipped(v.result)
	v.note("%s.", of)
	return nil
}

// noteMissing notes which paths do not exist: another reason to find nothing.
func (v *visit) noteMissing(ctx context.Context, at found, paths []string) {
	for _, path := range paths {
		if _, err := v.snapshot.Lookup(at.Tree, path); git.IsAbsent(err) {
			_, alike := v.alike(ctx, at, path)
			v.note("%s", noPath(at, path, alike))
		}
	}
}

// commitRange selects the commits of a log: all that head reaches, or those that base does not
// reach.
type commitRange struct {
	base, head        found
	ranged, symmetric bool
}

// String names the range in a sentence.
func (c commitRange) String() string {
	dots := ".."
	if c.symmetric {
		dots = "..."
	}
	if !c.ranged {
		return c.head.String()
	}
	return fmt.Sprintf("%s at %s%s%s", c.head.repository, c.base.revision(), dots, c.head.revision())
}

// commitRange parses the arguments ref and base. No ref name contains two dots
// (git-check-ref-format(1)); an empty side means HEAD.
func (v *visit) commitRange(ctx context.Context, a logArguments) (c commitRange, err error) {
	base, head := revision{ref: a.base}, a.revision
	if before, after, ok := strings.Cut(head.commitName(), ".."); ok {
		if a.base != "" {
			return c, say("Give base or a range such as %s, not both.", quote(clip(head.commitName())))
		}
		after, c.symmetric = strings.CutPrefix(after, ".")
		base, head, c.ranged = revision{ref: before}, revision{ref: after}, true
	}
	if c.ranged = c.ranged || a.base != ""; c.ranged {
		if c.base, err = v.commit(ctx, a.pinned(1, base)); err != nil {
			return c, err
		}
	}
	c.head, err = v.commit(ctx, a.pinned(0, head))
	return c, err
}

// check parses the arguments as options of a log.
func (a *logArguments) check() error {
	o := &a.log
	if a.isOfLines() {
		if err := a.checkLines(); err != nil {
			return err
		}
	}
	path, err := treePath(a.path)
	if err != nil {
		return err
	}
	if path != "" {
		o.Paths = []string{path}
	}
	if o.Follow && path == "" {
		return say("follow needs path, the file whose old names are followed.")
	}
	since, err := parsePeriod("The argument since", a.since)
	if err != nil {
		return err
	}
	until, err := parsePeriod("The argument until", a.until)
	if err != nil {
		return err
	}
	o.Since, o.Until = since.First, until.Last
	if a.relative = since.Relative || until.Relative; a.relative {
		a.cursor = a.keepTimes(a.cursor)
	}
	if o.Message, err = parseRegexp("grep", "(?i)", a.grep); err != nil {
		return err
	}
	if o.PickaxeLines, err = parseRegexp("pickaxe_regexp", "", a.pickaxeRegexp); err != nil {
		return err
	}
	if text, pattern := o.Pickaxe != "", o.PickaxeLines != nil; text && pattern || o.Follow && (text || pattern) {
		return say("Of pickaxe, pickaxe_regexp and follow give one.")
	}
	if o.Limit, o.Cursor = a.perPage, a.cursor; a.cursor == "" {
		if a.page-1 > maxSkipped/a.perPage || a.offset > maxSkipped {
			return say("page is too far: go on with the cursor of the page before, or use until.")
		}
		o.Skip = a.skipped()
	}
	return nil
}

// keepTimes takes relative times from a cursor: its pages have those of the first one. It returns
// the cursor of the history.
func (a *logArguments) keepTimes(cursor string) string {
	cursor, times, _ := strings.Cut(cursor, ".")
	var since, until int64
	if n, _ := fmt.Sscanf(times, "%d.%d", &since, &until); n == 2 { // a wrong cursor is refused later
		a.log.Since, a.log.Until = unixTime(since), unixTime(until)
	}
	return cursor
}

// unixTime returns a time of which the zero is none.
func unixTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// withTimes adds relative times to the cursor of a history, for keepTimes.
func (a *logArguments) withTimes(cursor string) string {
	if cursor == "" || !a.relative {
		return cursor
	}
	seconds := func(t time.Time) int64 {
		if t.IsZero() {
			return 0
		}
		return t.Unix()
	}
	return fmt.Sprintf("%s.%d.%d", cursor, seconds(a.log.Since), seconds(a.log.Until))
}

func parseRegexp(name, flags, argument string) (*regexp.Regexp, error) {
	if argument == "" {
		return nil, nil
	}
	compiled, err := regexp.Compile(flags + argument)
	if problem := (*syntax.Error)(nil); errors.As(err, &problem) {
		return nil, say("The argument %s is no regular expression of RE2: %s: %s.", name, problem.Code,
			quote(clip(strings.TrimPrefix(problem.Expr, flags))))
	}
	return compiled, err
}

// parsePeriod parses a time; an empty argument is the zero period.
func parsePeriod(name, argument string) (dates.Period, error) {
	if argument == "" {
		return dates.Period{}, nil
	}
	p, ok := dates.Parse(argument, time.Now())
	if !ok {
		return p, say("%s is no time such as 2026-01-31, 2026-01-31T12:00:00Z, May 2026 or 3 months ago.", name)
	}
	return p, nil
}

// logToFit lists commits. It repeats with fewer while they exceed most bytes, so that the cursor is
// that of the last shown commit.
func (v *visit) logToFit(
	ctx context.Context, o history.LogOptions, most int,
) (history.LogPage, []item[commitItem], error) {
	for {
		page, err := history.Log(ctx, v.snapshot, v.History, o)
		if err != nil {
			return page, nil, err
		}
		items, size := make([]item[commitItem], len(page.Commits)), 0
		for i := range page.Commits {
			path := ""
			if o.Follow {
				path = page.Paths[i]
			}
			items[i] = commitLine(&page.Commits[i], path, "")
			if size += items[i].size(); size > most && i > 0 {
				o.Limit = i
				break
			}
		}
		if size <= most || len(items) == 1 {
			return page, items, nil
		}
	}
}

// commitLine returns a commit as an item; the line has an abbreviated id and no email address.
func commitLine(c *history.Commit, path, lines string) item[commitItem] {
	d := commitItem{
		SHA: c.ID.String(), Date: timestamp(c.Committer), Author: personLine(c.Author), Subject: clean(c.Subject()),
		Merge: len(c.Parents) > 1,
	}
	marks := ""
	if d.Merge {
		marks = " (merge)"
	}
	switch d.Lines = lines; {
	case path != "" && lines != "":
		d.Path = quote(path)
		marks += " (" + d.Path + ":" + lines + ")"
	case path != "":
		d.Path = quote(path)
		marks += " (" + d.Path + ")"
	}
	return item[commitItem]{fmt.Sprintf("%s %s%s %s: %s", d.SHA[:shownID], d.Date, marks, line(c.Author.Name),
		untabbed(d.Subject)), d}
}

func personLine(p history.Person) string { return line(p.Name + " <" + p.Email + ">") }

// timestamp returns the author or committer date.
func timestamp(p history.Person) string {
	return p.When().Format(time.RFC3339)
}

// explain attributes an error to the cursor, if there is one, rather than to a path.
func (a logArguments) explain(err error) error {
	if a.cursor != "" && (errors.Is(err, git.ErrInvalid) || git.IsAbsent(err)) {
		return say("The cursor does not belong to this list, or its commit is gone. Give the arguments of the call " +
			"that gave it, or begin again without it.")
	}
	return err
}
