package search

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
)

// outcome is the result of searching one file.
type outcome uint8

const (
	unknown   outcome = iota
	none              // no line matches
	isBinary          // not searched
	isLarge           // not searched
	matches           // see finding
	noPattern         // has the name of a symbol, in a language whose definitions are unknown
	damaged           // could not be read
	excluded          // deselected by its content
)

// counts are those of a file of which nothing but its outcome is shown.
func (o outcome) counts() (c Counts, ok bool) {
	switch o {
	case none:
		c.Files = 1
	case isBinary:
		c.Binary = 1
	case isLarge:
		c.Large = 1
	case noPattern:
		c.Files, c.NoPattern = 1, 1
	default:
		return Counts{}, false
	}
	return c, true
}

// finding is what is known about a file with matches: [*packedLines], or [*tally] if files are ranked.
type finding interface {
	cost() int // in bytes
}

// fileKey identifies the content of a file and how it is read.
type fileKey struct {
	id       git.ID
	language string // whose definitions count; "" if none do
}

// treeAnswer is the outcome of a whole folder: the places of matches, and the counts between them.
type treeAnswer struct {
	children []child
	tail     Counts // after the last child
}

// child is a file with matches, or a folder that contains one.
type child struct {
	before Counts // after the child before it
	name   string
	id     git.ID
	folder bool
}

// treeKey identifies a folder's answer. The path is set only if the query selects files by path.
type treeKey struct {
	id   git.ID
	path string
}

// answerCache caches answers by query, within a limit of bytes. It evicts all answers of the least
// recently used query together.
type answerCache struct {
	limit   int64
	queries *lru.Cache[string, *answers]
}

// answers are all that is known for one query. Ids of files and folders identify their content, so
// an answer is right in every repository. The contents of answers are shared and immutable.
type answers struct {
	cache *answerCache
	key   string
	seed  maphash.Seed

	mu    sync.Mutex
	bytes int64
	empty map[uint64]outcome // outcomes of files without matches, by hash
	found map[fileKey]finding
	trees map[treeKey]*treeAnswer
}

func newAnswerCache(limit int64) *answerCache {
	return &answerCache{limit: limit, queries: lru.New[string, *answers](limit)}
}

func (c *answerCache) forQuery(key string) *answers {
	a := &answers{
		cache: c, key: key, seed: maphash.MakeSeed(), bytes: int64(answersCost + len(key)),
		empty: make(map[uint64]outcome), found: make(map[fileKey]finding), trees: make(map[treeKey]*treeAnswer),
	}
	return c.queries.GetOrPut(key, a, a.bytes)
}

// Costs of answers besides their strings: the sizes of the types and of their slots in maps, of
// which up to half are free.
const (
	answersCost = 1500
	treeCost    = 200
	childCost   = 96
	emptyCost   = 32
)

// reserve charges the cost of an addition and reports whether the addition is allowed. It refuses
// additions beyond half of the limit, and to evicted answers. Answers that are evicted during the
// call may come back; the limit holds either way. The caller holds a.mu.
func (a *answers) reserve(cost int) bool {
	bytes := a.bytes + int64(cost)
	if current, _ := a.cache.queries.Get(a.key); current != a || bytes > a.cache.limit/2 {
		return false
	}
	a.bytes = bytes
	a.cache.queries.Put(a.key, a, bytes)
	return true
}

// file returns the known outcome of a file.
func (a *answers) file(key fileKey) (outcome, finding) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.found[key]; f != nil {
		return matches, f
	}
	return a.empty[a.hash(key)], nil
}

// hash keeps the entries of files without matches, which are the majority, small. A collision of
// two ids is as likely as a bit flip in memory, and cannot be provoked without the seed.
func (a *answers) hash(key fileKey) uint64 { return maphash.Comparable(a.seed, key) }

// putFile stores the outcome of a file. Damage is not stored, because another copy may be sound.
func (a *answers) putFile(key fileKey, o outcome, f finding) {
	if o == damaged || o == excluded {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if o == matches {
		if a.found[key] == nil && a.reserve(f.cost()) {
			a.found[key] = f
		}
		return
	}
	if hash := a.hash(key); a.empty[hash] == unknown && a.reserve(emptyCost) {
		a.empty[hash] = o
	}
}

// tree returns the answer for a folder, or nil.
func (a *answers) tree(key treeKey) *treeAnswer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.trees[key]
}

// putTree stores the answer for a folder. It copies names and paths, which are substrings of whole
// trees and would keep these in memory.
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
