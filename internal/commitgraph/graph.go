package commitgraph

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"sort"
)

// ErrMalformed says that bytes are no commit-graph, or one that cannot be right.
var ErrMalformed = errors.New("malformed commit-graph")

// DateMask is the bits of a date that a graph has.
const DateMask = 1<<dateBits - 1

// ID is the SHA-1 of a commit or a tree.
type ID = [sha1.Size]byte

const (
	headerBytes = 8
	chunkBytes  = 12 // of an entry of the table of chunks
	commitBytes = sha1.Size + 16
	fanoutBytes = 256 * 4

	noParent   = 0x70000000
	manyBit    = 1 << 31 // in a second parent: the rest is a place in the list of edges
	lastBit    = 1 << 31 // in that list
	overflow   = 1 << 31 // in an offset of a date: the rest is a place among the large ones
	dateBits   = 34
	maxCommits = noParent - 1

	// noGeneration stands for one that lies outside of the file.
	noGeneration = math.MaxUint64
)

// Graph is a layer of a commit-graph with those below it.
type Graph struct {
	base  *Graph
	first uint32 // position of the layer's first commit
	count uint32 // of the layer's commits

	fanout, ids, commits    []byte
	offsets, large          []byte // of corrected dates; nil where there are none
	edges                   []byte
	filterEnds, filters     []byte // Bloom filters of changed paths; nil where there are none
	filterVersion, hashings uint32
	checksum                [sha1.Size]byte
}

// Parse reads a layer. base is the graph of the layers below it, or nil for a
// file that stands alone and for the first of a chain. The graph refers to data,
// which must not change.
func Parse(data []byte, base *Graph) (*Graph, error) {
	chunks, layers, err := parseTable(data)
	if err != nil {
		return nil, err
	}
	g := &Graph{base: base, fanout: chunks["OIDF"], ids: chunks["OIDL"], commits: chunks["CDAT"], edges: chunks["EDGE"]}
	g.checksum = [sha1.Size]byte(data[len(data)-sha1.Size:])
	if len(g.fanout) != fanoutBytes || g.layers()-1 != layers ||
		base != nil && !bytes.HasSuffix(chunks["BASE"], base.checksum[:]) {
		return nil, ErrMalformed
	}
	g.count = binary.BigEndian.Uint32(g.fanout[fanoutBytes-4:])
	if base != nil {
		g.first = base.Len()
	}
	n := int(g.count)
	if uint64(g.first)+uint64(g.count) > maxCommits || len(g.ids) != n*sha1.Size || len(g.commits) != n*commitBytes ||
		len(g.edges)%4 != 0 {
		return nil, ErrMalformed
	}
	if offsets := chunks["GDA2"]; len(offsets) == 4*n && (base == nil || base.offsets != nil) {
		g.offsets, g.large = offsets, chunks["GDO2"]
	}
	// The sum takes as long as all other checks together.
	sum := make(chan [sha1.Size]byte)
	go func() { sum <- sha1.Sum(data[:len(data)-sha1.Size]) }()
	g.takeFilters(chunks["BIDX"], chunks["BDAT"])
	sound := g.ordered() && g.acyclic()
	if <-sum != g.checksum || !sound {
		return nil, ErrMalformed
	}
	return g, nil
}

// parseTable cuts the bytes into chunks by their names, and returns how many
// layers the file says that there are below it.
func parseTable(data []byte) (chunks map[string][]byte, layers int, err error) {
	const version, sha1Version = 1, 1
	if len(data) < headerBytes+chunkBytes+sha1.Size || string(data[:4]) != "CGPH" || data[4] != version ||
		data[5] != sha1Version {
		return nil, 0, ErrMalformed
	}
	table, end := data[headerBytes:], uint64(len(data)-sha1.Size)
	count := int(data[6])
	if uint64(headerBytes+(count+1)*chunkBytes) > end {
		return nil, 0, ErrMalformed
	}
	chunks = make(map[string][]byte, count)
	for i := range count {
		from := binary.BigEndian.Uint64(table[i*chunkBytes+4:])
		to := binary.BigEndian.Uint64(table[(i+1)*chunkBytes+4:])
		if from > to || to > end {
			return nil, 0, ErrMalformed
		}
		chunks[string(table[i*chunkBytes:][:4])] = data[from:to]
	}
	return chunks, int(data[7]), nil
}

func (g *Graph) layers() int {
	n := 0
	for ; g != nil; g = g.base {
		n++
	}
	return n
}

// ordered checks that the ids ascend and the fan-out counts them.
func (g *Graph) ordered() bool {
	at := 0
	for first := range 256 {
		end := int(binary.BigEndian.Uint32(g.fanout[4*first:]))
		if end < at || end > int(g.count) {
			return false
		}
		for ; at < end; at++ {
			id := g.ids[at*sha1.Size:][:sha1.Size]
			if int(id[0]) != first || at > 0 && bytes.Compare(g.ids[(at-1)*sha1.Size:][:sha1.Size], id) >= 0 {
				return false
			}
		}
	}
	return at == int(g.count)
}

