package objects

import (
	"container/list"
	"sync"
)

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
	shards [cacheShards]cacheShard
}

// cacheShards keeps a reader from waiting for others: a lock is held for the
// time of a map access.
const (
	cacheBits   = 3
	cacheShards = 1 << cacheBits
)

type cacheShard struct {
	mu      sync.Mutex
	entries map[cacheKey]*list.Element
	recent  list.List // of *cached, the most recently used first
	bytes   int64
	limit   int64
}

type cacheKey struct {
	pack   uint64
	offset int64
}

type cached struct {
	key  cacheKey
	kind Type
	data []byte
}

// cachedOverhead is what an entry costs apart from its bytes.
const cachedOverhead = 200

func newCache(limit int64) *objectCache {
	c := new(objectCache)
	for i := range c.shards {
		c.shards[i].entries = make(map[cacheKey]*list.Element)
		c.shards[i].limit = limit / cacheShards
	}
	return c
}

func (c *objectCache) shard(key cacheKey) *cacheShard {
	return &c.shards[spread(key.offset)>>(64-cacheBits)]
}

func (c *objectCache) get(p *pack, off int64) (Type, []byte, bool) {
	key := cacheKey{p.key, off}
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.entries[key]
	if !ok {
		return 0, nil, false
	}
	s.recent.MoveToFront(at)
	entry := at.Value.(*cached)
	return entry.kind, entry.data, true
}

// put keeps data, which nobody may change from here on. What would fill more
// than half of a shard is not kept.
func (c *objectCache) put(p *pack, off int64, kind Type, data []byte) {
	key := cacheKey{p.key, off}
	s := c.shard(key)
	cost := int64(cap(data)) + cachedOverhead
	if cost > s.limit/2 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.entries[key]; ok {
		return
	}
	s.entries[key] = s.recent.PushFront(&cached{key, kind, data})
	s.bytes += cost
	for s.bytes > s.limit {
		oldest := s.recent.Remove(s.recent.Back()).(*cached)
		delete(s.entries, oldest.key)
		s.bytes -= int64(cap(oldest.data)) + cachedOverhead
	}
}
