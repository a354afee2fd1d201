package pack

import (
	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git/objects/object"
)

// Cache keeps objects of packs, for all repositories and readers; the least recently
// used go out. Any number of goroutines may use it. Its bytes are never changed, so
// readers hold them without a lock after they have left it.
type Cache struct {
	shards [cacheShards]*lru.Cache[cacheKey, inflated]
	limit  int64 // of a shard
}

// cacheShards keeps a reader from waiting for others: a lock is held for the
// time of a map access.
const (
	cacheBits   = 3
	cacheShards = 1 << cacheBits
)

type cacheKey struct {
	pack   uint64
	offset int64
}

// cachedOverhead is what an entry costs apart from its bytes.
const cachedOverhead = 200

// NewCache returns an empty cache for up to limit bytes.
func NewCache(limit int64) *Cache {
	c := &Cache{limit: limit / cacheShards}
	for i := range c.shards {
		c.shards[i] = lru.New[cacheKey, inflated](c.limit)
	}
	return c
}

func (c *Cache) shard(key cacheKey) *lru.Cache[cacheKey, inflated] {
	const goldenRatio = 0x9e3779b97f4a7c15 // of 64 bits: spreads neighbours, in the upper bits best
	return c.shards[uint64(key.offset)*goldenRatio>>(64-cacheBits)]
}

// Get returns the object at a place, if it is there. Its bytes must not be changed.
func (c *Cache) Get(at Place) (object.Type, []byte, bool) {
	key := cacheKey{at.pack.key, at.off}
	known, ok := c.shard(key).Get(key)
	return known.kind, known.data, ok
}

// Put keeps data, which nobody may change from here on. What would fill more
// than half of a shard is not kept.
func (c *Cache) Put(at Place, kind object.Type, data []byte) {
	cost := int64(cap(data)) + cachedOverhead
	if cost > c.limit/2 {
		return
	}
	key := cacheKey{at.pack.key, at.off}
	c.shard(key).GetOrPut(key, inflated{kind, data}, cost)
}
