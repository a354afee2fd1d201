package objects

import "slices"

// PackedCount returns how many objects the packs have, as git guesses it to choose
// the length of abbreviations (core.abbrev of git-config(1)): one in several packs
// counts several times unless a multi-pack-index covers those, and loose ones do
// not count.
func (s *Snapshot) PackedCount() (uint64, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	v := s.view.Load()
	var count uint64
	for _, m := range v.midxes {
		count += uint64(m.count)
	}
	for _, p := range v.packs {
		covered := slices.ContainsFunc(v.midxes, func(m *midx) bool { return slices.Contains(m.packs, p) })
		if !covered {
			count += uint64(p.index.count)
		}
	}
	return count, nil
}
