package deflate

import "bufio"

// The kinds of blocks (RFC 1951, section 3.2.3).
const (
	storedBlock  = 0
	fixedBlock   = 1
	dynamicBlock = 2
)

const (
	endOfBlock    = 256
	literalCodes  = 286
	distanceCodes = 30
)

// symbol is a literal, whose distance is 0, or a match.
type symbol struct{ value, distance uint16 }

// block collects the symbols of a block.
type block struct {
	symbols             []symbol
	literals, distances [literalCodes]int // how often each code is used
}

func (b *block) begin() {
	*b = block{symbols: b.symbols[:0]}
	b.literals[endOfBlock] = 1
}

func (b *block) addLiteral(c byte) {
	b.symbols = append(b.symbols, symbol{uint16(c), 0})
	b.literals[c]++
}

func (b *block) addMatch(length, distance int) {
	b.symbols = append(b.symbols, symbol{uint16(length), uint16(distance)})
	b.literals[lengthCodes[length]]++
	b.distances[distanceCode(distance)]++
}

// write writes the block in its shortest form. stored is the content, or nil if it is not there any
// more.
func (b *block) write(out *bitWriter, stored []byte, last bool) {
	final := uint(0)
	if last {
		final = 1
	}
	literals := buildTree(b.literals[:], literalAlphabet)
	distances := buildTree(b.distances[:distanceCodes], distanceAlphabet)
	lengths := newTreeLengths(literals, distances)
	dynamic := lengths.bits() + literals.bits + distances.bits
	fixed := literals.fixedBits + distances.fixedBits
	dynamicBytes, fixedBytes := bytesOf(dynamic), bytesOf(fixed)
	switch {
	case stored != nil && len(stored)+4 <= min(dynamicBytes, fixedBytes):
		out.add(storedBlock<<1|final, 3)
		out.align()
		out.store(stored)
	case fixedBytes <= dynamicBytes:
		out.add(fixedBlock<<1|final, 3)
		b.writeSymbols(out, fixedLiterals, fixedDistances)
	default:
		out.add(dynamicBlock<<1|final, 3)
		lengths.write(out)
		b.writeSymbols(out, literals.codes, distances.codes)
	}
	if last {
		out.align()
	}
}

// bytesOf returns the length of a block with so many bits after its kind.
func bytesOf(bits int) int { return (bits + 3 + 7) / 8 }

func (b *block) writeSymbols(out *bitWriter, literals, distances []code) {
	for _, s := range b.symbols {
		if s.distance == 0 {
			out.addCode(literals[s.value])
			continue
		}
		c := lengthCodes[s.value]
		out.addCode(literals[c])
		out.add(uint(int(s.value)-lengthBase[c-endOfBlock-1]), lengthExtra[c-endOfBlock-1])
		d := distanceCode(int(s.distance))
		out.addCode(distances[d])
		out.add(uint(int(s.distance)-distanceBase[d]), distanceExtra[d])
	}
	out.addCode(literals[endOfBlock])
}

// bitWriter writes bits, the lowest first. The writer below it keeps its first error.
type bitWriter struct {
	w    *bufio.Writer
	bits uint64
	held int
}

func (o *bitWriter) add(value uint, length int) {
	o.bits |= uint64(value) << o.held
	for o.held += length; o.held >= 8; o.held -= 8 {
		_ = o.w.WriteByte(byte(o.bits))
		o.bits >>= 8
	}
}

func (o *bitWriter) addCode(c code) { o.add(uint(c.bits), c.length) }

// align fills the byte.
func (o *bitWriter) align() { o.add(0, (8-o.held)%8) }

// store writes bytes with their length.
func (o *bitWriter) store(content []byte) {
	n := uint(len(content))
	o.add(n, 16)
	o.add(^n&0xffff, 16)
	_, _ = o.w.Write(content)
}
