package objects

import "github.com/repomcp/repomcp/internal/lru"

// objectCache keeps objects, for all repositories and readers; the least
// recently used go out. A [Store] has two.
//
// One keeps the bases of deltas. Chains are read from the object to its last
// base, and the neighbours of an object, in tree order as in pack order, mostly
// share that path: so every base that was needed goes in, the objects that were
// asked for do not.
//
// The other keeps small objects that were compared with their ids, but only
// while a repository has several snapshots: archives of one commit, or of
// neighbours, that are made at the same time go through the same files side by
// side. A single reader would fill it for nobody.
//
// The bytes in a cache are never changed, so readers hold them without a lock
// after they have left it.
type objectCache struct {
	shards [cacheShards]*lru.Cache[cacheKey, cached]
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

type cached struct {
	kind Type
	data []byte
}

// cachedOverhead is what an entry costs apart from its bytes.
const cachedOverhead = 200

func newCache(limit int64) *objectCache {
	c := &objectCache{limit: limit / cacheShards}
	for i := range c.shards {
		c.shards[i] = lru.New[cacheKey, cached](c.limit)
	}
	return c
}

func (c *objectCache) shard(key cacheKey) *lru.Cache[cacheKey, cached] {
	return c.shards[spread(key.offset)>>(64-cacheBits)]
}

func (c *objectCache) get(p *pack, off int64) (Type, []byte, bool) {
	key := cacheKey{p.key, off}
	object, ok := c.shard(key).Get(key)
	return object.kind, object.data, ok
}

// put keeps data, which nobody may change from here on. What would fill more
// than half of a shard is not kept.
func (c *objectCache) put(p *pack, off int64, kind Type, data []byte) {
	cost := int64(cap(data)) + cachedOverhead
	if cost > c.limit/2 {
		return
	}
	key := cacheKey{p.key, off}
	c.shard(key).GetOrPut(key, cached{kind, data}, cost)
}
