package inflate

import "encoding/binary"

const (
	adlerModulus = 65521
	// adlerWords is the number of words after which the sums in 16-bit lanes cannot have
	// overflowed: 255 * 21 * 22 / 2 is below 1<<16.
	adlerWords = 21
	// adlerBlocks is the number of such blocks between two reductions of the sums: far fewer than
	// fit in 64 bits.
	adlerBlocks = 1 << 12
)

// adler32 is the checksum of a zlib stream, RFC 1950 section 8.2: the sum of the bytes, and the sum
// of those sums. It adds eight bytes at a time, in the 16-bit lanes of two words, about three times
// as fast as hash/adler32, which matters at the speed of [Decoder].
//
// It continues the checksum of the preceding bytes, which is 1 at the beginning.
func adler32(before uint32, p []byte) uint32 {
	sum, sums := uint64(before&0xffff), uint64(before>>16)
	for blocks := 0; len(p) >= 8*adlerWords; blocks++ {
		if blocks == adlerBlocks {
			sum, sums, blocks = sum%adlerModulus, sums%adlerModulus, 0
		}
		const lanes = 0x00ff00ff00ff00ff
		// For each lane: the sum of its bytes, and the sum of that sum's previous values.
		var even, odd, evens, odds uint64
		block := p[:8*adlerWords]
		for i := 0; i <= len(block)-8; i += 8 {
			word := binary.LittleEndian.Uint64(block[i:])
			evens += even
			odds += odd
			even += word & lanes
			odd += word >> 8 & lanes
		}
		// A byte counts once for itself and each byte after it: eight times for each later word,
		// and by its place in its own word.
		sums += 8*adlerWords*sum + 8*(lanesOf(evens)+lanesOf(odds))
		sums += 8*lane(even, 0) + 7*lane(odd, 0) + 6*lane(even, 1) + 5*lane(odd, 1)
		sums += 4*lane(even, 2) + 3*lane(odd, 2) + 2*lane(even, 3) + lane(odd, 3)
		sum += lanesOf(even) + lanesOf(odd)
		p = p[8*adlerWords:]
	}
	for _, c := range p {
		sum += uint64(c)
		sums += sum
	}
	return uint32(sums%adlerModulus)<<16 | uint32(sum%adlerModulus)
}

func lane(word uint64, i int) uint64 { return word >> (16 * i) & 0xffff }

func lanesOf(word uint64) uint64 {
	return lane(word, 0) + lane(word, 1) + lane(word, 2) + lane(word, 3)
}
