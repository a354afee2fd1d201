package commitgraph

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"math"
	"sort"
)

// ErrMalformed means that bytes are no commit-graph, or an inconsistent one.
var ErrMalformed = errors.New("malformed commit-graph")

// DateMask selects the bits of a date that a graph stores.
const DateMask = 1<<dateBits - 1

// ID is the SHA-1 of a commit or a tree.
type ID = [sha1.Size]byte

const (
	headerBytes = 8
	chunkBytes  = 12 // per entry of the table of chunks
	commitBytes = sha1.Size + 16
	fanoutBytes = 256 * 4

	noParent   = 0x70000000
	manyBit    = 1 << 31 // in a second parent: the rest is a position in the list of edges
	lastBit    = 1 << 31 // in that list
	overflow   = 1 << 31 // in an offset of a date: the rest is a position among the large ones
	dateBits   = 34
	maxCommits = noParent - 1

	// noGeneration marks a generation outside of the file.
	noGeneration = math.MaxUint64
)

// Graph is a layer of a commit-graph with those below it.
type Graph struct {
	base  *Graph
	first uint32 // position of the layer's first commit
	count uint32 // of the layer's commits

	file                    *content
	fanout                  []byte
	ids, commits            chunk
	offsets, large          chunk // of corrected dates; empty if absent
	edges                   chunk
	filterEnds, filters     chunk // Bloom filters of changed paths; empty if absent
	filterVersion, hashings uint32
	checksum                [sha1.Size]byte
}

// chunk is a part of the file.
type chunk struct{ from, size int }

// row returns element i of a chunk with elements of equal size.
func (g *Graph) row(c chunk, size, i int) []byte { return g.file.at(c.from+i*size, size) }

// number returns number i of a chunk.
func (g *Graph) number(c chunk, i int) uint32 { return binary.BigEndian.Uint32(g.row(c, 4, i)) }

