// Package lru is a cache that is bounded by what its values cost: when they cost
// more than the limit together, those that were not used for longest go out.
package lru

import (
	"container/list"
	"sync"
)

// Cache maps keys to values. Costs and the limit are of any unit, mostly bytes of
// memory with all that the entry itself takes. Any number of goroutines may use a
// Cache; a value that callers change needs a lock of its own.
type Cache[K comparable, V any] struct {
	mu          sync.Mutex
	limit, used int64
	entries     map[K]*list.Element
	recent      list.List // of *entry[K, V], the latest first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	cost  int64
}

// New returns an empty cache.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, entries: make(map[K]*list.Element)}
}

// Get finds a value and marks it as used.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get(key)
}

// Put keeps a value, in place of the one that the key has had. A value that costs
// more than the limit is not kept.
func (c *Cache[K, V]) Put(key K, value V, cost int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, value, cost)
}

// GetOrPut returns the value that the key has as Get does, or else puts another.
func (c *Cache[K, V]) GetOrPut(key K, value V, cost int64) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.get(key); ok {
		return known
	}
	c.put(key, value, cost)
	return value
}

// Size returns how many values there are and what they cost together.
func (c *Cache[K, V]) Size() (values int, cost int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len(), c.used
}

func (c *Cache[K, V]) get(key K) (value V, ok bool) {
	element := c.entries[key]
	if element == nil {
		return value, false
	}
	c.recent.MoveToFront(element)
	return element.Value.(*entry[K, V]).value, true
}

func (c *Cache[K, V]) put(key K, value V, cost int64) {
	if old := c.entries[key]; old != nil {
		c.remove(old)
	}
	if cost > c.limit {
		return
	}
	c.entries[key] = c.recent.PushFront(&entry[K, V]{key, value, cost})
	for c.used += cost; c.used > c.limit; {
		c.remove(c.recent.Back())
	}
}

func (c *Cache[K, V]) remove(element *list.Element) {
	gone := c.recent.Remove(element).(*entry[K, V])
	delete(c.entries, gone.key)
	c.used -= gone.cost
}
