package objects

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/git/objects/object"
	"github.com/repomcp/repomcp/internal/git/objects/pack"
)

// Snapshot is the objects that a repository had when it was taken, and those that were added since.
// It may be used by any number of goroutines and must be closed.
type Snapshot struct {
	db     *Database
	users  atomic.Int64 // running calls and open objects, one more until Close
	closed atomic.Bool
	reads  atomic.Uint64
	view   atomic.Pointer[view]

	mu     sync.Mutex // one goroutine looks for new packs, the others wait
	pinned []*packSet
}

// Snapshot pins the present packs of the repository. It returns [ErrBusy] if that takes more
// descriptors than are free.
func (db *Database) Snapshot() (*Snapshot, error) {
	s := &Snapshot{db: db}
	s.users.Store(1)
	db.readers.Add(1)
	db.store.snapshots.Add(1)
	if _, err := s.look(); err != nil {
		s.leave()
		return nil, err
	}
	return s, nil
}

// Close unpins the packs once the objects that are still open are closed too.
// Closing again does nothing.
func (s *Snapshot) Close() error {
	if !s.closed.Swap(true) {
		s.leave()
	}
	return nil
}

// enter begins a use of the snapshot, and leave ends it.
func (s *Snapshot) enter() error {
	for {
		n := s.users.Load()
		if n == 0 || s.closed.Load() {
			return ErrClosed
		}
		if s.users.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

func (s *Snapshot) leave() {
	if s.users.Add(-1) > 0 {
		return
	}
	s.db.readers.Add(-1)
	s.db.store.snapshots.Add(-1)
	for _, set := range s.pinned {
		s.db.store.descriptors.unpin(set)
	}
	s.pinned = nil
}

// refresh looks for packs that are newer than old. It returns nil if there are none.
func (s *Snapshot) refresh(old *view) (*view, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.view.Load(); now != old {
		return now, nil
	}
	changed, err := s.look()
	if err != nil || !changed {
		return nil, err
	}
	return s.view.Load(), nil
}

// look pins the present packs of all directories in addition to the pinned ones, and makes a view
// of both. changed reports whether any was new. Only the first look opens damaged files again that
// did not change: otherwise the missing objects of a damaged pack would each open the files of a
// new set of packs.
func (s *Snapshot) look() (changed bool, err error) {
	store := s.db.store
	found, err := store.searchPath(s.db.objects)
	if err != nil {
		return false, err
	}
	next := &view{store: store, beyond: found.outside, faults: found.faults}
	var sets []*packSet
	for _, d := range found.directories {
		set, err := d.acquire(s.view.Load() != nil)
		if err != nil {
			return false, err
		}
		if slices.Contains(s.pinned, set) {
			store.descriptors.unpin(set)
		} else {
			s.pinned = append(s.pinned, set)
			changed = true
		}
		next.dirs = append(next.dirs, d.path)
		sets = append(sets, set)
	}
	if old := s.view.Load(); old != nil && !changed && slices.Equal(old.dirs, next.dirs) && old.beyond == next.beyond &&
		found.faults == nil {
		return false, nil
	}
	for _, set := range sets {
		next.packed += set.count()
		for _, f := range set.faults {
			next.faults = append(next.faults, f.err)
		}
		next.unindexed = cmp.Or(next.unindexed, set.unindexed)
	}
	for _, set := range append(sets, s.pinned...) {
		next.add(set)
	}
	s.view.Store(next)
	return true, nil
}

// locate is [view.locate], and repeats it once if there are new packs: a repack moves objects and
// deletes the old packs.
func (s *Snapshot) locate(id ID, use func(*view, pack.Place) error) error {
	v := s.view.Load()
	err := v.locate(id, use)
	if errors.Is(err, ErrNotFound) || object.IsDamage(err) {
		newer, failure := s.refresh(v)
		switch {
		case failure != nil:
			err = failure
		case newer != nil:
			v = newer
			err = v.locate(id, use)
		}
	}
	if errors.Is(err, ErrNotFound) {
		err = s.missing(v)
	}
	return object.About(id, err)
}

// MayLack reports whether objects may be missing without damage: in a partial clone, and if an
// alternate is not read.
func (s *Snapshot) MayLack() bool { return s.view.Load().beyond || s.db.partial() }

// missing returns the error for an object that was found nowhere: a possible place that could not
// be read takes precedence.
func (s *Snapshot) missing(v *view) error {
	switch {
	case len(v.faults) > 0:
		return v.faults[0] // an unreadable index
	case v.beyond:
		return ErrOutside
	case s.db.partial():
		return ErrPartial
	case v.unindexed != "":
		return &NoIndexError{v.unindexed}
	default:
		return ErrNotFound
	}
}
