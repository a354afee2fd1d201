package objects

import "sync/atomic"

// kindTable remembers the types of deltified entries of one pack, so that
// asking for the types of all objects walks each link of a chain about once.
// It is a direct-mapped table of words, each an offset and a type: exact,
// without locks, and of a fixed size. The zero value is ready.
type kindTable struct {
	words atomic.Pointer[[kindWords]atomic.Uint64]
}

const (
	slotBits  = 14
	kindWords = 1 << slotBits // 128 KiB for each pack with chains that were walked
	kindBits  = 3
	// kindSpread is the golden ratio in 64 bits: multiplying by it spreads
	// neighbouring offsets over the table.
	kindSpread = 0x9e3779b97f4a7c15
)

// spread mixes an offset, the upper bits of the result best.
func spread(off int64) uint64 {
	return uint64(off) * kindSpread
}

func (k *kindTable) get(off int64) (Type, bool) {
	words := k.words.Load()
	if words == nil {
		return 0, false
	}
	word := words[spread(off)>>(64-slotBits)].Load()
	t := Type(word & (1<<kindBits - 1))
	return t, word == kindWord(off, t)
}

func (k *kindTable) put(off int64, t Type) {
	if off >= 1<<(64-kindBits) {
		return
	}
	words := k.words.Load()
	if words == nil {
		k.words.CompareAndSwap(nil, new([kindWords]atomic.Uint64))
		words = k.words.Load()
	}
	words[spread(off)>>(64-slotBits)].Store(kindWord(off, t))
}

func kindWord(off int64, t Type) uint64 {
	return uint64(off)<<kindBits | uint64(t)
}
