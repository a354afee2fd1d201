package search

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
)

// outcome of searching a file.
type outcome uint8

const (
	unknown  outcome = iota
	none             // no line matches
	isBinary         // not searched
	isLarge          // not searched
	matches          // see packedLines
	damaged          // could not be read
	excluded         // not selected, as its content told
)

// treeAnswer is the outcome of a whole folder: where in it there are matches, and
// what was counted between them.
type treeAnswer struct {
	children []child
	tail     Counts // after the last child
}

// child is a file with matches or a folder that has such.
type child struct {
	before Counts // after the child before it
	name   string
	id     git.ID
	folder bool
}

// treeKey names a folder's answer. The path counts only when files are selected
// by it.
type treeKey struct {
	id   git.ID
	path string
}

// answerCache keeps answers by query, within a number of bytes. All answers of the
// least recently used query are dropped together.
type answerCache struct {
	limit   int64
	queries *lru.Cache[string, *answers]
}

// answers are all that is known for one query: ids of files and folders name their
// content, so that an answer is right in every repository. What is in them is
// shared and does not change.
type answers struct {
	cache *answerCache
	key   string
	seed  maphash.Seed

	mu    sync.Mutex
	bytes int64
	empty map[uint64]outcome // of files without matches, by hash
	found map[git.ID]*packedLines
	trees map[treeKey]*treeAnswer
}

func newAnswerCache(limit int64) *answerCache {
	return &answerCache{limit: limit, queries: lru.New[string, *answers](limit)}
}

// forQuery returns the answers for a query.
func (c *answerCache) forQuery(key string) *answers {
	a := &answers{
		cache: c, key: key, seed: maphash.MakeSeed(), bytes: int64(answersCost + len(key)),
		empty: make(map[uint64]outcome), found: make(map[git.ID]*packedLines), trees: make(map[treeKey]*treeAnswer),
	}
	return c.queries.GetOrPut(key, a, a.bytes)
}

// What answers take besides their texts: the sizes of the types, and of places in maps,
// of which up to half are free.
const (
	answersCost = 1500
	treeCost    = 200
	childCost   = 96
	emptyCost   = 32
)

// reserve charges the cost of an addition and reports whether it may be made. It may
// not beyond half of the limit, nor to answers that the cache has dropped. When they
// are dropped meanwhile they may come back; the limit is kept either way. The caller
// holds a.mu.
func (a *answers) reserve(cost int) bool {
	bytes := a.bytes + int64(cost)
	if current, _ := a.cache.queries.Get(a.key); current != a || bytes > a.cache.limit/2 {
		return false
	}
	a.bytes = bytes
	a.cache.queries.Put(a.key, a, bytes)
	return true
}

// file returns what is known about a file.
func (a *answers) file(id git.ID) (outcome, *packedLines) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.found[id]; f != nil {
		return matches, f
	}
	return a.empty[a.hash(id)], nil
}

// hash makes places of files without matches, which are most, small. That two ids have
// the same is as likely as a bit that flips in memory, and nobody can make it happen
// without the seed.
func (a *answers) hash(id git.ID) uint64 { return maphash.Comparable(a.seed, id) }

// putFile remembers the outcome of a file. Damage is not remembered: another copy
// may be sound.
func (a *answers) putFile(id git.ID, o outcome, f *packedLines) {
	if o == damaged || o == excluded {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if o == matches {
		if a.found[id] == nil && a.reserve(f.cost()) {
			a.found[id] = f
		}
		return
	}
	if hash := a.hash(id); a.empty[hash] == unknown && a.reserve(emptyCost) {
		a.empty[hash] = o
	}
}

// tree returns the answer for a whole folder, or nil.
func (a *answers) tree(key treeKey) *treeAnswer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.trees[key]
}

// putTree remembers the answer for a folder. It keeps copies: names and paths are
// parts of whole trees, which would stay with them.
func (a *answers) putTree(key treeKey, t treeAnswer) {
	cost := treeCost + len(key.path)
	for i := range t.children {
		cost += childCost + len(t.children[i].name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trees[key] != nil || !a.reserve(cost) {
		return
	}
	t.children = slices.Clone(t.children)
	for i := range t.children {
		t.children[i].name = strings.Clone(t.children[i].name)
	}
	key.path = strings.Clone(key.path)
	a.trees[key] = &t
}
