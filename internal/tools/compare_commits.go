package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/tools/arguments"
)

type compareArguments struct {
	place
	base, head      string
	twoDot, mailmap bool
	changeView
}

func (a *compareArguments) define(p *arguments.List) {
	a.place.define(p)
	p.Text(&a.base, "base", "Branch, tag or commit.").Required = true
	p.Text(&a.head, "head", "The default branch if omitted.")
	p.Flag(&a.twoDot, "two_dot", "Files as git diff base..head; otherwise base...head, as GitHub.")
	a.changeView.define(p, detailStats)
	defineMailmap(p, &a.mailmap)
}

type comparedCommits struct {
	base, head found
	from       git.ID // compared with head
	ahead      int    // number of commits of head that base lacks
}

const (
	// maxComparedCommits and maxComparedText bound the commits that a comparison lists and their
	// bytes: half of a result is for the files.
	maxComparedCommits = 50
	maxComparedText    = maxResultBytes / 2
)

func (v *visit) compareCommits(ctx context.Context, a compareArguments) error {
	c, err := v.sides(ctx, a)
	if err != nil {
		return err
	}
	if a.detail != detailPatch && a.isFirst() {
		if err := v.addCommits(ctx, a, c); err != nil {
			return err
		}
	}
	if a.detail == detailNone {
		return nil
	}
	a.pin(c.base.ID, c.head.ID)
	comparison, err := history.CompareCommits(ctx, v.snapshot, v.History, c.from, c.head.ID, a.compare)
	if err != nil {
		return err
	}
	shown := changes{
		visit: v, changeView: a.changeView, Comparison: comparison, base: c.from.String(), commit: c.head.ID.String(),
	}
	return shown.show(ctx)
}

// sides finds both commits, and notes their relation.
func (v *visit) sides(ctx context.Context, a compareArguments) (c comparedCommits, err error) {
	if strings.Contains(a.base, "..") {
		return c, say("The argument base is a range. Give its ends as base and head.")
	}
	if c.base, err = v.commit(ctx, a.pinned(0, revision{ref: a.base})); err != nil {
		return c, err
	}
	if c.head, err = v.commit(ctx, a.pinned(1, revision{ref: a.head})); err != nil {
		return c, err
	}
	common, err := history.MergeBase(ctx, v.snapshot, v.History, c.base.ID, c.head.ID)
	unrelated := git.IsAbsent(err)
	if err != nil && !unrelated {
		return c, err
	}
	if unrelated && !a.twoDot {
		return c, say("%s and %s have no commit in common. Compare them themselves with two_dot=true.",
			c.base.revision(), c.head.revision())
	}
	ahead, behind, err := history.AheadBehind(ctx, v.snapshot, v.History, c.base.ID, c.head.ID)
	if err != nil {
		return c, err
	}
	dots := "..."
	if c.from, c.ahead = common, ahead; a.twoDot {
		dots, c.from = "..", c.base.ID
	}
	v.note("%s: %s%s%s.", v.name(), c.base.revision(), dots, c.head.revision())
	base := "They have no commit in common."
	if !unrelated {
		base = "The merge base is " + common.String() + "."
	}
	v.note("The head is %s ahead of the base and %d behind. %s", plural(ahead, "commit"), behind, base)
	return c, nil
}

// addCommits shows the newest commits that head has and base lacks; with paths, the commits that
// changed these.
func (v *visit) addCommits(ctx context.Context, a compareArguments, c comparedCommits) (err error) {
	if c.ahead == 0 {
		return nil
	}
	paths := a.compare.Paths
	log := history.LogOptions{Start: c.head.ID, Base: c.base.ID, Paths: paths, Limit: maxComparedCommits}
	if log.Mailmap, err = v.people(a.mailmap); err != nil {
		return err
	}
	page, items, err := v.logToFit(ctx, log, maxComparedText)
	if err != nil {
		return err
	}
	for _, i := range items {
		v.content += i.line + "\n"
	}
	whole, next := plural(c.ahead, "commit"), fmt.Sprintf("list_commits, base=%s, ref=%s", c.base.ID, c.head.ID)
	switch len(paths) {
	case 0:
		next += ", cursor=" + page.Next
	case 1:
		whole, next = "those that changed the path", next+", this path, cursor="+page.Next
	default: // the cursor is for several paths, and list_commits takes one
		whole, next = "those that changed the paths", next+", one of the paths"
	}
	switch {
	case page.Next != "":
		cut := fmt.Sprintf("The newest %d of %s. Go on with %s", len(items), whole, next)
		v.note("%s", cut)
		v.content += cutHere(cut)
	case len(paths) > 0:
		v.note("Of %s, %d changed the paths.", plural(c.ahead, "commit"), len(items))
	}
	return nil
}
