package gzip

import "github.com/repomcp/repomcp/internal/archive/compress/blocks"

const (
	// WriterBlocks is what every Writer may hold however many there are: one block is filled while
	// the other is compressed or written.
	WriterBlocks = 2

	// windowSize is how far back deflate can refer (RFC 1951, section 2).
	windowSize = 32 << 10

	// libraryBlock is the input of one deflate block of the library. Our sizes are multiples of it;
	// otherwise each block would end in a stump of a few bytes with a header of its own.
	libraryBlock = 65535

	// BlockSize is the input of one block, about half a MiB. Every block
	// encodes its dictionary again: with 256 KiB that costs 5 % more processor
	// time, while 1 MiB saves 1 % and doubles the memory. The size of the
	// output hardly depends on it.
	BlockSize = 8 * libraryBlock

	// BlockMemory is the memory of a block. The room for the dictionary is more than the growth of
	// an incompressible block.
	BlockMemory = windowSize + BlockSize
)

var format = blocks.Format{
	Name:    "gzip",
	Own:     WriterBlocks,
	Size:    sizeAt,
	Largest: BlockSize,
	History: windowSize,
	Front:   headerSize,
}

// sizeAt returns the input length of the block with that number. The first blocks are small: the
// first byte leaves after a fraction of a millisecond of compression, and a short stream still
// occupies several workers. The sizes depend only on the position and never on time, so the output
// does too.
func sizeAt(number int) int {
	switch number {
	case 0:
		return 16 << 10
	case 1:
		return libraryBlock
	case 2:
		return 4 * libraryBlock
	default:
		return BlockSize
	}
}
