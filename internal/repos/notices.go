package repos

import "sync"

// notices remember what the operator was told, so that a state that lasts is
// logged once and not at each look at it. Keys are folders below the root.
type notices struct {
	mu   sync.Mutex
	told map[string]bool
}

// first reports whether the operator has not been told yet, and notes that it
// was.
func (n *notices) first(key string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told[key] {
		return false
	}
	if n.told == nil {
		n.told = make(map[string]bool)
	}
	n.told[key] = true
	return true
}

// over says that a state has ended: when it comes again it is news.
func (n *notices) over(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.told, key)
}
