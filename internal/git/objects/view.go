package objects

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/git/objects/object"
	"github.com/repomcp/repomcp/internal/git/objects/pack"
)

// view is the content of a snapshot. It does not change; when new packs are found, the snapshot
// gets another view that has the old packs too.
type view struct {
	store  *Store
	dirs   []string // objects directories, for loose objects
	packs  []*pack.Pack
	midxes []*pack.MultiIndex
	faults []error                   // of indexes and alternates, which make absence uncertain
	beyond bool                      // an alternate is outside of the root
	last   atomic.Pointer[pack.Pack] // where the last object was found
	// unindexed is a pack without an index, or "". git writes the index last, so this alone is no
	// damage.
	unindexed string
	packed    uint64 // objects in the present packs: see [Snapshot.PackedCount]
}

func (v *view) add(set *packSet) {
	for _, p := range set.packs {
		if !slices.Contains(v.packs, p) {
			v.packs = append(v.packs, p)
		}
	}
	if set.midx != nil && !slices.Contains(v.midxes, set.midx) {
		v.midxes = append(v.midxes, set.midx)
	}
}

// Find returns the place of an object in a pack. The error is damage that was met on the way, and
// matters only if nothing was found.
func (v *view) Find(id ID) (at pack.Place, found bool, err error) {
	last := v.last.Load()
	if last != nil {
		if at, found, err = v.findIn(last, &id); found {
			return at, true, nil
		}
	}
	for _, m := range v.midxes {
		if p := m.Hint(&id); p != nil && p != last {
			if at, found, _ := v.findIn(p, &id); found {
				return at, true, nil
			}
		}
	}
	for _, p := range v.packs {
		if p == last {
			continue
		}
		at, found, failure := v.findIn(p, &id)
		if found {
			return at, true, nil
		}
		if err == nil {
			err = failure
		}
	}
	return at, false, err
}

func (v *view) findIn(p *pack.Pack, id *ID) (pack.Place, bool, error) {
	at, found, err := p.Find(id)
	if found && v.last.Load() != p {
		v.last.Store(p)
	}
	return at, found, err
}

// OpenLoose opens a loose object.
func (v *view) OpenLoose(id ID) (*Object, error) { return v.store.loose.Open(v.dirs, id) }

// open opens the copy of an object at a place, see locate.
func (v *view) open(id ID, at pack.Place) (*Object, error) {
	if at.Pack() == nil {
		return v.OpenLoose(id)
	}
	return v.store.packs.Open(id, at, v)
}

// locate calls use with the copies of an object, one after the other, until one is sound: with the
// places in packs, then with no place, which stands for the loose object.
func (v *view) locate(id ID, use func(*view, pack.Place) error) error {
	at, found, verdict := v.Find(id)
	if found {
		verdict = use(v, at)
		if !object.IsDamage(verdict) {
			return verdict
		}
	}
	if verdict != nil { // damage: another pack may have a copy
		for _, p := range v.packs {
			other, found, err := p.Find(&id)
			if err != nil || !found || p == at.Pack() {
				continue
			}
			if err := use(v, other); !object.IsDamage(err) {
				return err
			}
		}
	}
	err := use(v, pack.Place{})
	if errors.Is(err, ErrNotFound) && verdict != nil {
		return verdict
	}
	return err
}
