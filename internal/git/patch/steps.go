package patch

import (
	"context"
	"fmt"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
)

// Dots is how the two commits of a range are written.
type Dots string

// The meanings are those of git diff; patches of git format-patch are of the commits of BASE..HEAD
// with either.
const (
	Two   Dots = ".."  // from the base itself
	Three Dots = "..." // from the merge base
)

// maxCommits bounds the mails of a range: their files are found beforehand, at some 4,000 commits a
// second.
const maxCommits = 100_000

// ErrMerge means that a merge has no patch in the form of a mail.
var ErrMerge = fmt.Errorf("the commit is a merge, of which git format-patch makes no patch: %w", git.ErrNotFound)

// ErrUnrelated means that two commits have no merge base.
var ErrUnrelated = fmt.Errorf("the commits have no merge base: %w", git.ErrNotFound)

// Commit returns the step of a commit, compared with its first parent. The error is [ErrMerge] for
// the mail of a merge.
func Commit(
	ctx context.Context, snapshot *git.Snapshot, cache *history.Cache, form Form, commit git.ID,
) ([]history.Step, error) {
	step, parents, err := history.StepOf(ctx, snapshot, cache, commit)
	if err == nil && form == Mails && parents > 1 {
		err = ErrMerge
	}
	return []history.Step{step}, err
}

// Range returns the steps between two commits: one for a diff, and one for each commit that is no
// merge for mails. The error is [ErrUnrelated] if a diff needs a merge base and there is none, and
// [history.ErrTooMany] for too many mails.
func Range(
	ctx context.Context, snapshot *git.Snapshot, cache *history.Cache, form Form, base git.ID, dots Dots, head git.ID,
) ([]history.Step, error) {
	switch {
	case form == Mails:
		steps, err := history.Steps(ctx, snapshot, cache, base, head)
		if err == nil && len(steps) > maxCommits {
			err = history.ErrTooMany
		}
		return steps, err
	case dots == Two:
		return []history.Step{{Commit: head, Parent: base}}, nil
	}
	bases, err := history.MergeBases(ctx, snapshot, cache, base, head)
	if err != nil {
		return nil, err
	}
	if len(bases) == 0 {
		return nil, ErrUnrelated
	}
	return []history.Step{{Commit: head, Parent: bases[0]}}, nil
}
