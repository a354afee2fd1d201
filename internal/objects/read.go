package objects

import (
	"errors"
	"io"
	"slices"
)

// Has says whether the object exists. Of a packed one only the index is read.
func (s *Snapshot) Has(id ID) (bool, error) {
	if err := s.enter(); err != nil {
		return false, err
	}
	defer s.leave()
	err := s.locate(id, func(*view, place) error { return nil }, func(v *view) error {
		object, err := v.openLoose(id)
		if err != nil {
			return err
		}
		return object.Close()
	})
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Stat returns the type and the size of an object without inflating more than
// headers: an entry's, a delta's, or a loose object's.
func (s *Snapshot) Stat(id ID) (kind Type, size int64, err error) {
	if err := s.enter(); err != nil {
		return 0, 0, err
	}
	defer s.leave()
	sc := s.db.store.takeScratch()
	defer s.db.store.giveScratch(sc)
	err = s.locate(id, func(v *view, at place) (err error) {
		kind, size, err = v.stat(sc, at)
		return err
	}, func(v *view) error {
		object, err := v.openLoose(id)
		if err != nil {
			return err
		}
		kind, size = object.Type(), object.Size()
		return object.Close()
	})
	if err != nil {
		return 0, 0, err
	}
	return kind, size, nil
}

// Read appends a whole object to buf, which may be nil, and returns what that
// becomes. An object of more than limit bytes is refused with [ErrTooLarge]
// before anything of its size is allocated. After an error buf is as it was,
// apart from bytes beyond its length.
func (s *Snapshot) Read(id ID, limit int64, buf []byte) (kind Type, data []byte, err error) {
	return s.read(id, limit, buf, false)
}

// ReadVerified is [Snapshot.Read], and compares the bytes with the id. A copy
// that does not match is damage; a sound one in another pack is taken instead.
func (s *Snapshot) ReadVerified(id ID, limit int64, buf []byte) (kind Type, data []byte, err error) {
	return s.read(id, limit, buf, true)
}

// sharedObject is the largest object that is kept for other readers: a larger
// one would push out many small ones, which cost more to find.
const sharedObject = 128 << 10

func (s *Snapshot) read(id ID, limit int64, buf []byte, verify bool) (kind Type, data []byte, err error) {
	if err := s.enter(); err != nil {
		return 0, buf, err
	}
	defer s.leave()
	sc := s.db.store.takeScratch()
	defer s.db.store.giveScratch(sc)
	sc.identified = verify
	// Others get only what was compared.
	share := verify && s.db.readers.Load() > 1
	err = s.locate(id, func(v *view, at place) (err error) {
		if share {
			if known, content, ok := v.store.shared.get(at.pack, at.off); ok && int64(len(content)) <= limit {
				kind, data = known, append(buf, content...)
				return nil
			}
		}
		kind, data, err = v.resolve(sc, at, limit, buf)
		if errors.Is(err, errSpill) {
			kind, data, err = readAll(buf, limit)(v.openPacked(id, at))
		}
		if err == nil && verify && sc.sum(kind, data[len(buf):]) != id {
			err = at.pack.damage(errWrongID)
		}
		if err == nil && share && len(data)-len(buf) <= sharedObject {
			v.store.shared.put(at.pack, at.off, kind, slices.Clone(data[len(buf):]))
		}
		return err
	}, func(v *view) (err error) {
		var quick bool
		if kind, data, quick = v.readSmallLoose(sc, id, limit, buf); quick {
			return nil
		}
		kind, data, err = readAll(buf, limit)(v.openLoose(id)) // always compared
		return err
	})
	if err != nil {
		return 0, buf, err
	}
	return kind, data, nil
}

// readAll returns a function that appends an object to buf and closes it.
func readAll(buf []byte, limit int64) func(*Object, error) (Type, []byte, error) {
	return func(object *Object, err error) (Type, []byte, error) {
		if err != nil {
			return 0, nil, err
		}
		defer func() { _ = object.Close() }()
		if object.Size() > limit {
			return 0, nil, ErrTooLarge
		}
		data, err := object.appendTo(buf)
		return object.Type(), data, err
	}
}

// Open opens an object of any size for reading. Damage that shows only while
// the object is read is reported by Read.
func (s *Snapshot) Open(id ID) (*Object, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	var object *Object
	err := s.locate(id, func(v *view, at place) (err error) {
		object, err = v.openPacked(id, at)
		return err
	}, func(v *view) (err error) {
		object, err = v.openLoose(id)
		return err
	})
	if err != nil {
		s.leave()
		return nil, err
	}
	object.release = s.leave
	return object, nil
}

// openPacked opens the object at a place: small ones and deltas in memory,
// others as a stream, deltas that are too large through temporary files.
func (v *view) openPacked(id ID, at place) (*Object, error) {
	s := v.store
	sc := s.takeScratch()
	defer s.giveScratch(sc)
	e, err := at.pack.entryAt(at.off, sc.window[:longestEntryHeader])
	if err != nil {
		return nil, err
	}
	if e.kind != ofsDelta && e.kind != refDelta && e.size > streamBuffer {
		object, err := s.openData(at, e)
		if err == nil {
			object.id = id
		}
		return object, err
	}
	object := &Object{id: id, store: s, damage: at.pack.damage}
	buf := s.takeBuffer()
	kind, data, err := v.resolve(sc, at, s.options.SpillBytes, (*buf)[:0])
	switch {
	case err == nil:
		object.kind, object.size = kind, int64(len(data))
		object.source = &memory{rest: data, buf: buf, store: s}
	case errors.Is(err, errSpill), errors.Is(err, ErrTooLarge):
		s.giveBuffer(buf)
		object.kind, object.size, object.source, err = v.openSpilled(sc, at)
	default:
		s.giveBuffer(buf)
	}
	if err != nil {
		return nil, err
	}
	object.left = object.size
	return object, nil
}

// openStream inflates an entry that is no delta, in a fixed buffer.
func (s *Store) openStream(at place, e entry) (source, error) {
	inflater := s.takeInflater()
	start := at.off + int64(e.length)
	if err := inflater.Reset(at.pack.file, start, at.pack.end-start); err != nil {
		s.giveInflater(inflater)
		return nil, at.pack.damage(err)
	}
	return &stream{inflater: inflater, store: s}, nil
}

// stat returns the type and the size of the object at a place.
func (v *view) stat(sc *scratch, at place) (Type, int64, error) {
	e, head, err := sc.glance.entryAt(at)
	if err != nil {
		return 0, 0, err
	}
	if e.kind != ofsDelta && e.kind != refDelta {
		return Type(e.kind), e.size, nil
	}
	_, size, err := sc.deltaHeader(at, e, head)
	if err != nil {
		return 0, 0, err
	}
	kind, err := v.kind(sc, at, e)
	return kind, size, err
}

// deltaHeader inflates the first bytes of a delta and reads the sizes of its
// base and its result. head may be nil.
func (sc *scratch) deltaHeader(at place, e entry, head []byte) (base, result int64, err error) {
	var buf [longestDeltaHeader]byte
	first := buf[:min(longestDeltaHeader, e.size)]
	err = sc.decoder.Prefix(first, head)
	if isTruncated(err) {
		start := at.off + int64(e.length)
		err = sc.inflater.Reset(at.pack.file, start, at.pack.end-start)
		if err == nil {
			_, err = io.ReadFull(&sc.inflater, first)
		}
	}
	if err != nil {
		return 0, 0, at.pack.damage(sizeError(err))
	}
	base, result, _, err = parseDeltaHeader(first)
	return base, result, at.pack.damage(err)
}

// kind walks a chain to its base, which has the type of the whole chain, and
// remembers the type for every link.
func (v *view) kind(sc *scratch, at place, e entry) (Type, error) {
	sc.links = sc.links[:0]
	for {
		kind, known := at.pack.kinds.get(at.off)
		if !known && e.kind != ofsDelta && e.kind != refDelta {
			kind, known = Type(e.kind), true
		}
		if !known {
			next, err := v.addLink(sc, link{place: at, entry: e})
			if err != nil {
				return 0, err
			}
			if next.pack != nil {
				if e, err = next.pack.entryAt(next.off, sc.window[:longestEntryHeader]); err != nil {
					return 0, err
				}
				at = next
				continue
			}
			if kind, err = v.looseKind(at.pack, e.baseID); err != nil {
				return 0, err
			}
		}
		for _, l := range sc.links {
			l.pack.kinds.put(l.off, kind)
		}
		return kind, nil
	}
}

func (v *view) looseKind(from *pack, id ID) (Type, error) {
	object, err := v.openLoose(id)
	if errors.Is(err, ErrNotFound) {
		return 0, from.damage(errNoBase)
	}
	if err != nil {
		return 0, err
	}
	return object.Type(), object.Close()
}
