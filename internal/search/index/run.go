package index

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// pollTime is how often repositories are looked at for changes; less often where that takes more than a part of
	// pollShare of the time.
	pollTime  = 500 * time.Millisecond
	pollShare = 20
	// retryTime is the pause after a failure of the storage.
	retryTime = time.Minute
)

// Run keeps the index up to date until ctx ends: first the default branches of all repositories, then what other
// branches and tags lead to, and the commits of searches that found something missing.
func (x *Index) Run(ctx context.Context) {
	for ctx.Err() == nil {
		started := time.Now()
		changed, err := x.Update(ctx)
		pause := pollTime
		if changed == 0 {
			pause = max(pause, pollShare*time.Since(started))
		}
		if err != nil && ctx.Err() == nil {
			x.options.Logger.Error("the search index cannot be kept up to date; searches read files instead",
				"error", err)
			pause = retryTime
		}
		select {
		case <-ctx.Done():
		case <-x.wake:
		case <-time.After(pause):
		}
	}
}

// progress is what was indexed of repositories.
type progress struct {
	lost   int                          // of Index, when this began
	stamps map[string]refsStamp         // by repository
	trees  *lru.Cache[git.ID, struct{}] // trees that were looked at
}

// treeCost is the memory of a tree that is known to have been looked at.
const treeCost = 150

// refsStamp is that of the refs of a repository.
type refsStamp [len(repos.RefStamp{}.Sum)]byte

// Update indexes once what has changed, and returns how many repositories that were. One goroutine may call it, or
// Run.
func (x *Index) Update(ctx context.Context) (changed int, err error) {
	if x.progress.stamps == nil {
		x.receive(ctx)
	}
	b := x.newBuilder(ctx)
	defer b.queue.Close()
	x.mu.Lock()
	lost := x.lost
	x.mu.Unlock()
	if lost != x.progress.lost || x.progress.stamps == nil {
		trees := lru.New[git.ID, struct{}](x.options.Memory / treeShare)
		x.progress = progress{lost, make(map[string]refsStamp), trees}
	}
	pending := x.changed()
	for _, trees := range []treesOf{x.headTree, x.refTrees} {
		for name := range pending {
			_, pushed := x.progress.stamps[name]
			if err := b.setEvicts(pushed); err != nil {
				return len(pending), err
			}
			if err := b.indexTrees(name, trees); err != nil {
				return len(pending), err
			}
		}
		if err := b.flush(); err != nil {
			return len(pending), err
		}
	}
	maps.Copy(x.progress.stamps, pending)
	return len(pending), b.indexWanted()
}

// setEvicts decides whether what comes next makes room for itself. The files of before are written with the room that
// they may have.
func (b *builder) setEvicts(evicts bool) (err error) {
	if evicts != b.evicts {
		err = b.flush()
	}
	b.evicts = evicts
	return err
}

// changed returns the stamps of the repositories whose refs may have changed.
func (x *Index) changed() map[string]refsStamp {
	names := x.options.Repositories.Names()
	pending, present := make(map[string]refsStamp), make(map[string]refsStamp, len(names))
	for _, name := range names {
		repository, err := x.options.Repositories.Known(name)
		if err != nil {
			continue
		}
		stamp := refsStamp(repository.RefStamp().Sum)
		old, known := x.progress.stamps[name]
		if known {
			present[name] = old
		}
		if old != stamp {
			pending[name] = stamp
		}
	}
	x.progress.stamps = present
	return pending
}

// indexWanted indexes the commits that searches asked for.
func (b *builder) indexWanted() error {
	b.evicts = false
	b.mu.Lock()
	wanted := b.wanted
	b.wanted = nil
	b.mu.Unlock()
	for _, w := range wanted {
		tree := func(string, *git.Snapshot) []git.ID { return []git.ID{w.tree} }
		if err := b.indexTrees(w.repository, tree); err != nil {
			return err
		}
	}
	return b.flush()
}

// treesOf returns trees of a repository.
type treesOf func(name string, snapshot *git.Snapshot) []git.ID

// indexTrees indexes trees of a repository. A repository that cannot be read is passed over: searches report it.
func (b *builder) indexTrees(name string, of treesOf) (err error) {
	snapshot, err := b.options.Repositories.Snapshot(name)
	if err != nil {
		return b.ctx.Err()
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	trees := of(name, snapshot)
	if b.isFull() {
		trees = slices.DeleteFunc(trees, b.progress.isKnown)
	}
	if err := b.index(snapshot, trees); err != nil {
		return err
	}
	for _, tree := range trees {
		b.progress.trees.Put(tree, struct{}{}, treeCost)
	}
	return nil
}

// isKnown reports whether a tree was looked at before. In a full index it then has the room that it may have: otherwise
// a push of one branch would have all other branches and tags of its repository take the room of other repositories.
// A repository that comes when the index is full has room for what is pushed later.
func (p progress) isKnown(tree git.ID) bool {
	_, known := p.trees.Get(tree)
	return known
}

// headTree returns the tree of HEAD, and remembers what HEAD leads to.
func (x *Index) headTree(name string, snapshot *git.Snapshot) []git.ID {
	repository, err := x.options.Repositories.Known(name)
	if err != nil {
		return nil
	}
	head, err := snapshot.Head()
	if err != nil {
		return nil
	}
	commit, err := snapshot.Commit(head.Commit)
	if err != nil {
		return nil
	}
	x.RememberHead(repository, snapshot, commit)
	return []git.ID{commit.Tree}
}

// refTrees returns the trees that branches and tags lead to.
func (x *Index) refTrees(_ string, snapshot *git.Snapshot) (trees []git.ID) {
	refs, err := snapshot.RefsBelow(git.BranchPrefix, git.TagPrefix)
	if err != nil {
		return nil
	}
	seen := make(map[git.ID]bool, len(refs))
	for _, ref := range refs {
		if ref.Commit.IsZero() || ref.Damage != nil || seen[ref.Commit] {
			continue
		}
		seen[ref.Commit] = true
		if commit, err := snapshot.Commit(ref.Commit); err == nil {
			trees = append(trees, commit.Tree)
		}
	}
	return trees
}
