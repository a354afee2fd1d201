package deflate

import (
	"math/bits"
	"sort"
)

// The codes of lengths and distances with their extra bits: RFC 1951, section 3.2.5. The length of
// 258 has a code without extra bits.
var (
	lengthExtra = []int{
		0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
	}
	distanceExtra = []int{
		0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
	}
	lengthBase   = append(bases(minMatch, lengthExtra[:len(lengthExtra)-1]), maxMatch)
	distanceBase = bases(1, distanceExtra)
	lengthCodes  = codesOfLengths()
)

// bases returns the first value of each code.
func bases(first int, extra []int) []int {
	list := make([]int, len(extra))
	for i, n := range extra {
		list[i] = first
		first += 1 << n
	}
	return list
}

func codesOfLengths() (codes [maxMatch + 1]int) {
	for i, base := range lengthBase {
		for length := base; length < min(base+1<<lengthExtra[i], maxMatch+1); length++ {
			codes[length] = endOfBlock + 1 + i
		}
	}
	return codes
}

func distanceCode(distance int) int {
	return sort.SearchInts(distanceBase, distance+1) - 1
}

// code is a prefix code, with its first bit the lowest.
type code struct {
	bits   uint16
	length int
}

// codesOf assigns codes to lengths: RFC 1951, section 3.2.2.
func codesOf(lengths []int) []code {
	var count, next [maxCodeBits + 2]int
	for _, n := range lengths {
		count[n]++
	}
	count[0] = 0
	for n := 1; n <= maxCodeBits; n++ {
		next[n+1] = (next[n] + count[n]) << 1
	}
	codes := make([]code, len(lengths))
	for i, n := range lengths {
		if n > 0 {
			codes[i] = code{bits.Reverse16(uint16(next[n])) >> (16 - n), n}
			next[n]++
		}
	}
	return codes
}

// The codes of fixed blocks: RFC 1951, section 3.2.6.
var (
	fixedLiteralLengths  = runs(144, 8, 112, 9, 24, 7, 8, 8)
	fixedDistanceLengths = runs(distanceCodes, 5)
	fixedLiterals        = codesOf(fixedLiteralLengths)
	fixedDistances       = codesOf(fixedDistanceLengths)
)

// runs returns a list of values, each preceded by how often it occurs.
func runs(pairs ...int) (list []int) {
	for i := 0; i < len(pairs); i += 2 {
		for range pairs[i] {
			list = append(list, pairs[i+1])
		}
	}
	return list
}
