package tools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/repomcp/repomcp/internal/history"
	"github.com/repomcp/repomcp/internal/repos"
)

// maxSkipped is the most commits that pages pass over: from there on a cursor is
// needed, which costs nothing.
const maxSkipped = 100_000

type logArguments struct {
	revision
	path, author, since, until, cursor string
	firstParent, follow                bool
	paging
}

func (a *logArguments) define(p *parameters) {
	a.revision.define(p)
	p.text(&a.path, "path", "Only commits that changed this file or folder.")
	p.text(&a.author, "author", "Part of the author's name or address.")
	p.text(&a.since, "since", "Committed from then on: 2026-01-31 or 2026-01-31T12:00:00Z.")
	p.text(&a.until, "until", "Committed until then, a whole day included.")
	p.flag(&a.firstParent, "first_parent", "Of merges follow the first parent only.")
	p.flag(&a.follow, "follow", "Follow the file of path across renames.")
	a.paging.define(p, history.DefaultPage, 100)
	p.text(&a.cursor, "cursor", cursorDescription)
}

// commitList is the data of list_commits.
type commitList struct {
	Repository string       `json:"repository"`
	SHA        string       `json:"sha" jsonschema:"Commit that the list begins with"`
	Commits    []commitItem `json:"commits"`
	NextCursor string       `json:"nextCursor,omitempty" jsonschema:"Argument cursor to go on with; absent when history has ended"`
	remarks
}

type commitItem struct {
	SHA     string `json:"sha"`
	Date    string `json:"date" jsonschema:"When it was committed"`
	Author  string `json:"author" jsonschema:"Name and address"`
	Subject string `json:"subject" jsonschema:"First paragraph of the message"`
	Merge   bool   `json:"merge,omitempty" jsonschema:"It has several parents"`
	Path    string `json:"path,omitempty" jsonschema:"With follow, what the file was called"`
}

func (s *service) listCommits(ctx context.Context, a logArguments) (_ *result, err error) {
	options, err := a.options()
	if err != nil {
		return nil, err
	}
	snapshot, err := s.open(a.place)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	r := &result{}
	at, err := s.commit(ctx, r, snapshot, a.revision)
	if err != nil {
		return nil, err
	}
	options.Start = at.ID
	page, items, err := s.logToFit(ctx, snapshot, options)
	if err != nil {
		return nil, a.explain(err)
	}
	data := &commitList{Repository: quote(at.repository), SHA: at.ID.String(), Commits: make([]commitItem, 0, len(items)), NextCursor: page.Next}
	for _, i := range items {
		r.lines, data.Commits = append(r.lines, i.line), append(data.Commits, i.data)
	}
	r.data = data
	if page.Next != "" {
		r.next = "cursor=" + page.Next
	}
	switch {
	case page.Stopped:
		r.note("Stopped after looking at %s. Go on with the same arguments and cursor=%s", many(page.Looked, "commit"), page.Next)
	case page.Next != "":
		r.note("%s. Go on with the same arguments and cursor=%s", many(len(items), "commit"), page.Next)
	case len(items) == 0:
		r.note("No commit fits, or there are no more.")
		noteMissing(ctx, r, snapshot, at, options.Paths)
	}
	r.note("%s.", at)
	if page.Next != "" && a.cursor == "" && a.page == 1 {
		s.pointTree(ctx, r, at.repository, at.ID.String())
	}
	return r, nil
}

// noteMissing says of paths that they are not there: that is another reason to find
// nothing.
func noteMissing(ctx context.Context, r *result, snapshot *repos.Snapshot, at found, paths []string) {
	for _, path := range paths {
		_, err := lookup(ctx, snapshot, at, path)
		if missing := (*failure)(nil); errors.As(err, &missing) {
			r.note("%s", missing.text)
		}
	}
}

// options are what history takes, without its start.
func (a logArguments) options() (o history.LogOptions, err error) {
	o = history.LogOptions{Author: a.author, FirstParent: a.firstParent, Follow: a.follow, Limit: a.perPage, Cursor: a.cursor}
	path, err := treePath(a.path)
	if err != nil {
		return o, err
	}
	if path != "" {
		o.Paths = []string{path}
	}
	if a.follow && path == "" {
		return o, say("follow needs path, the file whose old names are followed.")
	}
	if o.Since, err = moment("since", a.since, 0); err != nil {
		return o, err
	}
	const day = 24*time.Hour - time.Second
	if o.Until, err = moment("until", a.until, day); err != nil {
		return o, err
	}
	if a.cursor != "" {
		return o, nil
	}
	if a.page-1 > maxSkipped/a.perPage {
		return o, say("page is too far: go on with the cursor of the page before, or use until.")
	}
	o.Skip = (a.page - 1) * a.perPage
	return o, nil
}

// forms are those of a moment, but a day's.
var forms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05"}

// moment reads a time; of a day it is the one that is within after its start.
func moment(name, given string, within time.Duration) (time.Time, error) {
	if given == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.DateOnly, given); err == nil {
		return t.Add(within), nil
	}
	for _, form := range forms {
		if t, err := time.Parse(form, given); err == nil {
			return t, nil
		}
	}
	return time.Time{}, say("The argument %s is no time such as 2026-01-31 or 2026-01-31T12:00:00Z.", name)
}

// logToFit lists commits, again and fewer when they are too large, so that the
// cursor is of the last that is shown.
func (s *service) logToFit(ctx context.Context, snapshot *repos.Snapshot, o history.LogOptions) (history.LogPage, []item[commitItem], error) {
	for {
		page, err := history.Log(ctx, snapshot, s.facts, o)
		if err != nil {
			return page, nil, err
		}
		items, size := make([]item[commitItem], len(page.Commits)), 0
		for i := range page.Commits {
			path := ""
			if o.Follow {
				path = page.Paths[i]
			}
			items[i] = commitLine(&page.Commits[i], path)
			if size += items[i].size(); size > maxListedBytes && i > 0 {
				o.Limit = i
				break
			}
		}
		if size <= maxListedBytes || len(items) == 1 {
			return page, items, nil
		}
	}
}

func commitLine(c *history.Commit, path string) item[commitItem] {
	d := commitItem{SHA: c.ID.String(), Date: stamp(c.Committer), Author: signature(c.Author), Subject: line(c.Subject()), Merge: len(c.Parents) > 1}
	marks := ""
	if d.Merge {
		marks = " (merge)"
	}
	if path != "" {
		d.Path = quote(path)
		marks += " (" + d.Path + ")"
	}
	return item[commitItem]{fmt.Sprintf("%s %s%s %s: %s", d.SHA, d.Date, marks, d.Author, d.Subject), d}
}

// signature is who did something, in one line.
func signature(p history.Person) string { return line(p.Name + " <" + p.Email + ">") }

// stamp is when somebody did something.
func stamp(p history.Person) string {
	return p.When().Format(time.RFC3339)
}

// explain says of a cursor that it is wrong, and not of a path.
func (a logArguments) explain(err error) error {
	if a.cursor != "" && (errors.Is(err, repos.ErrInvalid) || errors.Is(err, repos.ErrNotFound) && !errors.Is(err, repos.ErrCorrupt)) {
		return say("The cursor does not belong to this list, or its commit is gone. Give the arguments of the call that gave it, or begin again without it.")
	}
	return err
}