// Parse reads and verifies a layer. base is the graph of the layers below it, or nil for a single
// file and for the first of a chain. The graph refers to data, which must not change.
func Parse(data []byte, base *Graph) (*Graph, error) {
	g, err := begin(wholeContent(data), base)
	if err == nil {
		err = g.Check(context.Background())
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Open reads and checks the beginning of a layer. The rest is read from the file on demand, until
// [Graph.Check] has returned.
func Open(file io.ReaderAt, size int64, base *Graph) (*Graph, error) {
	return begin(newContent(file, size), base)
}

func begin(file *content, base *Graph) (*Graph, error) {
	if len(file.bytes) < headerBytes+chunkBytes+sha1.Size {
		return nil, ErrMalformed
	}
	g := &Graph{base: base, file: file}
	if err := cmp.Or(g.layOut(), file.failure()); err != nil {
		return nil, err
	}
	return g, nil
}

// layOut finds the chunks and checks their sizes.
func (g *Graph) layOut() error {
	chunks, layers, err := g.file.table()
	if err != nil {
		return err
	}
	below, fanout := chunks["BASE"], chunks["OIDF"]
	g.ids, g.commits, g.edges = chunks["OIDL"], chunks["CDAT"], chunks["EDGE"]
	g.checksum = [sha1.Size]byte(g.file.at(len(g.file.bytes)-sha1.Size, sha1.Size))
	if fanout.size != fanoutBytes || g.layers()-1 != layers {
		return ErrMalformed
	}
	if g.base != nil {
		g.first = g.base.Len()
		if below.size < sha1.Size ||
			g.base.checksum != [sha1.Size]byte(g.file.at(below.from+below.size-sha1.Size, sha1.Size)) {
			return ErrMalformed
		}
	}
	g.fanout = g.file.at(fanout.from, fanout.size)
	for bucket := range 255 {
		if g.bucketEnd(bucket) > g.bucketEnd(bucket+1) {
			return ErrMalformed
		}
	}
	g.count = uint32(g.bucketEnd(255))
	n := int(g.count)
	if uint64(g.first)+uint64(g.count) > maxCommits || g.ids.size != n*sha1.Size || g.commits.size != n*commitBytes ||
		g.edges.size%4 != 0 {
		return ErrMalformed
	}
	if offsets := chunks["GDA2"]; n > 0 && offsets.size == 4*n && (g.base == nil || g.base.Corrected()) {
		g.offsets, g.large = offsets, chunks["GDO2"]
	}
	g.takeFilters(chunks["BIDX"], chunks["BDAT"])
	return nil
}

// table divides the file into chunks by name, and returns its number of layers below it.
func (c *content) table() (chunks map[string]chunk, layers int, err error) {
	const version, sha1Version = 1, 1
	header, end := c.at(0, headerBytes), uint64(len(c.bytes)-sha1.Size)
	count := int(header[6])
	if string(header[:4]) != "CGPH" || header[4] != version || header[5] != sha1Version ||
		uint64(headerBytes+(count+1)*chunkBytes) > end {
		return nil, 0, ErrMalformed
	}
	table := c.at(headerBytes, (count+1)*chunkBytes)
	chunks = make(map[string]chunk, count)
	for i := range count {
		from := binary.BigEndian.Uint64(table[i*chunkBytes+4:])
		to := binary.BigEndian.Uint64(table[(i+1)*chunkBytes+4:])
		if from > to || to > end {
			return nil, 0, ErrMalformed
		}
		chunks[string(table[i*chunkBytes:][:4])] = chunk{int(from), int(to - from)}
	}
	return chunks, int(header[7]), nil
}

func (g *Graph) layers() int {
	n := 0
	for ; g != nil; g = g.base {
		n++
	}
	return n
}

// Check verifies all of a layer, its checksum and its consistency: the ids ascend, all parents
// exist, and their levels and generations are lower. Afterwards the file is not needed any more.
// Errors become the layer's fault.
func (g *Graph) Check(ctx context.Context) error {
	sum, err := g.file.sum(ctx)
	if err != nil {
		return err
	}
	if sum != g.checksum || !g.ordered() || !g.acyclic() || !g.filtersAscend() {
		g.Refuse(ErrMalformed)
	}
	return g.file.failure()
}

// Fault returns the first error found in any of the layers: their answers are then invalid.
func (g *Graph) Fault() error {
	for ; g != nil; g = g.base {
		if err := g.file.failure(); err != nil {
			return err
		}
	}
	return nil
}

// Refuse makes an error the layer's fault, unless it has one.
func (g *Graph) Refuse(err error) { g.file.refuse(err) }

// bucketEnd returns the number of ids whose first byte is at most first.
func (g *Graph) bucketEnd(first int) int { return int(binary.BigEndian.Uint32(g.fanout[4*first:])) }

// ordered checks that the ids ascend and match the fan-out.
func (g *Graph) ordered() bool {
	at := 0
	for first := range 256 {
		for ; at < g.bucketEnd(first); at++ {
			id := g.row(g.ids, sha1.Size, at)
			if int(id[0]) != first || at > 0 && bytes.Compare(g.row(g.ids, sha1.Size, at-1), id) >= 0 {
				return false
			}
		}
	}
	return true
}

// acyclic checks all parents.
func (g *Graph) acyclic() bool {
	for at := g.first; at < g.Len(); at++ {
		generation := g.Generation(at)
		if g.Level(at) == 0 || generation == noGeneration {
			return false
		}
		for parent := range g.Parents(at) {
			if g.Generation(parent) >= generation {
				return false
			}
		}
	}
	return true
}

// Len returns the number of commits.
func (g *Graph) Len() uint32 { return g.first + g.count }

// layer returns the layer of a position.
func (g *Graph) layer(at uint32) *Graph {
	for at < g.first {
		g = g.base
	}
	return g
}

// record returns the stored data of a commit.
func (g *Graph) record(at uint32) []byte {
	g = g.layer(at)
	return g.row(g.commits, commitBytes, int(at-g.first))
}

// Find returns the position of a commit. A nil graph has none.
func (g *Graph) Find(id ID) (at uint32, ok bool) {
	for ; g != nil; g = g.base {
		low, high := 0, g.bucketEnd(int(id[0]))
		if id[0] > 0 {
			low = g.bucketEnd(int(id[0]) - 1)
		}
		i, found := sort.Find(high-low, func(i int) int {
			return bytes.Compare(id[:], g.row(g.ids, sha1.Size, low+i))
		})
		if found {
			return g.first + uint32(low+i), true
		}
	}
	return 0, false
}

// ID returns the commit at a position.
func (g *Graph) ID(at uint32) ID {
	g = g.layer(at)
	return ID(g.row(g.ids, sha1.Size, int(at-g.first)))
}

// Tree returns the tree of the commit at a position.
func (g *Graph) Tree(at uint32) ID { return ID(g.record(at)) }

// Parents returns the positions of a commit's parents, in order. Their levels are below its own, so
// that no walk is endless: a parent that violates this ends the list and sets the fault.
func (g *Graph) Parents(at uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		layer := g.layer(at)
		record := layer.record(at)
		level := levelOf(record)
		first, second := binary.BigEndian.Uint32(record[sha1.Size:]), binary.BigEndian.Uint32(record[sha1.Size+4:])
		switch {
		case first == noParent || !layer.isBelow(first, level) || !yield(first) || second == noParent:
		case second&manyBit == 0:
			if layer.isBelow(second, level) {
				yield(second)
			}
		default:
			layer.list(int(second&^manyBit), level, yield)
		}
	}
}

// list yields the parents in the list of edges.
func (g *Graph) list(i int, level uint32, yield func(uint32) bool) {
	for ; i < g.edges.size/4; i++ {
		edge := g.number(g.edges, i)
		if !g.isBelow(edge&^lastBit, level) || !yield(edge&^lastBit) || edge&lastBit != 0 {
			return
		}
	}
	g.Refuse(ErrMalformed)
}

// isBelow reports whether a position is that of a commit with a lower level.
func (g *Graph) isBelow(at, level uint32) bool {
	below := at < g.Len() && g.Level(at) < level
	if !below {
		g.Refuse(ErrMalformed)
	}
	return below
}

// Date returns the committer's time of a commit in seconds since 1970, modulo 2^34.
func (g *Graph) Date(at uint32) uint64 {
	return binary.BigEndian.Uint64(g.record(at)[sha1.Size+8:]) & DateMask
}

// Level returns the topological level of a commit: 1 without parents, otherwise more than that of
// each parent.
func (g *Graph) Level(at uint32) uint32 { return levelOf(g.record(at)) }

func levelOf(record []byte) uint32 {
	return binary.BigEndian.Uint32(record[sha1.Size+8:]) >> (dateBits - 32)
}

// Corrected reports whether generations are corrected dates.
func (g *Graph) Corrected() bool { return g.offsets.size > 0 }

// Generation returns a number that is greater than that of every ancestor: the corrected date if
// all layers have it, which makes walks shorter, or else the level.
func (g *Graph) Generation(at uint32) uint64 {
	if !g.Corrected() {
		return uint64(g.Level(at))
	}
	layer := g.layer(at)
	offset := layer.number(layer.offsets, int(at-layer.first))
	if offset&overflow == 0 {
		return g.Date(at) + uint64(offset)
	}
	if i := int(offset &^ overflow); i < layer.large.size/8 {
		return g.Date(at) + binary.BigEndian.Uint64(layer.row(layer.large, 8, i))
	}
	layer.file.refuse(ErrMalformed)
	return noGeneration
}
