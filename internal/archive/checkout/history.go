package checkout

import (
	"context"
	"maps"
	"slices"

	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
)

// History is the commits of a checkout.
type History struct {
	Tags    []git.ID // annotated tags, from that of the ref to the one of the commit
	Commits []Link   // the commit of the ref first
	Cut     []git.ID // commits whose parents are left out
	Base    git.ID   // the root folder of what the client has; or zero
}

// Link is a commit with its root folder.
type Link struct{ ID, Tree git.ID }

// knows returns the set of commits.
func (h History) knows() map[git.ID]bool {
	known := make(map[git.ID]bool, len(h.Commits))
	for _, commit := range h.Commits {
		known[commit.ID] = true
	}
	return known
}

// FindHistory finds the commits that git clone --depth fetches of a ref: those with a distance below
// depth, which is 1 at least. Those at the end are cut, also if they have no parents. The commits at
// the end of a shallow mirror are cut as well.
//
// What is known is left out, but for the list of cut commits. A commit at the end is not cut if all
// its parents are known. The first known commit is the base.
func FindHistory(
	ctx context.Context, source tree.Source, ref Ref, depth int, known History, limits tree.Limits,
) (History, error) {
	h, err := findTags(source, ref)
	if err != nil {
		return History{}, err
	}
	ends, err := source.Shallow()
	if err != nil {
		return History{}, err
	}
	h.Cut = slices.Clone(known.Cut)
	if len(known.Commits) > 0 {
		h.Base = known.Commits[0].Tree
	}
	there := known.knows()
	isNew := func(id git.ID) bool { return !there[id] }
	var level []git.ID
	if isNew(ref.Commit) {
		level = append(level, ref.Commit)
	}
	for seen := maps.Clone(there); len(level) > 0; depth-- {
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
			if p := links.Parents; ends[id] || depth == 1 && (len(p) == 0 || slices.ContainsFunc(p, isNew)) {
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
			return h, git.MustExist(id, err)
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
		return git.CommitLinks{}, git.MustExist(id, err)
	}
	return git.ParseCommitLinks(id, raw)
}
