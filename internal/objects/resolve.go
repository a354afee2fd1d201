package objects

import (
	"errors"
	"slices"
)

// errSpill says inside the package that an object is too large for memory.
var errSpill = errors.New("object is resolved through temporary files")

// place is where an object lies in a pack.
type place struct {
	pack *pack
	off  int64
}

// link is one delta of a chain.
type link struct {
	place
	entry  entry
	base   int64 // sizes from the header of the delta
	result int64
	lo, hi int // its instructions in scratch.deltas; none when hi is 0
}

// inflated is an object in memory, or the part of a chain that is.
type inflated struct {
	kind Type
	data []byte
}

// resolve reads the object at a place and appends it to buf. It gives
// ErrTooLarge when it is larger than limit, before anything of that size is
// allocated, and errSpill when a part of its chain is too large for memory.
//
// The way down to the base collects the inflated deltas, which are small; the
// way back applies them and leaves each base in the cache.
func (v *view) resolve(sc *scratch, at place, limit int64, buf []byte) (Type, []byte, error) {
	base, err := v.descend(sc, at, limit, &buf)
	if err != nil {
		return 0, nil, err
	}
	links := sc.links
	if len(links) == 0 {
		return base.kind, buf, nil
	}
	for i := len(links) - 1; i > 0; i-- {
		out := make([]byte, links[i].result)
		if err := v.apply(sc, links[i], base.data, out); err != nil {
			return 0, nil, err
		}
		base.data = out
		v.store.bases.put(links[i].pack, links[i].off, base.kind, out)
	}
	start := len(buf)
	buf = grow(buf, links[0].result)
	if err := v.apply(sc, links[0], base.data, buf[start:]); err != nil {
		return 0, nil, err
	}
	return base.kind, buf, nil
}

// descend collects the links of a chain in sc.links and returns its base. When
// the object is no delta, there are no links and it is appended to *buf.
func (v *view) descend(sc *scratch, at place, limit int64, buf *[]byte) (inflated, error) {
	sc.links, sc.deltas = sc.links[:0], sc.deltas[:0]
	for {
		if kind, data, ok := v.store.bases.get(at.pack, at.off); ok {
			return v.fromCache(sc, inflated{kind, data}, limit, buf)
		}
		e, head, err := sc.entryAt(at)
		if err != nil {
			return inflated{}, err
		}
		if e.kind != ofsDelta && e.kind != refDelta {
			return v.wholeEntry(sc, at, e, head, limit, buf)
		}
		next, err := v.link(sc, at, e, head, limit)
		if err != nil {
			return inflated{}, err
		}
		if next.pack == nil {
			return v.looseBase(sc, e.baseID)
		}
		at = next
	}
}

func (v *view) fromCache(sc *scratch, base inflated, limit int64, buf *[]byte) (inflated, error) {
	if len(sc.links) > 0 {
		return base, nil
	}
	if int64(len(base.data)) > limit {
		return inflated{}, ErrTooLarge
	}
	*buf = append(*buf, base.data...)
	return base, nil
}

// wholeEntry inflates an entry that is no delta: into *buf when it is the
// object that was asked for, into memory of its own when it is a base.
func (v *view) wholeEntry(sc *scratch, at place, e entry, head []byte, limit int64, buf *[]byte) (inflated, error) {
	base := inflated{kind: Type(e.kind)}
	if len(sc.links) == 0 {
		if e.size > limit {
			return inflated{}, ErrTooLarge
		}
		start := len(*buf)
		*buf = grow(*buf, e.size)
		sc.decoder.SkipChecksum = sc.identified
		defer func() { sc.decoder.SkipChecksum = false }()
		return base, sc.inflate((*buf)[start:], at.pack, at.off, e, head)
	}
	if e.size > v.store.options.SpillBytes {
		return inflated{}, errSpill
	}
	base.data = make([]byte, e.size)
	if err := sc.inflate(base.data, at.pack, at.off, e, head); err != nil {
		return inflated{}, err
	}
	v.store.bases.put(at.pack, at.off, base.kind, base.data)
	return base, nil
}

