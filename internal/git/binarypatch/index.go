package binarypatch

import "math/bits"

const (
	// minSlots is the least size of the hash table, which has a slot for four blocks.
	minSlots      = 1 << 4
	blocksPerSlot = 4
	// maxChain bounds the blocks of a slot, because each is compared.
	maxChain = 64
)

// index finds the blocks of a content by their fingerprints.
type index struct {
	content []byte
	slots   []int32 // number of the first block of each slot, plus 1
	blocks  []block
}

// block is a window of the content.
type block struct {
	fingerprint fingerprint
	end         int32 // where the window ends
	next        int32 // number of the next block of the slot, plus 1
}

// newIndex divides a content into blocks after its first byte. The last block is entered first, so
// that the first is found first; of equal blocks in a row there is only the first.
func newIndex(content []byte) *index {
	count := (len(content) - 1) / windowBytes
	slots := max(minSlots, 1<<bits.Len(uint(max(count/blocksPerSlot, 1)-1)))
	x := &index{content: content, slots: make([]int32, slots), blocks: make([]block, 0, count)}
	lengths := make([]int32, slots)
	for at := count - 1; at >= 0; at-- {
		end := int32(at*windowBytes + windowBytes)
		f := fingerprintOf(content[end-windowBytes+1 : end+1])
		if last := len(x.blocks) - 1; last >= 0 && x.blocks[last].fingerprint == f {
			x.blocks[last].end = end
			continue
		}
		slot := x.slot(f)
		x.blocks = append(x.blocks, block{f, end, *slot})
		*slot = int32(len(x.blocks))
		lengths[int(f)&(slots-1)]++
	}
	for i, length := range lengths {
		if length > maxChain {
			x.thin(x.slots[i], int(length))
		}
	}
	return x
}

func (x *index) slot(f fingerprint) *int32 { return &x.slots[int(f)&(len(x.slots)-1)] }

// thin removes blocks of a chain, as evenly as possible, until maxChain are left.
func (x *index) thin(first int32, length int) {
	excess := 0
	for at := first; at != 0; {
		kept := &x.blocks[at-1]
		excess += length - maxChain
		for next := kept; excess > 0; excess -= maxChain {
			next = &x.blocks[kept.next-1]
			kept.next = next.next
		}
		at = kept.next
	}
}

// longest returns the longest match of a text that begins with a window of the fingerprint's last
// byte, if it is longer than least.
func (x *index) longest(f fingerprint, text []byte, least int) (offset, length int) {
	length = least
	for at := *x.slot(f); at != 0; {
		b := x.blocks[at-1]
		at = b.next
		if b.fingerprint != f {
			continue
		}
		rest := x.content[b.end:]
		if min(len(rest), len(text)) <= length {
			break
		}
		if n := commonLength(rest, text); n > length {
			offset, length = int(b.end), n
			if n >= longMatch {
				break
			}
		}
	}
	return offset, length
}

func commonLength(a, b []byte) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