// acyclic checks all parents: they are there, and their levels and generations
// are lower.
func (g *Graph) acyclic() bool {
	// Parents are anywhere: numbers that lie close together are looked up faster.
	type numbers struct {
		generation uint64
		level      uint32
	}
	layer := make([]numbers, g.count)
	of := func(at uint32) numbers {
		if at >= g.first {
			return layer[at-g.first]
		}
		return numbers{g.Generation(at), g.Level(at)}
	}
	for i := range layer {
		at := g.first + uint32(i)
		layer[i] = numbers{g.Generation(at), g.Level(at)}
	}
	for at := g.first; at < g.Len(); at++ {
		child := of(at)
		if child.level == 0 || child.generation == noGeneration || !g.edgesEnd(at) {
			return false
		}
		for parent := range g.Parents(at) {
			if parent >= g.Len() {
				return false
			}
			if below := of(parent); below.level >= child.level || below.generation >= child.generation {
				return false
			}
		}
	}
	return true
}

// edgesEnd checks that a list of parents ends within the list of edges.
func (g *Graph) edgesEnd(at uint32) bool {
	second := binary.BigEndian.Uint32(g.record(at)[sha1.Size+4:])
	if second&manyBit == 0 {
		return true
	}
	for i := uint64(second &^ manyBit); 4*i < uint64(len(g.edges)); i++ {
		if binary.BigEndian.Uint32(g.edges[4*i:])&lastBit != 0 {
			return true
		}
	}
	return false
}

// Len returns the number of commits.
func (g *Graph) Len() uint32 { return g.first + g.count }

// layer returns the one that has a position.
func (g *Graph) layer(at uint32) *Graph {
	for at < g.first {
		g = g.base
	}
	return g
}

// record returns what the layer of a position has of its commit.
func (g *Graph) record(at uint32) []byte {
	g = g.layer(at)
	return g.commits[int(at-g.first)*commitBytes:][:commitBytes]
}

// Find returns the position of a commit.
func (g *Graph) Find(id ID) (at uint32, ok bool) {
	for ; g != nil; g = g.base {
		low := 0
		if id[0] > 0 {
			low = int(binary.BigEndian.Uint32(g.fanout[4*int(id[0]-1):]))
		}
		high := int(binary.BigEndian.Uint32(g.fanout[4*int(id[0]):]))
		i := low + sort.Search(high-low, func(i int) bool {
			return bytes.Compare(g.ids[(low+i)*sha1.Size:][:sha1.Size], id[:]) >= 0
		})
		if i < high && ID(g.ids[i*sha1.Size:]) == id {
			return g.first + uint32(i), true
		}
	}
	return 0, false
}

// ID returns the commit at a position.
func (g *Graph) ID(at uint32) ID {
	g = g.layer(at)
	return ID(g.ids[int(at-g.first)*sha1.Size:])
}

// Tree returns the tree of the commit at a position.
func (g *Graph) Tree(at uint32) ID { return ID(g.record(at)) }

// Parents returns the positions of the parents of a commit, in order.
func (g *Graph) Parents(at uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		layer := g.layer(at)
		record := layer.commits[int(at-layer.first)*commitBytes:][sha1.Size:]
		first, second := binary.BigEndian.Uint32(record), binary.BigEndian.Uint32(record[4:])
		switch {
		case first == noParent || !yield(first) || second == noParent:
		case second&manyBit == 0:
			yield(second)
		default:
			for i := second &^ manyBit; ; i++ {
				edge := binary.BigEndian.Uint32(layer.edges[4*i:])
				if !yield(edge&^lastBit) || edge&lastBit != 0 {
					return
				}
			}
		}
	}
}

// Date returns the committer's time of a commit in seconds since 1970, as far as 34
// bits hold it.
func (g *Graph) Date(at uint32) uint64 {
	return binary.BigEndian.Uint64(g.record(at)[sha1.Size+8:]) & DateMask
}

// Level returns the topological level of a commit: 1 without parents, otherwise at
// least one more than that of each parent.
func (g *Graph) Level(at uint32) uint32 {
	return binary.BigEndian.Uint32(g.record(at)[sha1.Size+8:]) >> (dateBits - 32)
}

// Corrected reports whether generations are corrected dates.
func (g *Graph) Corrected() bool { return g.offsets != nil }

// Generation returns a number that is greater than that of every ancestor: the
// corrected date where all layers have it, which cuts walks shorter, or else the
// level.
func (g *Graph) Generation(at uint32) uint64 {
	if g.offsets == nil {
		return uint64(g.Level(at))
	}
	layer := g.layer(at)
	offset := binary.BigEndian.Uint32(layer.offsets[4*int(at-layer.first):])
	if offset&overflow == 0 {
		return g.Date(at) + uint64(offset)
	}
	if i := 8 * uint64(offset&^overflow); i+8 <= uint64(len(layer.large)) {
		return g.Date(at) + binary.BigEndian.Uint64(layer.large[i:])
	}
	return noGeneration
}
