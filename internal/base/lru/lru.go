// Package lru is a cache with a limit on the total cost of its values: it evicts the least recently
// used ones.
package lru

import (
	"container/list"
	"sync"
)

// Cache maps keys to values. Costs and the limit have any unit, mostly bytes of memory including
// the entry itself. A Cache is safe for concurrent use; values that callers change need their own
// locks.
type Cache[K comparable, V any] struct {
	mu          sync.Mutex
	limit, used int64
	entries     map[K]*list.Element
	recent      list.List // of *entry[K, V], most recent first
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

// Put stores or replaces a value. It does not store a value that costs more than the limit.
func (c *Cache[K, V]) Put(key K, value V, cost int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, value, cost)
}

// GetOrPut returns the existing value as Get does, or else stores another one.
func (c *Cache[K, V]) GetOrPut(key K, value V, cost int64) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.get(key); ok {
		return known
	}
	c.put(key, value, cost)
	return value
}

// Size returns the number of values and their total cost.
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
