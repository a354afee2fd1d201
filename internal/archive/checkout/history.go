package checkout

import (
	"context"

	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
)

// History is the commits of a checkout.
type History struct {
	Tags    []git.ID // annotated tags, from that of the ref to the one of the commit
	Commits []Link   // the commit of the ref first
	Cut     []git.ID // commits whose parents are left out
}

// Link is a commit with its root folder.
type Link struct{ ID, Tree git.ID }

// FindHistory finds the commits that git clone --depth fetches of a ref: those with a distance below
// depth, which is 1 at least. Those at the end are cut, also if they have no parents. The commits at
// the end of a shallow mirror are cut as well.
func FindHistory(ctx context.Context, source tree.Source, ref Ref, depth int, limits tree.Limits) (History, error) {
	h, err := findTags(source, ref)
	if err != nil {
		return History{}, err
	}
	ends, err := source.Shallow()
	if err != nil {
		return History{}, err
	}
	seen := map[git.ID]bool{ref.Commit: true}
	for level := []git.ID{ref.Commit}; len(level) > 0; depth-- {
		var next []git.ID
		for _, id := range level {
			if err := context.Cause(ctx); err != nil {
				return History{}, err
			}
			links, err := readLinks(source, id)
			if err != nil {
				return History{}, err
			}
			if h.Commits = append(h.Commits, Link{id, links.Tree}); int64(len(h.Commits)) > limits.Entries {
				return History{}, limits.EntriesExceeded()
			}
			if depth == 1 || ends[id] {
				h.Cut = append(h.Cut, id)
				continue
			}
			for _, parent := range links.Parents {
				if !seen[parent] {
					seen[parent] = true
					next = append(next, parent)
				}
			}
		}
		level = next
	}
	return h, nil
}

// findTags follows annotated tags from a ref to its commit.
func findTags(source tree.Source, ref Ref) (h History, err error) {
	for id := ref.Target; id != ref.Commit; {
		h.Tags = append(h.Tags, id)
		raw, err := source.RawTag(id)
		if err != nil {
			return h, tree.Damaged(err)
		}
		if id, err = git.ParseTagTarget(id, raw); err != nil {
			return h, err
		}
	}
	return h, nil
}

func readLinks(source tree.Source, id git.ID) (git.CommitLinks, error) {
	raw, err := source.RawCommit(id)
	if err != nil {
		return git.CommitLinks{}, tree.Damaged(err)
	}
	return git.ParseCommitLinks(id, raw)
}
