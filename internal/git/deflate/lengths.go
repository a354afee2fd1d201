package deflate

// The codes of code lengths, which are run-length encoded: RFC 1951, section 3.2.7.
const (
	repeatLength = 16 // 3 to 6 times the length before
	shortZeros   = 17 // 3 to 10
	longZeros    = 18 // 11 to 138
	lengthCodesN = 19

	minRepeat, maxRepeat         = 3, 6
	maxShortZeros, maxZeros      = 10, 138
	minLongZeros                 = maxShortZeros + 1
	maxLengthBits                = 7
	fewestLiterals, fewestCodes  = endOfBlock + 1, 4
	literalsBits, distancesBits  = 5, 5
	codesBits, bitsOfLengthsCode = 4, 3
)

// lengthExtraBits are the extra bits of the codes from repeatLength on.
var lengthExtraBits = map[int]int{repeatLength: 2, shortZeros: 3, longZeros: 7}

// lengthOrder is the order in which the lengths of these codes are written.
var lengthOrder = [lengthCodesN]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// run is a code of code lengths with the value of its extra bits.
type run struct{ code, extra int }

// treeLengths is the description of both trees of a dynamic block.
type treeLengths struct {
	literals, distances int // numbers of codes
	runs                []run
	tree                tree
	written             int // number of codes of code lengths
}

func newTreeLengths(literals, distances tree) treeLengths {
	t := treeLengths{literals: len(literals.lengths), distances: len(distances.lengths)}
	t.runs = appendRuns(appendRuns(nil, literals.lengths), distances.lengths)
	var uses [lengthCodesN]int
	for _, r := range t.runs {
		uses[r.code]++
	}
	t.tree = buildTree(uses[:], alphabet{
		maxLengthBits, func(symbol int) int { return lengthExtraBits[symbol] }, nil,
	})
	for t.written = lengthCodesN; t.written > fewestCodes && t.length(t.written-1) == 0; {
		t.written--
	}
	return t
}

// length returns the length of the code at a place in lengthOrder.
func (t *treeLengths) length(place int) int {
	if symbol := lengthOrder[place]; symbol < len(t.tree.lengths) {
		return t.tree.lengths[symbol]
	}
	return 0
}

// bits returns the length of the description.
func (t *treeLengths) bits() int {
	return literalsBits + distancesBits + codesBits + bitsOfLengthsCode*t.written + t.tree.bits
}

func (t *treeLengths) write(out *bitWriter) {
	out.add(uint(t.literals-fewestLiterals), literalsBits)
	out.add(uint(t.distances-1), distancesBits)
	out.add(uint(t.written-fewestCodes), codesBits)
	for place := range t.written {
		out.add(uint(t.length(place)), bitsOfLengthsCode)
	}
	for _, r := range t.runs {
		out.addCode(t.tree.codes[r.code])
		out.add(uint(r.extra), lengthExtraBits[r.code])
	}
}

// appendRuns encodes the lengths of one tree. A length is repeated after it was written once; a run
// is as long as its code allows before the next begins.
func appendRuns(runs []run, lengths []int) []run {
	before := -1
	for at := 0; at < len(lengths); {
		length, most := lengths[at], maxRepeat
		switch {
		case length == 0:
			most = maxZeros
		case length != before:
			most++ // the first is written alone
		}
		n := 1
		for n < most && at+n < len(lengths) && lengths[at+n] == length {
			n++
		}
		runs = appendRun(runs, length, n, length == before)
		before, at = length, at+n
	}
	return runs
}

// appendRun encodes a length that occurs n times; again says that it has been written.
func appendRun(runs []run, length, n int, again bool) []run {
	if length != 0 && !again {
		runs = append(runs, run{length, 0})
		n--
	}
	switch {
	case n < minRepeat:
		for range n {
			runs = append(runs, run{length, 0})
		}
		return runs
	case length != 0:
		return append(runs, run{repeatLength, n - minRepeat})
	case n <= maxShortZeros:
		return append(runs, run{shortZeros, n - minRepeat})
	default:
		return append(runs, run{longZeros, n - minLongZeros})
	}
}
