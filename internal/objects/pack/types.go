package pack

import (
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/objects/object"
)

// typeTable remembers the types of deltified entries of one pack, so that
// asking for the types of all objects walks each link of a chain about once.
// It is a direct-mapped table of words, each an offset and a type: exact,
// without locks, and of a fixed size. The zero value is ready.
type typeTable struct {
	words atomic.Pointer[[typeWords]atomic.Uint64]
}

const (
	slotBits  = 14
	typeWords = 1 << slotBits // 128 KiB for each pack with chains that were walked
	typeBits  = 3
	// goldenRatio is the golden ratio in 64 bits: multiplying by it spreads
	// neighbouring offsets over the table.
	goldenRatio = 0x9e3779b97f4a7c15
)

// spread mixes an offset, the upper bits of the result best.
func spread(off int64) uint64 {
	return uint64(off) * goldenRatio
}

func (k *typeTable) get(off int64) (object.Type, bool) {
	words := k.words.Load()
	if words == nil {
		return 0, false
	}
	word := words[spread(off)>>(64-slotBits)].Load()
	t := object.Type(word & (1<<typeBits - 1))
	return t, word == typeWord(off, t)
}

func (k *typeTable) put(off int64, t object.Type) {
	if off >= 1<<(64-typeBits) {
		return
	}
	words := k.words.Load()
	if words == nil {
		k.words.CompareAndSwap(nil, new([typeWords]atomic.Uint64))
		words = k.words.Load()
	}
	words[spread(off)>>(64-slotBits)].Store(typeWord(off, t))
}

func typeWord(off int64, t object.Type) uint64 {
	return uint64(off)<<typeBits | uint64(t)
}
