package commitgraph

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

const (
	filterHeaderBytes = 12
	// maxHashings bounds what a file may ask of every question; git writes 7.
	maxHashings = 32

	// The seeds of both hashes of a path.
	firstSeed  = 0x293ae76f
	secondSeed = 0x7e646e2c
)

// takeFilters takes the Bloom filters if they are whole and of a known version.
func (g *Graph) takeFilters(ends, data []byte) {
	if len(ends) != 4*int(g.count) || len(data) < filterHeaderBytes {
		return
	}
	version, hashings := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
	if version < 1 || version > 2 || hashings < 1 || hashings > maxHashings {
		return
	}
	last := uint32(0)
	for i := range int(g.count) {
		end := binary.BigEndian.Uint32(ends[4*i:])
		if end < last || uint64(end) > uint64(len(data)-filterHeaderBytes) {
			return
		}
		last = end
	}
	g.filterEnds, g.filters, g.filterVersion, g.hashings = ends, data[filterHeaderBytes:], version, hashings
}

// Path is a path whose changes are asked for, with its folders.
type Path struct {
	hashes [][2]uint32
	ascii  bool
}

// NewPath prepares questions about a file or folder.
func NewPath(path string) Path {
	p := Path{ascii: true}
	for i := range len(path) {
		p.ascii = p.ascii && path[i] < 0x80
	}
	for rest := strings.TrimSuffix(path, "/"); rest != ""; {
		p.hashes = append(p.hashes, [2]uint32{murmur3(firstSeed, rest), murmur3(secondSeed, rest)})
		rest = rest[:max(strings.LastIndexByte(rest, '/'), 0)]
	}
	return p
}

// MayChange reports whether a commit may differ from its first parent at the
// path, or from nothing where it has no parent. False is certain, as far as the
// graph is true.
func (g *Graph) MayChange(at uint32, p Path) bool {
	g = g.layer(at)
	// Version 1 took bytes beyond ASCII for negative numbers on most machines.
	if g.filterEnds == nil || g.filterVersion == 1 && !p.ascii {
		return true
	}
	i, from := int(at-g.first), uint32(0)
	if i > 0 {
		from = binary.BigEndian.Uint32(g.filterEnds[4*(i-1):])
	}
	filter := g.filters[from:binary.BigEndian.Uint32(g.filterEnds[4*i:])]
	if len(filter) == 0 { // none was made
		return true
	}
	for _, h := range p.hashes {
		if !g.contains(filter, h) {
			return false
		}
	}
	return true
}

// HasFilters reports whether any layer has filters of changed paths.
func (g *Graph) HasFilters() bool {
	for ; g != nil; g = g.base {
		if g.filterEnds != nil {
			return true
		}
	}
	return false
}

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
