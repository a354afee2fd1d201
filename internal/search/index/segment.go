package index

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/repomcp/repomcp/internal/git"
)

// A segment is a file of blocks, a table, and a footer of fixed size:
//
//	block   entries of ascending keys: the number of bytes that the key shares with the one before it, the rest of
//	        the key, and the list of documents, each with its length
//	table   the version, the documents, and the first key, place and checksum of each block
//	footer  place and checksum of the table, a checksum of the footer, and the magic
//
// Numbers are varints, except in the footer. The keys are:
//
//	k         documents with a Kelvin sign or a long s
//	t + 3     a trigram, by its classes
//	w + form  a word of package rank, with its occurrences
//	x         documents with so many words that these are not counted
const (
	magic       = "rmcpidx1"
	footerBytes = 8 + 4 + 4 + 4 + len(magic)

	keyBeyond   = "k"
	keyGram     = "t"
	keyWord     = "w"
	keyWordless = "x"

	// blockBytes is the size from which a block is written. A look-up goes through one block; an open segment has a
	// hundredth of its size in memory, the first keys of all blocks.
	blockBytes = 4 << 10
	// maxTable bounds the table: that of some millions of documents.
	maxTable = 256 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// kind of a document.
type kind uint8

const (
	text kind = iota
	binaryFile
	largeFile
	kinds
	generated kind = 1 << 7 // a text that says that a program wrote it
)

// document is a blob. The language tells which words are counted as names: that of the file by which it was found
// first.
type document struct {
	id       git.ID
	language string // as of [definitions.Namer.Language]
	kind     kind   // perhaps with generated
	size     uint32 // of a text
}

// block is a place in a segment.
type block struct {
	first  string // key
	offset int64
	length uint32
	sum    uint32
}

// segment is an open segment. Any number of goroutines may use it.
type segment struct {
	name    string // its digest
	from    io.ReaderAt
	size    int64
	close   func() error
	version string
	text    int64 // bytes of the texts of its documents
	blocks  []block
	count   int      // of documents
	numbers []uint32 // of its documents; set once by the numbering
	foreign []uint32 // documents that are known in another language, so that their names are not what counts
}

// openSegment reads the table of a segment.
func openSegment(from io.ReaderAt, size int64) (*segment, []document, error) {
	var foot [footerBytes]byte
	if size < int64(len(foot)) {
		return nil, nil, errDamaged
	}
	if _, err := from.ReadAt(foot[:], size-int64(len(foot))); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	const sealed = footerBytes - len(magic) - 4
	offset, length := binary.BigEndian.Uint64(foot[:]), binary.BigEndian.Uint32(foot[8:])
	if string(foot[footerBytes-len(magic):]) != magic ||
		binary.BigEndian.Uint32(foot[sealed:]) != checksum(foot[:sealed]) ||
		length > maxTable || int64(offset) < 0 || int64(offset)+int64(length)+int64(footerBytes) != size {
		return nil, nil, errDamaged
	}
	table, err := readChecked(nil, from, int64(offset), length, binary.BigEndian.Uint32(foot[12:]))
	if err != nil {
		return nil, nil, err
	}
	s := &segment{from: from, size: size, close: func() error { return nil }}
	documents, err := s.parseTable(table, int64(offset))
	return s, documents, err
}

// readChecked reads into memory, or into other memory if there is not enough.
func readChecked(into []byte, from io.ReaderAt, offset int64, length, sum uint32) ([]byte, error) {
	b := slices.Grow(into[:0], int(length))[:length]
	if _, err := from.ReadAt(b, offset); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if checksum(b) != sum {
		return nil, errDamaged
	}
	return b, nil
}

// The sizes of parts of a table, which bound the numbers of them.
const (
	documentBytes = len(git.ID{}) + 3
	leastBlock    = 4
)

func (s *segment) parseTable(table []byte, end int64) ([]document, error) {
	r := reader{rest: table}
	s.version = string(r.bytes(r.number()))
	s.text = int64(r.number())
	languages := make([]string, min(r.number(), 1<<8))
	for i := range languages {
		languages[i] = string(r.bytes(r.number()))
	}
	documents := make([]document, min(r.number(), uint64(len(table)/documentBytes)))
	for i := range documents {
		d := &documents[i]
		copy(d.id[:], r.bytes(uint64(len(d.id))))
		language := r.number()
		d.kind, d.size = kind(r.number()), uint32(r.number())
		if language >= uint64(len(languages)) || d.kind&^generated >= kinds {
			return nil, errDamaged
		}
		d.language = languages[language]
	}
	s.count = len(documents)
	s.blocks = make([]block, min(r.number(), uint64(len(table)/leastBlock)))
	offset := int64(0)
	for i := range s.blocks {
		b := &s.blocks[i]
		b.first = string(r.bytes(r.number()))
		b.offset, b.length, b.sum = offset, uint32(r.number()), uint32(r.number())
		offset += int64(b.length)
	}
	if offset != end || len(r.rest) > 0 {
		return nil, errDamaged
	}
	return documents, r.err()
}

// read returns the entries of a block, which it reads into memory: see [readChecked].
func (s *segment) read(b *block, into []byte) (entries, error) {
	content, err := readChecked(into, s.from, b.offset, b.length, b.sum)
	return entries{reader: reader{rest: content}, block: content}, err
}

// entries are those of a block.
type entries struct {
	reader
	block []byte
	key   []byte
	list  []byte
}

func (e *entries) next() bool {
	if e.wrong || len(e.rest) == 0 {
		return false
	}
	shared := e.number()
	rest := e.bytes(e.number())
	e.list = e.bytes(e.number())
	if e.wrong = e.wrong || shared > uint64(len(e.key)); e.wrong {
		return false
	}
	e.key = append(e.key[:shared], rest...)
	return true
}

func gramKey(gram uint32) string {
	const mask = 1<<classBits - 1
	return keyGram + string([]byte{byte(gram >> (2 * classBits)), byte(gram >> classBits & mask), byte(gram & mask)})
}
