package commitgraph

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

const (
	filterHeaderBytes = 12
	// maxHashings bounds the cost that a file imposes on every question; git writes 7.
	maxHashings = 32

	// The seeds of both hashes of a path.
	firstSeed  = 0x293ae76f
	secondSeed = 0x7e646e2c
)

// takeFilters uses the Bloom filters if their version is known.
func (g *Graph) takeFilters(ends, data chunk) {
	if g.count == 0 || ends.size != 4*int(g.count) || data.size < filterHeaderBytes {
		return
	}
	version, hashings := g.number(data, 0), g.number(data, 1)
	if version < 1 || version > 2 || hashings < 1 || hashings > maxHashings {
		return
	}
	data = chunk{data.from + filterHeaderBytes, data.size - filterHeaderBytes}
	g.filterEnds, g.filters, g.filterVersion, g.hashings = ends, data, version, hashings
}

// filtersAscend checks the positions of all filters.
func (g *Graph) filtersAscend() bool {
	for i := range g.filterEnds.size / 4 {
		if _, ok := g.filter(i); !ok {
			return false
		}
	}
	return true
}

// filter returns the position of the filter of a commit of the layer.
func (g *Graph) filter(i int) (c chunk, ok bool) {
	from, end := 0, int(g.number(g.filterEnds, i))
	if i > 0 {
		from = int(g.number(g.filterEnds, i-1))
	}
	return chunk{g.filters.from + from, end - from}, from <= end && end <= g.filters.size
}

// Path is a path with its folders, as a question to the filters.
type Path struct {
	hashes [][2]uint32
	ascii  bool
}

// NewPath prepares questions about a file or folder.
func NewPath(path string) Path {
	p := Path{ascii: strings.IndexFunc(path, func(c rune) bool { return c >= utf8.RuneSelf }) < 0}
	for rest := strings.TrimSuffix(path, "/"); rest != ""; {
		p.hashes = append(p.hashes, [2]uint32{murmur3(firstSeed, rest), murmur3(secondSeed, rest)})
		rest = rest[:max(strings.LastIndexByte(rest, '/'), 0)]
	}
	return p
}

// MayChange reports whether a commit may differ from its first parent at the path, or from nothing
// without a parent. False is certain if the graph is true.
func (g *Graph) MayChange(at uint32, p Path) bool {
	g = g.layer(at)
	// Version 1 treated bytes beyond ASCII as negative numbers on most machines.
	if !g.hasFilters() || g.filterVersion == 1 && !p.ascii {
		return true
	}
	place, ok := g.filter(int(at - g.first))
	if !ok {
		g.Refuse(ErrMalformed)
	}
	if !ok || place.size == 0 { // no filter was computed
		return true
	}
	filter := g.file.at(place.from, place.size)
	for _, h := range p.hashes {
		if !g.contains(filter, h) {
			return false
		}
	}
	return true
}

func (g *Graph) hasFilters() bool { return g.filterEnds.size > 0 }

func (g *Graph) contains(filter []byte, h [2]uint32) bool {
	size := uint64(len(filter)) * 8
	for i := range g.hashings {
		bit := uint64(h[0]+i*h[1]) % size
		if filter[bit/8]>>(bit%8)&1 == 0 {
			return false
		}
	}
	return true
}

// murmur3 is MurmurHash3 of 32 bits (A. Appleby; public domain).
func murmur3(seed uint32, text string) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	mix := func(k uint32) uint32 { return bits.RotateLeft32(k*c1, 15) * c2 }
	h, rest := seed, text
	for ; len(rest) >= 4; rest = rest[4:] {
		k := uint32(rest[0]) | uint32(rest[1])<<8 | uint32(rest[2])<<16 | uint32(rest[3])<<24
		h = bits.RotateLeft32(h^mix(k), 13)*5 + 0xe6546b64
	}
	tail := uint32(0)
	for i := len(rest) - 1; i >= 0; i-- {
		tail = tail<<8 | uint32(rest[i])
	}
	h ^= mix(tail)
	h ^= uint32(len(text))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
