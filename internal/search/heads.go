package search

import (
	"errors"
	"fmt"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

// head is the commit that the HEAD of a repository led to, and the stamp of the files that tell.
type head struct {
	ref          string
	stamp        repos.HeadStamp
	commit, tree git.ID
}

// The memory of heads: of some ten thousand repositories.
const (
	headCost = 400
	maxHeads = 20_000 * headCost
)

// knownHead returns the commit that HEAD leads to, if that is known and no file has changed since.
func (s *search) knownHead(name string) (head, bool) {
	known, ok := s.heads.Get(name)
	if !ok {
		return head{}, false
	}
	repository, err := s.view.Known(name)
	if err != nil {
		return head{}, false
	}
	stamp, err := repository.HeadStamp(known.ref)
	return known, err == nil && stamp == known.stamp
}

// openTarget takes the snapshot of a repository whose commit was known without.
func (s *search) openTarget(t *target) error {
	if t.snapshot != nil {
		return nil
	}
	snapshot, err := s.view.Snapshot(t.name)
	if err != nil {
		return err
	}
	if _, err := snapshot.Resolve(s.ctx, t.commit.String()); err != nil {
		return errors.Join(fmt.Errorf("repository %s: %w", t.name, err), snapshot.Close())
	}
	t.snapshot = snapshot
	return nil
}

// rememberHead remembers the commit of a snapshot's HEAD. The stamp is taken first, and HEAD is read once more, so that
// a push between them is not missed.
func (s *search) rememberHead(name string, snapshot *git.Snapshot, commit git.Commit) {
	repository, err := s.view.Known(name)
	if err != nil {
		return
	}
	if known, ok := s.heads.Get(name); ok && known.commit == commit.ID {
		if stamp, err := repository.HeadStamp(known.ref); err != nil || stamp == known.stamp {
			return
		}
	}
	before, err := snapshot.Head()
	if err != nil {
		return
	}
	stamp, err := repository.HeadStamp(before.Name)
	if err != nil {
		return
	}
	if now, err := snapshot.Head(); err == nil && now.Name == before.Name && now.Commit == commit.ID {
		s.heads.Put(name, head{before.Name, stamp, commit.ID, commit.Tree}, int64(headCost+len(name)))
	}
}
