package objects

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// MinPrefix is the shortest abbreviation of an id, in digits: core.abbrev of
// git-config(1).
const MinPrefix = 4

// Prefix returns the ids that begin with some hexadecimal digits, sorted, each
// once, and at most limit of them. When there are limit, there may be more.
// Objects of all types count: telling them apart is for the caller.
func (s *Snapshot) Prefix(digits string, limit int) ([]ID, error) {
	if len(digits) < MinPrefix || len(digits) > 2*IDSize {
		return nil, fmt.Errorf("abbreviated object id has %d digits, not %d to %d", len(digits), MinPrefix, 2*IDSize)
	}
	low, err := ParseID(digits + strings.Repeat("0", 2*IDSize-len(digits)))
	if err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	v := s.view.Load()
	ids, err := v.prefix(low, len(digits), limit)
	if err != nil || len(ids) > 0 {
		return ids, err
	}
	newer, err := s.refresh(v)
	if newer != nil {
		v = newer
		ids, err = v.prefix(low, len(digits), limit)
	}
	if err != nil || len(ids) > 0 {
		return ids, err
	}
	return nil, errors.Join(v.faults...) // an index that cannot be read may have some
}

// prefix collects the ids that share the first digits of low.
func (v *view) prefix(low ID, digits, limit int) ([]ID, error) {
	var ids []ID
	for _, p := range v.packs {
		pos, _, err := p.index.search(&low)
		if err != nil {
			return nil, p.damage(err)
		}
		// A pack's ids are sorted, so its first ones are enough.
		for n := 0; n < limit && pos < p.index.count; n, pos = n+1, pos+1 {
			id, err := p.index.id(pos)
			if err != nil {
				return nil, p.damage(err)
			}
			if !samePrefix(id, low, digits) {
				break
			}
			ids = append(ids, id)
		}
	}
	for _, dir := range v.dirs {
		loose, err := v.store.looseIDs(nil, dir, low[0])
		if err != nil {
			return nil, err
		}
		for _, id := range loose {
			if samePrefix(id, low, digits) {
				ids = append(ids, id)
			}
		}
	}
	ids = sortIDs(ids)
	return ids[:min(limit, len(ids))], nil
}

func samePrefix(a, b ID, digits int) bool {
	whole := digits / 2
	return string(a[:whole]) == string(b[:whole]) && (digits%2 == 0 || a[whole]>>4 == b[whole]>>4)
}

func sortIDs(ids []ID) []ID {
	slices.SortFunc(ids, ID.Compare)
	return slices.Compact(ids)
}

// All returns the ids of all objects, sorted, each once. It ends after an error.
// The snapshot must not be closed before the iteration is over.
func (s *Snapshot) All() iter.Seq2[ID, error] {
	return func(yield func(ID, error) bool) {
		if err := s.enter(); err != nil {
			yield(ID{}, err)
			return
		}
		defer s.leave()
		v := s.view.Load()
		if len(v.faults) > 0 {
			yield(ID{}, v.faults[0])
			return
		}
		var ids []ID
		for first := range 256 {
			var err error
			if ids, err = v.bucket(ids[:0], byte(first)); err != nil {
				yield(ID{}, err)
				return
			}
			for _, id := range ids {
				if !yield(id, nil) {
					return
				}
			}
		}
	}
}

// bucket collects the ids that begin with one byte: a 256th of all, so that
// iterating needs no list of all objects.
func (v *view) bucket(ids []ID, first byte) ([]ID, error) {
	for _, p := range v.packs {
		for pos, end := p.index.bucket(first); pos < end; pos++ {
			id, err := p.index.id(pos)
			if err != nil {
				return nil, p.damage(err)
			}
			ids = append(ids, id)
		}
	}
	var err error
	for _, dir := range v.dirs {
		if ids, err = v.store.looseIDs(ids, dir, first); err != nil {
			return nil, err
		}
	}
	return sortIDs(ids), nil
}
