package history

import (
	"hash/maphash"
	"sync"

	"github.com/repomcp/repomcp/internal/git"
)

// ancestry caches commits of a repository. Commits are numbered in the order of their discovery,
// for example as parents, so that a walk looks up an id once. It is safe for concurrent use.
type ancestry struct {
	mu sync.Mutex
	growing
	count   uint32
	blocks  []*[blockCommits]record // records never move
	parents []uint32                // parents of all commits, concatenated after a 0
	slots   []uint64                // hash and number plus one; the length is a power of two
	seed    maphash.Seed
}

// record is a cached commit.
type record struct {
	id, tree    git.ID
	date        uint64
	first, last uint32 // range of its own parents; both are 0 until the commit is read
}

const (
	// blockCommits is the unit of allocation.
	blockCommits = 128
	// commitCost is the size of a record, its slots, a third or more of which are free, and
	// slightly more than one parent.
	commitCost = 56 + 16 + 8
)

// at returns the record of a number. The caller holds the lock.
func (a *ancestry) at(n uint32) *record { return &a.blocks[n/blockCommits][n%blockCommits] }

// number returns the number of a commit, a new one if necessary.
func (a *ancestry) number(id git.ID) uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.find(id)
}

func (a *ancestry) find(id git.ID) uint32 {
	if int(a.count) >= len(a.slots)/4*3 {
		a.addSlots()
	}
	hash := maphash.Bytes(a.seed, id[:]) >> 32
	mask := uint64(len(a.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		switch slot := a.slots[at]; {
		case slot == 0:
			n := a.count
			a.slots[at] = hash<<32 | uint64(n+1)
			a.add(id)
			return n
		case slot>>32 == hash:
			if n := uint32(slot) - 1; a.at(n).id == id {
				return n
			}
		}
	}
}

// addSlots grows the hash table.
func (a *ancestry) addSlots() {
	old := a.slots
	a.slots = make([]uint64, max(2*len(old), 2*blockCommits))
	mask := uint64(len(a.slots) - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := slot >> 32 & mask
		for a.slots[at] != 0 {
			at = (at + 1) & mask
		}
		a.slots[at] = slot
	}
}

// add creates the record of the next number.
func (a *ancestry) add(id git.ID) {
	if a.count%blockCommits == 0 {
		a.blocks = append(a.blocks, new([blockCommits]record))
		a.grow(a, blockCommits*commitCost)
	}
	a.count++
	a.at(a.count - 1).id = id
}

// id returns the commit of a number.
func (a *ancestry) id(n uint32) git.ID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at(n).id
}

// recall returns what is cached of a commit. The caller must not change the list of parents.
func (a *ancestry) recall(n uint32) (l links, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.links(n), a.at(n).last > 0
}

// remember caches a commit; see recall.
func (a *ancestry) remember(n uint32, read git.CommitLinks) links {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.at(n); r.last == 0 {
		first := len(a.parents)
		for _, id := range read.Parents {
			a.parents = append(a.parents, a.find(id))
		}
		r.tree, r.date, r.first, r.last = read.Tree, read.Date, uint32(first), uint32(len(a.parents))
		if surplus := len(read.Parents) - 1; surplus > 0 {
			a.grow(a, 8*int64(surplus))
		}
	}
	return a.links(n)
}

func (a *ancestry) links(n uint32) links {
	r := a.at(n)
	return links{tree: r.tree, date: r.date, parents: a.parents[r.first:r.last:r.last]}
}
