package repos

import "sync"

// notices remember what was logged, so that a lasting state is logged once and not at each check.
// Keys are folders below the root.
type notices struct {
	mu   sync.Mutex
	told map[string]bool
}

// first reports whether a state has not been logged yet, and notes that it is.
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

// over says that a state has ended: it is logged again if it returns.
func (n *notices) over(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.told, key)
}
