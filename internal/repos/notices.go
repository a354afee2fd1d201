package repos

import (
	"slices"
	"sync"
)

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

// damagedOf counts the refs that cannot be read, and returns the first of them.
func damagedOf(refs []Ref) (count int, first Ref) {
	for _, ref := range slices.Backward(refs) {
		if ref.Damage != nil {
			count, first = count+1, ref
		}
	}
	return count, first
}

// reportDamage tells the operator of refs that cannot be read, and has the repository examined.
func (r *Repository) reportDamage(refs []Ref) {
	key := r.dir + "/refs"
	damaged, first := damagedOf(refs)
	switch {
	case damaged == 0:
		r.catalogue.told.over(key)
	case r.catalogue.told.first(key):
		r.catalogue.logger.Error("refs of a repository cannot be read; run git fsck on the mirror",
			"repository", r.name, "refs", damaged, "of", len(refs), "first", first.Name, "error", first.Damage)
	}
	r.notice(first.Damage)
}
