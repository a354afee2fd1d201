package pack

import (
	"errors"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/git/inflate"
	"github.com/repomcp/repomcp/internal/git/objects/object"
)

var (
	errDeltaCycle = errors.New("delta chain leads back to itself")
	errNoBase     = errors.New("base of a delta is missing")
	// errSpill says, only within the package, that an object is too large for memory.
	errSpill = fmt.Errorf("%w for memory", object.ErrTooLarge)
)

// link is one delta of a chain.
type link struct {
	Place
	entry  entry
	base   int64 // sizes from the header of the delta
	result int64
	lo, hi int // its instructions in resolver.deltas
}

// inflated is an object in memory.
type inflated struct {
	kind object.Type
	data []byte
}

// descend collects the deltas from the object at a place to its base in s.links. visit reads the
// entry at the next place, and is done when that ends the chain. descend returns a base that is a
// loose object.
func (s *resolver) descend(at Place, visit func(Place) (l link, done bool, err error)) (*object.Object, error) {
	s.links, s.deltas = s.links[:0], s.deltas[:0]
	for {
		l, done, err := visit(at)
		if done || err != nil {
			return nil, err
		}
		s.links = append(s.links, l)
		if len(s.links) > s.packs.limits.DeltaDepth {
			return nil, object.ErrTooLarge
		}
		if at, err = s.baseOf(l); err != nil {
			return nil, err
		}
		if at.pack == nil {
			loose, err := s.elsewhere.OpenLoose(l.entry.baseID)
			if errors.Is(err, object.ErrNotFound) {
				err = l.pack.damage(errNoBase)
			}
			return loose, err
		}
	}
}

// baseOf returns the place of the base of the last link; no place if it is in no pack. The base of
// a ref-delta is normally in the same pack, where git looks first; only a thin pack in the
// repository has it elsewhere.
func (s *resolver) baseOf(l link) (Place, error) {
	if l.entry.kind == ofsDelta {
		return Place{l.pack, l.entry.base}, nil
	}
	next, found, err := l.pack.Find(&l.entry.baseID)
	if err == nil && !found {
		next, found, err = s.elsewhere.Find(l.entry.baseID)
	}
	if err != nil || !found {
		return Place{}, err
	}
	// Every cycle has a step that does not lead backwards in its pack.
	if next.pack != l.pack || next.off >= l.off {
		if slices.ContainsFunc(s.links, func(l link) bool { return l.Place == next }) {
			return Place{}, l.pack.damage(errDeltaCycle)
		}
	}
	return next, nil
}

// typeOf returns the type of the base of a chain, which is the type of the whole chain.
func (s *resolver) typeOf(at Place) (kind object.Type, err error) {
	loose, err := s.descend(at, func(at Place) (l link, done bool, err error) {
		e, _, err := s.entryAt(at, longestEntryHeader)
		kind = e.kind
		return link{Place: at, entry: e}, !e.isDelta(), err
	})
	if err != nil {
		return 0, err
	}
	if loose != nil {
		kind = loose.Type()
		_ = loose.Close() // only its header was read
	}
	return kind, nil
}

// resolve reads the object at a place and appends it to buf. It fails with ErrTooLarge if the
// object is larger than limit, before anything of that size is allocated, and with errSpill if a
// part of its chain is too large for memory.
//
// The way down to the base collects the inflated deltas, which are small; the way back applies them
// and leaves each base in the cache.
func (s *resolver) resolve(at Place, limit int64, buf []byte) (object.Type, []byte, error) {
	var base inflated
	loose, err := s.descend(at, func(at Place) (l link, done bool, err error) {
		if base.kind, base.data, done = s.packs.bases.Get(at); done {
			if len(s.links) == 0 && int64(len(base.data)) > limit {
				err = object.ErrTooLarge
			}
			return l, true, err
		}
		e, head, err := s.entryAt(at, longestEntryHeader)
		switch {
		case err != nil:
		case e.isDelta():
			l, err = s.inflateDelta(at, e, head, limit)
			return l, false, err
		case len(s.links) == 0:
			base.kind = e.kind
			buf, err = s.appendWhole(buf, at, e, head, limit)
		default:
			base, err = s.inflateBase(at, e, head)
		}
		return l, true, err
	})
	if loose != nil {
		base, err = s.readLoose(loose)
	}
	if err != nil {
		return 0, nil, err
	}
	if len(s.links) == 0 { // in buf already, or in the cache
		return base.kind, append(buf, base.data...), nil
	}
	for _, l := range slices.Backward(s.links[1:]) {
		out := make([]byte, l.result)
		if err := s.apply(l, base.data, out); err != nil {
			return 0, nil, err
		}
		base.data = out
		s.packs.bases.Put(l.Place, base.kind, out)
	}
	start := len(buf)
	buf = object.Grow(buf, s.links[0].result)
	return base.kind, buf, s.apply(s.links[0], base.data, buf[start:])
}

// appendWhole inflates an object that is no delta straight into buf.
func (s *resolver) appendWhole(buf []byte, at Place, e entry, head []byte, limit int64) ([]byte, error) {
	if e.size > limit {
		return nil, object.ErrTooLarge
	}
	start := len(buf)
	buf = growRoomy(buf, e.size)
	s.decoder.SkipChecksum = s.identified
	err := s.inflate(buf[start:], at, e, head)
	s.decoder.SkipChecksum = false
	return buf, err
}

// growRoomy lengthens b by n bytes, with room after it for fast inflating: most commits and deltas
// are shorter than that room.
func growRoomy(b []byte, n int64) []byte { return object.Grow(b, n+inflate.Room)[:len(b)+int(n)] }

// inflateBase inflates the base of a chain into separate memory, which is also cached.
func (s *resolver) inflateBase(at Place, e entry, head []byte) (inflated, error) {
	if e.size > s.most {
		return inflated{}, errSpill
	}
	base := inflated{e.kind, make([]byte, e.size)}
	if err := s.inflate(base.data, at, e, head); err != nil {
		return inflated{}, err
	}
	s.packs.bases.Put(at, base.kind, base.data)
	return base, nil
}

// inflateDelta inflates a delta. The first link is the object itself, which must not be larger than
// limit.
func (s *resolver) inflateDelta(at Place, e entry, head []byte, limit int64) (link, error) {
	start := len(s.deltas)
	if int64(start)+e.size > s.most {
		return link{}, errSpill
	}
	s.deltas = growRoomy(s.deltas, e.size)
	delta := s.deltas[start:]
	if err := s.inflate(delta, at, e, head); err != nil {
		return link{}, err
	}
	base, result, rest, err := parseDeltaHeader(delta)
	switch {
	case err != nil:
		return link{}, at.pack.damage(err)
	case len(s.links) == 0 && result > limit:
		return link{}, object.ErrTooLarge
	case base > s.most, result > s.most:
		return link{}, errSpill
	}
	end := len(s.deltas)
	return link{Place: at, entry: e, base: base, result: result, lo: end - len(rest), hi: end}, nil
}

// readLoose reads the base of a chain from a loose object.
func (s *resolver) readLoose(loose *object.Object) (inflated, error) {
	defer func() { _ = loose.Close() }()
	if loose.Size() > s.most {
		return inflated{}, errSpill
	}
	data, err := loose.AppendTo(nil)
	return inflated{loose.Type(), data}, err
}

// apply applies one delta of a chain.
func (s *resolver) apply(l link, base, out []byte) error {
	if int64(len(base)) != l.base {
		return l.pack.damage(object.ErrWrongSize)
	}
	return l.pack.damage(applyDelta(out, base, s.deltas[l.lo:l.hi]))
}
