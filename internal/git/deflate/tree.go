package deflate

// maxCodeBits is the longest code of a literal, a length or a distance.
const maxCodeBits = 15

// alphabet describes the symbols of a tree.
type alphabet struct {
	maxBits int
	extra   func(symbol int) int
	fixed   []int // lengths in fixed blocks; nil if there are none
}

var (
	literalAlphabet = alphabet{maxCodeBits, func(symbol int) int {
		if symbol <= endOfBlock {
			return 0
		}
		return lengthExtra[symbol-endOfBlock-1]
	}, fixedLiteralLengths}
	distanceAlphabet = alphabet{
		maxCodeBits, func(symbol int) int { return distanceExtra[symbol] }, fixedDistanceLengths,
	}
)

// tree has the codes of a block.
type tree struct {
	lengths         []int // up to the last symbol that has a code
	codes           []code
	bits, fixedBits int // of all symbols with these codes and with those of fixed blocks
}

// node is a symbol or a pair of nodes.
type node struct {
	uses, depth int
	parent      int
}

// builder makes a Huffman code. The order of its heap, with ties broken by depth, decides among
// codes that are equally good.
type builder struct {
	nodes []node
	heap  []int // from 1 on
	order []int // nodes as they were taken from the heap
}

// buildTree makes the code for symbols that are used so often. At least two symbols get a code.
func buildTree(uses []int, a alphabet) tree {
	b := builder{heap: []int{0}}
	last := -1
	for symbol, n := range uses {
		b.nodes = append(b.nodes, node{uses: n})
		if n > 0 {
			b.heap, last = append(b.heap, symbol), symbol
		}
	}
	forced := map[int]bool{} // got a code without being used
	for len(b.heap) < 3 {
		symbol := 0
		if last < 2 {
			last++
			symbol = last
		}
		b.nodes[symbol].uses = 1
		b.heap, forced[symbol] = append(b.heap, symbol), true
	}
	b.pair()
	t := tree{lengths: b.lengths(last, a.maxBits)}
	t.codes = codesOf(t.lengths)
	for symbol, length := range t.lengths {
		if length == 0 || forced[symbol] {
			continue
		}
		n := b.nodes[symbol].uses
		t.bits += n * (length + a.extra(symbol))
		if a.fixed != nil {
			t.fixedBits += n * (a.fixed[symbol] + a.extra(symbol))
		}
	}
	return t
}

// pair joins the two least used nodes until one is left.
func (b *builder) pair() {
	for at := (len(b.heap) - 1) / 2; at >= 1; at-- {
		b.sink(at)
	}
	for len(b.heap) > 2 {
		last := len(b.heap) - 1
		least := b.heap[1]
		b.heap[1] = b.heap[last]
		b.heap = b.heap[:last]
		b.sink(1)
		second := b.heap[1]
		b.order = append(b.order, least, second)
		joined := len(b.nodes)
		b.nodes = append(b.nodes, node{
			uses:  b.nodes[least].uses + b.nodes[second].uses,
			depth: max(b.nodes[least].depth, b.nodes[second].depth) + 1,
		})
		b.nodes[least].parent, b.nodes[second].parent = joined, joined
		b.heap[1] = joined
		b.sink(1)
	}
	b.order = append(b.order, b.heap[1])
}

// sink moves an element of the heap down to its place.
func (b *builder) sink(at int) {
	moved := b.heap[at]
	for child := 2 * at; child < len(b.heap); child *= 2 {
		if child+1 < len(b.heap) && b.precedes(b.heap[child+1], b.heap[child]) {
			child++
		}
		if b.precedes(moved, b.heap[child]) {
			break
		}
		b.heap[at] = b.heap[child]
		at = child
	}
	b.heap[at] = moved
}

func (b *builder) precedes(m, n int) bool {
	x, y := b.nodes[m], b.nodes[n]
	return x.uses < y.uses || x.uses == y.uses && x.depth <= y.depth
}

// lengths returns the lengths of the codes up to the last symbol.
func (b *builder) lengths(last, most int) []int {
	depths := make([]int, len(b.nodes))
	count := make([]int, most+1)
	excess := 0
	for i := len(b.order) - 2; i >= 0; i-- {
		n := b.order[i]
		if depths[n] = depths[b.nodes[n].parent] + 1; depths[n] > most {
			depths[n] = most
			excess++
		}
		if n <= last {
			count[depths[n]]++
		}
	}
	if excess > 0 {
		b.shorten(depths, count, excess, last)
	}
	return depths[:last+1]
}

// shorten makes room for codes that would be too long at the expense of others. count has the
// number of symbols for each length, and excess is the number of nodes that were too deep.
func (b *builder) shorten(depths, count []int, excess, last int) {
	most := len(count) - 1
	for ; excess > 0; excess -= 2 {
		shorter := most - 1
		for count[shorter] == 0 {
			shorter--
		}
		count[shorter]--
		count[shorter+1] += 2
		count[most]--
	}
	at := 0
	for length := most; length > 0; length-- {
		for rest := count[length]; rest > 0; at++ {
			if n := b.order[at]; n <= last {
				depths[n] = length
				rest--
			}
		}
	}
}
