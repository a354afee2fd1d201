package inflate

import (
	"encoding/binary"
	"math/bits"
)

// A table decodes a Huffman code of RFC 1951, section 3.2.2. Its index is the next bits of the
// input. The entry of a code longer than the index refers to a second table, whose index is the
// following bits.
//
// An entry consists of:
//
//	bits 0-7    how many bits to consume, extra bits included
//	bits 8-11   how many of them are the code itself; for a second table the
//	            length of its index
//	bit 13      the code ends the block
//	bit 14      bits 16-30 are the start of the second table
//	bit 15      bit 13 or 14 is set, or the code is invalid
//	bits 16-30  the literal, or the base of a length or a distance
//	bit 31      the code is a literal
const (
	entryLiteral  = 1 << 31
	entrySpecial  = 1 << 15
	entrySecond   = 1 << 14
	entryEndBlock = 1 << 13

	longestCode = 15
	litBits     = 11
	distBits    = 8
	preBits     = 7

	litSymbols  = 288
	distSymbols = 32
	preSymbols  = 19

	// Maximal numbers of entries of a complete code with that many symbols and that index,
	// including all second tables, as computed by zlib's enough.c.
	litTable  = 2342
	distTable = 402
	preTable  = 1 << preBits // no code is longer than the index
)

// symbolValues are the entries of symbols without the length of their code: RFC 1951, section
// 3.2.5.
type symbolValues struct {
	lit  [litSymbols]uint32
	dist [distSymbols]uint32
	pre  [preSymbols]uint32
}

func newSymbolValues() *symbolValues {
	v := new(symbolValues)
	for i := range uint32(256) {
		v.lit[i] = entryLiteral | i<<16
	}
	v.lit[256] = entrySpecial | entryEndBlock
	length := uint32(3)
	for i := range uint32(28) {
		extra := uint32(0)
		if i >= 8 {
			extra = i/4 - 1
		}
		v.lit[257+i] = length<<16 | extra
		length += 1 << extra
	}
	v.lit[285] = 258 << 16
	v.lit[286], v.lit[287] = entrySpecial, entrySpecial
	distance := uint32(1)
	for i := range uint32(30) {
		extra := uint32(0)
		if i >= 4 {
			extra = i/2 - 1
		}
		v.dist[i] = distance<<16 | extra
		distance += 1 << extra
	}
	v.dist[30], v.dist[31] = entrySpecial, entrySpecial
	for i := range v.pre {
		v.pre[i] = uint32(i) << 16
	}
	return v
}

// code is a Huffman code: the number of symbols per length, and the symbols sorted by length and
// number, which is the order of their codes.
type code struct {
	counts [longestCode + 1]int
	sorted [litSymbols]uint16
}

// sort takes the lengths of all symbols; symbols of length zero have no code. It returns the number
// of symbols, and whether the code is complete: whether every sequence of bits begins with a code.
// Short streams use few symbols, so those are selected first, without a branch that depends on the
// length.
func (c *code) sort(lengths []uint8) (symbols int, complete bool) {
	var used [litSymbols + 1]uint16
	for symbol := 0; symbol < len(lengths); symbol++ {
		if rest := lengths[symbol:]; len(rest) >= 8 && binary.LittleEndian.Uint64(rest) == 0 {
			symbol += 7
			continue
		}
		used[symbols] = uint16(symbol)
		symbols += int(lengths[symbol]+longestCode) >> 4
	}
	for _, symbol := range used[:symbols] {
		c.counts[lengths[symbol]&longestCode]++
	}
	var next [longestCode + 1]int
	space := 0 // share that the codes take, in parts of 1<<longestCode
	for n := 1; n <= longestCode; n++ {
		next[n] = next[n-1] + c.counts[n-1]
		space += c.counts[n] << (longestCode - n)
	}
	for _, symbol := range used[:symbols] {
		n := lengths[symbol] & longestCode
		c.sorted[next[n]] = symbol
		next[n]++
	}
	return symbols, space == 1<<longestCode
}

// buildTable fills the table of the code with these lengths. It returns false if the lengths are no
// code: like zlib it accepts an incomplete one only without symbols, or with one symbol of one bit.
func buildTable(table []uint32, index int, lengths []uint8, values []uint32) bool {
	var c code
	symbols, complete := c.sort(lengths)
	switch {
	case complete:
		c.fill(table, index, values)
	case symbols == 0 || symbols == 1 && c.counts[1] == 1:
		for i := range 1 << index {
			table[i] = entrySpecial
			if symbols == 1 && i&1 == 0 {
				table[i] = values[c.sorted[0]] + 1<<8 + 1
			}
		}
	default:
		return false
	}
	return true
}

// fill fills a table for a complete code. It derives the part for codes of up to n bits from that
// for n-1 bits by appending a copy: a shorter code occurs at each index that ends in it. Codes are
// reversed, because they are read lowest bit first.
func (c *code) fill(table []uint32, index int, values []uint32) {
	sorted, next := c.sorted[:], uint16(0)
	for n := 1; n <= index; n++ {
		half := 1 << (n - 1)
		copy(table[half:2*half], table[:half])
		for range c.counts[n] {
			table[bits.Reverse16(next)>>(16-n)] = values[sorted[0]] + uint32(n)<<8 + uint32(n)
			sorted, next = sorted[1:], next+1
		}
		next <<= 1
	}
	c.fillSecond(table, index, sorted, next, values)
}

// fillSecond adds the second tables. Codes are sorted by prefix, so the table of one prefix is
// complete when the next one begins.
func (c *code) fillSecond(table []uint32, index int, sorted []uint16, next uint16, values []uint32) {
	prefix, start, end := -1, 0, 1<<index
	for n := index + 1; n <= longestCode; n++ {
		rest := n - index // bits after the prefix
		for left := c.counts[n]; left > 0; left-- {
			reversed := int(bits.Reverse16(next) >> (16 - n))
			if first := reversed & (1<<index - 1); first != prefix {
				size := c.secondBits(rest, left, index)
				prefix, start, end = first, end, end+1<<size
				table[first] = uint32(start)<<16 | entrySpecial | entrySecond | uint32(size)<<8 | uint32(index)
			}
			entry := values[sorted[0]] + uint32(rest)<<8 + uint32(rest)
			for i := start + reversed>>index; i < end; i += 1 << rest {
				table[i] = entry
			}
			sorted, next = sorted[1:], next+1
		}
		next <<= 1
	}
}

// secondBits returns the index length of a second table whose first code has rest bits after the
// prefix, and is followed by left-1 codes of its length: the length at which the coming codes fill
// the table.
func (c *code) secondBits(rest, left, index int) int {
	for used := left; used < 1<<rest; used = used<<1 + c.counts[index+rest] {
		rest++
	}
	return rest
}
