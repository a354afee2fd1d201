package objects

import "math/bits"

// Decoding tables for Huffman codes, RFC 1951 section 3.2. A table is indexed
// by the next bits of the input; codes that are longer than its index go
// through a second table. The way to fill a table, by doubling it from one
// code length to the next, and the format of the entries follow Eric Biggers'
// libdeflate, whose comments explain them at length.
//
// An entry says how to go on:
//
//	bits 0-7    how many bits to consume, extra bits included
//	bits 8-11   how many of them are the code itself
//	bit 13      end of the block
//	bit 14      bits 16-30 are where the second table begins, bits 8-11 its index
//	bit 15      one of the two above, or a code that means nothing
//	bits 16-30  the literal, or the base of a length or distance
//	bit 31      it is a literal
const (
	entryLiteral  = 1 << 31
	entrySpecial  = 1 << 15
	entrySecond   = 1 << 14
	entryEndBlock = 1 << 13

	longestCode = 15
	litBits     = 11
	distBits    = 8
	preBits     = 7
	// The sizes are what zlib's enough.c computes for complete codes.
	litTable  = 2342 // 288 symbols, index of 11, longest 15
	distTable = 402  // 32 symbols, index of 8, longest 15
	preTable  = 128  // no code is longer than the index

	litSymbols  = 288
	distSymbols = 32
	preSymbols  = 19
)

// The values of symbols, without the length of the code: RFC 1951, 3.2.5.
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

// buildTable fills a table for the code that the lengths describe. A length of
// zero is a symbol without code. It gives false for a set of lengths that is
// no code: RFC 1951 and zlib allow it to be incomplete only when it has no
// symbol, or one of length one.
func buildTable(table []uint32, index int, lengths []uint8, values []uint32) bool {
	var counts [longestCode + 1]uint16
	for _, n := range lengths {
		counts[n&longestCode]++
	}
	counts[0] = 0
	var starts [longestCode + 2]uint16
	space := uint32(0)
	for n := 1; n <= longestCode; n++ {
		starts[n+1] = starts[n] + counts[n]
		space = space<<1 + uint32(counts[n])
	}
	symbols := starts[longestCode+1]
	if space != 1<<longestCode {
		if symbols > 1 || symbols == 1 && counts[1] != 1 {
			return false
		}
		return sparseTable(table[:1<<index], lengths, values)
	}
	var sorted [litSymbols]uint16
	for symbol, n := range lengths {
		if n != 0 {
			sorted[starts[n&longestCode]] = uint16(symbol)
			starts[n&longestCode]++
		}
	}
	fillTable(table, index, &counts, sorted[:symbols], values)
	return true
}

// sparseTable is for a code with no symbol, or with one of one bit.
func sparseTable(table []uint32, lengths []uint8, values []uint32) bool {
	for i := range table {
		table[i] = entrySpecial
	}
	for symbol, n := range lengths {
		if n == 1 {
			for i := 0; i < len(table); i += 2 {
				table[i] = values[symbol] + 1<<8 + 1
			}
		}
	}
	return true
}

// fillTable fills a table for a complete code whose symbols are sorted by
// their lengths. Codes are kept with their first bit lowest, as they are read.
func fillTable(table []uint32, index int, counts *[longestCode + 1]uint16, sorted []uint16, values []uint32) {
	code, length := uint32(0), 1
	for counts[length] == 0 {
		length++
	}
	end := 1 << min(length, index)
	for left := int(counts[length]); length <= index; {
		for ; left > 0; left-- {
			table[code] = values[sorted[0]] + uint32(length)<<8 + uint32(length)
			sorted = sorted[1:]
			if code == uint32(end-1) { //nolint:gosec // at most 2048
				for ; end < 1<<index; end <<= 1 {
					copy(table[end:2*end], table[:end])
				}
				return
			}
			code = nextCode(code, length)
		}
		for left == 0 {
			if length++; length <= index {
				copy(table[end:2*end], table[:end])
				end <<= 1
			}
			left = int(counts[length])
		}
	}
	fillSecond(table, index, counts, sorted, values, code, length)
}

// fillSecond adds the second tables, for the codes longer than the index.
func fillSecond(table []uint32, index int, counts *[longestCode + 1]uint16, sorted []uint16, values []uint32, code uint32, length int) {
	mask := uint32(1)<<index - 1
	prefix, start, end := ^uint32(0), 0, 1<<index
	for left := int(counts[length]); len(sorted) > 0; left-- {
		for left == 0 {
			length++
			left = int(counts[length])
		}
		if code&mask != prefix {
			prefix, start = code&mask, end
			second := length - index
			for used := left; used < 1<<second; {
				second++
				used = used<<1 + int(counts[index+second])
			}
			end = start + 1<<second
			table[prefix] = uint32(start)<<16 | entrySpecial | entrySecond | uint32(second)<<8 | uint32(index) //nolint:gosec // small
		}
		rest := length - index
		entry := values[sorted[0]] + uint32(rest)<<8 + uint32(rest) //nolint:gosec // small
		for i := start + int(code>>index); i < end; i += 1 << rest {
			table[i] = entry
		}
		sorted = sorted[1:]
		code = nextCode(code, length)
	}
}

// nextCode adds one to a code whose first bit is the lowest.
func nextCode(code uint32, length int) uint32 {
	zeros := code ^ (1<<length - 1)
	if zeros == 0 {
		return code // the last one
	}
	bit := uint32(1) << (bits.Len32(zeros) - 1)
	return code&(bit-1) | bit
}
