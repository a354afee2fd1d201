package mcp

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/newest"
)

const (
	// maxSeeds bounds the tips of branches and tags whose ids are offered.
	maxSeeds = 200
	// maxRecent bounds the commits of one search.
	maxRecent = 400
	// minResolved is the number of digits from which on all commits are searched.
	minResolved = 4
)

// isHexPrefix reports whether a string can be the beginning of a commit id.
func isHexPrefix(typed string) bool {
	return typed != "" && len(typed) <= 2*len(git.ID{}) && strings.Trim(typed, "0123456789abcdef") == ""
}

// shortIDs are abbreviated ids of recent commits, the newest first, that no other object's id
// begins with.
func (c completions) shortIDs(ctx context.Context, q question) (answer, error) {
	repository, tips, err := c.tipsOf(q)
	if err != nil || q.typed != "" && !isHexPrefix(q.typed) {
		return answer{}, err
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = snapshot.Close() }() // it was only read
	found := answer{ranked: true, cut: true}
	var fitting []git.ID
	if len(q.typed) >= minResolved {
		fitting, found.cut = resolved(ctx, snapshot, q.typed)
	}
	if found.cut { // few digits, or a long history
		var recent []git.ID
		recent, found.cut = recentCommits(ctx, snapshot, tips)
		fitting = slices.DeleteFunc(recent, func(id git.ID) bool { return !strings.HasPrefix(id.String(), q.typed) })
	}
	digits := -1
	for _, id := range fitting {
		short, err := snapshot.Abbreviate(id, digits)
		if err == nil && len(short) < len(q.typed) {
			short, err = snapshot.Abbreviate(id, len(q.typed))
		}
		if err != nil {
			return answer{}, err
		}
		if found.values = append(found.values, short); len(found.values) > maxCompletions {
			break
		}
	}
	found.cut = found.cut || len(found.values) < len(fitting)
	return found, nil
}

// resolved returns the served commits whose ids begin with the digits; cut reports that not all of
// the history was searched.
func resolved(ctx context.Context, snapshot *git.Snapshot, digits string) (ids []git.ID, cut bool) {
	commit, err := snapshot.Resolve(ctx, digits)
	var ambiguous *git.AmbiguousError
	switch {
	case err == nil && strings.HasPrefix(commit.ID.String(), digits):
		return []git.ID{commit.ID}, false
	case errors.As(err, &ambiguous):
		return ambiguous.Candidates, false
	default:
		return nil, errors.Is(err, git.ErrSteps)
	}
}

// recentCommits walks from the tips to older commits; more reports that it did not reach the end.
func recentCommits(ctx context.Context, snapshot *git.Snapshot, tips *git.Tips) (ids []git.ID, more bool) {
	seen := make(map[git.ID]bool)
	var queue newest.Queue[git.Commit]
	push := func(id git.ID) {
		if seen[id] {
			return
		}
		seen[id] = true
		if commit, err := snapshot.Commit(id); err == nil {
			// Commits of the same second are ordered by id, so the order does not depend on the
			// walk.
			queue.PushRanked(uint64(commit.Committer.When().Unix()), ^binary.BigEndian.Uint64(id[:]), commit)
		}
	}
	for i, name := range append([]string{"HEAD"}, tips.Names...) {
		if i == maxSeeds || ctx.Err() != nil {
			more = true
			break
		}
		if id, ok := tips.ID(name); ok {
			if commit, err := snapshot.CommitOf(id); err == nil {
				push(commit)
			}
		}
	}
	for queue.Len() > 0 {
		if len(ids) == maxRecent || ctx.Err() != nil {
			return ids, true
		}
		commit := queue.Pop()
		ids = append(ids, commit.ID)
		for _, parent := range commit.Parents {
			push(parent)
		}
	}
	return ids, more
}