// link inflates the delta at a place, adds it to sc.links and returns the place
// of its base; no pack when the base is a loose object. The first link is the
// object itself, which must not be larger than limit.
func (v *view) link(sc *scratch, at place, e entry, head []byte, limit int64) (place, error) {
	if e.size > v.store.options.SpillBytes {
		return place{}, errSpill
	}
	delta, kept := sc.room(e.size)
	if err := sc.inflate(delta, at.pack, at.off, e, head); err != nil {
		return place{}, err
	}
	base, result, rest, err := parseDeltaHeader(delta)
	if err != nil {
		return place{}, at.pack.damage(err)
	}
	if len(sc.links) == 0 && result > limit {
		return place{}, ErrTooLarge
	}
	if base > v.store.options.SpillBytes || result > v.store.options.SpillBytes {
		return place{}, errSpill
	}
	l := link{place: at, entry: e, base: base, result: result}
	if kept {
		l.hi = len(sc.deltas)
		l.lo = l.hi - len(rest)
	}
	return v.addLink(sc, l)
}

// addLink adds a delta to the chain and returns the place of its base.
func (v *view) addLink(sc *scratch, l link) (place, error) {
	sc.links = append(sc.links, l)
	if len(sc.links) > v.store.options.MaxDeltaDepth {
		return place{}, ErrTooLarge
	}
	return v.baseOf(sc.links, l)
}

// baseOf finds the base of the last link. The base of a ref-delta is in the
// same pack, where git looks first; only a thin pack that somebody put there
// has it elsewhere.
func (v *view) baseOf(links []link, l link) (place, error) {
	if l.entry.kind == ofsDelta {
		return place{l.pack, l.entry.base}, nil
	}
	next := place{pack: l.pack}
	off, found, err := l.pack.find(&l.entry.baseID)
	if err != nil {
		return place{}, err
	}
	next.off = off
	if !found {
		next, found, err = v.find(l.entry.baseID)
		if err != nil {
			return place{}, err
		}
		if !found {
			return place{}, nil
		}
	}
	// Every cycle has a step that does not lead backwards in its pack.
	if next.pack != l.pack || next.off >= l.off {
		if slices.ContainsFunc(links, func(l link) bool { return l.place == next }) {
			return place{}, l.pack.damage(errDeltaCycle)
		}
	}
	return next, nil
}

// looseBase reads the base of a chain from a loose object.
func (v *view) looseBase(sc *scratch, id ID) (inflated, error) {
	from := sc.links[len(sc.links)-1].pack
	object, err := v.openLoose(id)
	if errors.Is(err, ErrNotFound) {
		return inflated{}, from.damage(errNoBase)
	}
	if err != nil {
		return inflated{}, err
	}
	defer func() { _ = object.Close() }()
	if object.Size() > v.store.options.SpillBytes {
		return inflated{}, errSpill
	}
	data, err := object.appendTo(nil)
	return inflated{object.Type(), data}, err
}

// apply applies one delta of a chain.
func (v *view) apply(sc *scratch, l link, base, out []byte) error {
	if int64(len(base)) != l.base {
		return l.pack.damage(errWrongSize)
	}
	if l.hi > 0 {
		return l.pack.damage(applyDelta(out, base, sc.deltas[l.lo:l.hi]))
	}
	delta := sc.single(l.entry.size)
	if err := sc.inflate(delta, l.pack, l.off, l.entry, nil); err != nil {
		return err
	}
	_, _, rest, err := parseDeltaHeader(delta)
	if err != nil {
		return l.pack.damage(err)
	}
	return l.pack.damage(applyDelta(out, base, rest))
}

// room returns size bytes for an inflated delta: among those of the chain, which
// stay until the chain is done, or else in the buffer for a single one.
func (sc *scratch) room(size int64) (delta []byte, kept bool) {
	start := len(sc.deltas)
	if int64(start)+size > keptDeltas {
		return sc.single(size), false
	}
	sc.deltas = grow(sc.deltas, size)
	return sc.deltas[start:], true
}

func (sc *scratch) single(size int64) []byte {
	if int64(cap(sc.delta)) < size {
		sc.delta = make([]byte, size)
	}
	return sc.delta[:size]
}

// grow lengthens b by n bytes, whose content is not defined.
func grow(b []byte, n int64) []byte {
	return slices.Grow(b, int(n))[:len(b)+int(n)]
}
