package index

import (
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

// Head is the commit that the HEAD of a repository leads to.
type Head struct{ Commit, Tree git.ID }

// knownHead is a head, with the file that holds its ref and the stamp of the files that tell.
type knownHead struct {
	Head
	holder string
	stamp  repos.HeadStamp
}

// The memory of heads: of some ten thousand repositories.
const (
	headCost = 400
	maxHeads = 20_000 * headCost
)

// Head returns the commit that HEAD leads to, if that is known and no file has changed since, or shortly before.
func (x *Index) Head(repository *repos.Repository) (Head, bool) {
	known, ok := x.heads.Get(repository.Name())
	if !ok {
		return Head{}, false
	}
	stamp, err := repository.HeadStamp(known.holder)
	return known.Head, err == nil && known.stamp.IsStill(&stamp)
}

// RememberHead remembers the commit of a snapshot's HEAD. The stamp is taken first, and HEAD is read once more, so that
// a push between them is not missed. A HEAD that leads to its commit by way of several refs is read in each search: the
// stamp is of one alone.
func (x *Index) RememberHead(repository *repos.Repository, snapshot *git.Snapshot, commit git.Commit) {
	if known, ok := x.Head(repository); ok && known.Commit == commit.ID {
		return
	}
	before, err := snapshot.Head()
	if err != nil {
		return
	}
	holder := snapshot.HolderOf(before.Name)
	stamp, err := repository.HeadStamp(holder)
	if err != nil {
		return
	}
	now, err := snapshot.Head()
	if err != nil || now.Name != before.Name || now.Commit != commit.ID || !isDirect(snapshot, now) {
		return
	}
	name := repository.Name()
	x.heads.Put(name, knownHead{Head{commit.ID, commit.Tree}, holder, stamp}, int64(headCost+len(name)))
}

// isDirect reports whether HEAD holds its commit, or points to the branch that does.
func isDirect(snapshot *git.Snapshot, head git.Ref) bool {
	branch, err := snapshot.DefaultBranch()
	return err == nil && (branch != "" && branch == head.Branch() || head.Name == "HEAD")
}
