package objects

import (
	"container/list"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/git/objects/files"
	"github.com/repomcp/repomcp/internal/git/objects/pack"
)

// descriptors bounds the open files of all repositories. The unit that it counts, pins and closes
// is a packSet: the packs of one objects directory.
//
// A set in use stays open. An unused set stays open too, until its descriptors are needed (least
// recently used first), its directory has a newer set, or [Store.CloseIdle] closes it.
type descriptors struct {
	mu    sync.Mutex
	limit int
	used  int
	done  bool      // the store is closed: unused sets are closed
	idle  list.List // of *packSet, the most recently used first
	// indexes is the memory of indexes; if it is used up, idle sets are closed too.
	indexes *pack.Budget
	sets    map[*pack.Pack]int // how many sets hold a pack
}

// packSet is one state of an objects directory: its packs as they were when the directory was read.
// Apart from the counters it does not change.
type packSet struct {
	packs  []*pack.Pack
	midx   *pack.MultiIndex // nil without a sound one
	faults []*fault         // unreadable indexes, which make absence uncertain
	opened time.Time        // when the packs were examined
	// unindexed is the first pack without an index, relative to the root, or "".
	unindexed string
	state     files.Seen // of the pack directory when it was read; guarded by directory.mu

	// Guarded by descriptors.mu.
	users   int
	retired bool // there is a newer set: close when the last user leaves
	closed  bool
	at      *list.Element // in descriptors.idle
	left    time.Time     // when the last user left
}

// count counts the objects in the packs. Those that a multi-pack-index covers count once.
func (s *packSet) count() (n uint64) {
	if s.midx != nil {
		n = s.midx.Count()
	}
	for _, p := range s.packs {
		if s.midx == nil || !s.midx.Covers(p) {
			n += p.Count()
		}
	}
	return n
}

// pin keeps a set open, and makes room for its indexes, as look-ups without it read their files. It returns false if
// the set was already closed.
func (d *descriptors) pin(set *packSet) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if set.closed {
		return false
	}
	set.users++
	if set.at != nil {
		d.idle.Remove(set.at)
		set.at = nil
	}
	d.makeRoom(0)
	return true
}

func (d *descriptors) unpin(set *packSet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if set.users--; set.users > 0 {
		return
	}
	if set.retired || d.done {
		d.closeSet(set)
		return
	}
	set.left = time.Now()
	set.at = d.idle.PushFront(set)
}

// retire marks a set that was replaced by a newer one.
func (d *descriptors) retire(set *packSet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	set.retired = true
	if set.users == 0 {
		d.closeSet(set)
	}
}

// addSet adds a set of open packs, some of which may be in other sets too, and pins it.
func (d *descriptors) addSet(set *packSet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	set.users = 1
	if d.sets == nil {
		d.sets = make(map[*pack.Pack]int)
	}
	for _, p := range set.packs {
		d.sets[p]++
	}
}

// makeRoom closes idle sets until there is room for n descriptors, and for a page of an index. The caller holds the
// lock.
func (d *descriptors) makeRoom(n int) {
	for d.used+n > d.limit || d.indexes.IsFull() {
		oldest := d.idle.Back()
		if oldest == nil {
			return
		}
		d.closeSet(oldest.Value.(*packSet))
	}
}

// reserve makes room for n descriptors before they are opened.
func (d *descriptors) reserve(n int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.makeRoom(n)
	if d.used+n > d.limit {
		return ErrBusy
	}
	d.used += n
	return nil
}

func (d *descriptors) count() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int64(d.used)
}

// release frees reserved descriptors that are not, or no longer, open.
func (d *descriptors) release(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used -= n
}

// close closes every unused set, and the others when their last user leaves.
func (d *descriptors) close() {
	d.mu.Lock()
	d.done = true
	d.mu.Unlock()
	d.closeIdle(time.Now())
}

func (d *descriptors) isClosed(set *packSet) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return set.closed
}

// closeIdle closes the sets that were unused since the given time.
func (d *descriptors) closeIdle(since time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for oldest := d.idle.Back(); oldest != nil; oldest = d.idle.Back() {
		set := oldest.Value.(*packSet)
		if set.left.After(since) {
			return
		}
		d.closeSet(set)
	}
}

// closeSet closes the files that no other set holds. The caller holds the lock.
func (d *descriptors) closeSet(set *packSet) {
	if set.closed {
		return
	}
	set.closed = true
	if set.at != nil {
		d.idle.Remove(set.at)
		set.at = nil
	}
	for _, p := range set.packs {
		if d.sets[p]--; d.sets[p] == 0 {
			delete(d.sets, p)
			d.closeFile(p)
		}
	}
	if set.midx != nil {
		d.closeFile(set.midx)
	}
}

// discard closes the files of a set that could not be completed.
func (d *descriptors) discard(packs []*pack.Pack, midx *pack.MultiIndex) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range packs {
		d.closeFile(p)
	}
	if midx != nil {
		d.closeFile(midx)
	}
}

func (d *descriptors) closeFile(file interface {
	Descriptors() int
	Close()
}) {
	d.used -= file.Descriptors()
	file.Close()
}
