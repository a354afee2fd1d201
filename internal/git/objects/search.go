package objects

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MinPrefix is the shortest abbreviation of an id, in digits: core.abbrev of
// git-config(1).
const MinPrefix = 4

// Prefix returns the sorted ids that begin with some hexadecimal digits, at most limit of them. If
// there are limit, there may be more. Objects of all types count; the caller distinguishes them.
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
	return nil, errors.Join(v.faults...) // an unreadable index may contain some
}

// prefix collects the ids that share the first digits of low.
func (v *view) prefix(low ID, digits, limit int) ([]ID, error) {
	var ids []ID
	for _, p := range v.packs {
		left := limit // a pack's ids are sorted, so its first ones suffice
		err := p.IDs(low, func(id ID) bool {
			if left == 0 || !samePrefix(id, low, digits) {
				return false
			}
			ids = append(ids, id)
			left--
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	for _, dir := range v.dirs {
		err := v.store.loose.IDs(dir, low[0], func(id ID) {
			if samePrefix(id, low, digits) {
				ids = append(ids, id)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(ids, ID.Compare)
	ids = slices.Compact(ids)
	return ids[:min(limit, len(ids))], nil
}

func samePrefix(a, b ID, digits int) bool {
	whole := digits / 2
	return string(a[:whole]) == string(b[:whole]) && (digits%2 == 0 || a[whole]>>4 == b[whole]>>4)
}

// PackedCount estimates the number of packed objects as git does, which chooses the length of
// abbreviations by it (core.abbrev of git-config(1)): an object in several packs counts several
// times unless a multi-pack-index covers those, and loose objects do not count. Nor do packs that
// were replaced since the snapshot was taken.
func (s *Snapshot) PackedCount() (uint64, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	return s.view.Load().packed, nil
}
