package tools

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/history"
	"github.com/repomcp/repomcp/internal/repos"
)

type compareArguments struct {
	place
	base, head string
	twoDot     bool
	changeView
}

func (a *compareArguments) define(p *parameters) {
	a.place.define(p)
	p.text(&a.base, "base", "Branch, tag or commit to compare with.").require()
	p.text(&a.head, "head", "Branch, tag or commit with the changes; the default branch if omitted.")
	p.flag(&a.twoDot, "two_dot", "Compare as base..head; otherwise base...head, as GitHub.")
	a.changeView.define(p, detailPatch)
}

// compared are the two commits.
type compared struct {
	base, head found
	dots       string
	from       repos.ID // what is compared with head
}

func (s *service) compareCommits(ctx context.Context, a compareArguments) (_ *result, err error) {
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
	c, err := s.sides(ctx, r, snapshot, a)
	if err != nil || a.detail == detailNone {
		return r, err
	}
	comparison, err := history.CompareCommits(ctx, snapshot, s.facts, c.from, c.head.ID, options)
	if err != nil {
		return nil, err
	}
	shown := s.newChanges(a.changeView, snapshot, comparison)
	shown.from, shown.to = c.from, c.head.ID
	return r, shown.show(ctx, r)
}

// sides finds the commits, and notes how they stand to each other.
func (s *service) sides(ctx context.Context, r *result, snapshot *repos.Snapshot, a compareArguments) (c compared, err error) {
	if c.base, err = s.commit(ctx, r, snapshot, revision{ref: a.base}); err != nil {
		return c, err
	}
	if c.head, err = s.commit(ctx, r, snapshot, revision{ref: a.head}); err != nil {
		return c, err
	}
	common, err := history.MergeBase(ctx, snapshot, s.facts, c.base.ID, c.head.ID)
	unrelated := errors.Is(err, repos.ErrNotFound) && !errors.Is(err, repos.ErrCorrupt)
	if err != nil && !unrelated {
		return c, err
	}
	if unrelated && !a.twoDot {
		return c, say("%s and %s have no commit in common. Compare them themselves with two_dot=true.", c.base.revision(), c.head.revision())
	}
	ahead, behind, err := history.AheadBehind(ctx, snapshot, s.facts, c.base.ID, c.head.ID)
	if err != nil {
		return c, err
	}
	c.dots, c.from = "...", common
	if a.twoDot {
		c.dots, c.from = "..", c.base.ID
	}
	r.note("%s: %s%s%s.", c.base.repository, c.base.revision(), c.dots, c.head.revision())
	base := "They have no commit in common."
	if !unrelated {
		base = "The merge base is " + common.String() + "."
	}
	r.note("The head is %s ahead of the base and %d behind. %s", many(ahead, "commit"), behind, base)
	return c, nil
}
