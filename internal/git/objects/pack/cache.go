package pack

import (
	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git/objects/object"
)

// Cache caches objects of packs, for all repositories and readers, and drops the least recently
// used. Any number of goroutines may use it. Its bytes are never changed, so readers use them
// without a lock even after they were dropped.
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

// cachedOverhead is the cost of an entry besides its bytes.
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

// Get returns the object at a place, if it is cached. Its bytes must not be changed.
func (c *Cache) Get(at Place) (object.Type, []byte, bool) {
	key := cacheKey{at.pack.key, at.off}
	known, ok := c.shard(key).Get(key)
	return known.kind, known.data, ok
}

// Put caches data, which must not be changed from here on. It ignores data that would fill more
// than half of a shard.
func (c *Cache) Put(at Place, kind object.Type, data []byte) {
	cost := int64(cap(data)) + cachedOverhead
	if cost > c.limit/2 {
		return
	}
	key := cacheKey{at.pack.key, at.off}
	c.shard(key).GetOrPut(key, inflated{kind, data}, cost)
}
