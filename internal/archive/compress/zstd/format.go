package zstd

import "github.com/repomcp/repomcp/internal/archive/compress/blocks"

const (
	// WriterBlocks is what every Writer may hold however many there are. A stream with only one
	// block is filled and compressed in turn, which suffices when so many streams compete for the
	// workers that no shared blocks are left.
	WriterBlocks = 1

	// fillingBlocks, and one for each worker that compresses, are lent at a time: one to each of
	// two clients. More would not be full any sooner, since the same workers make their input.
	fillingBlocks = 2

	// BlockSize is the input of one frame. Half of it makes an archive of source code 2 percent
	// larger, and twice as much half a percent smaller for twice the memory.
	BlockSize = 4 << 20

	// window is the smallest power of two that holds a frame.
	window = BlockSize

	// firstSize is the input of the first frame: the first byte leaves after a millisecond of
	// compression.
	firstSize = 128 << 10

	// withheld is how many bytes of a frame wait for the next one: without its checksum a frame is
	// not complete.
	withheld = 4

	// overhead bounds the growth of a frame: a header of at most 14 bytes, 3 for each of its
	// blocks, of 64 KiB or more, and a checksum.
	overhead = 14 + 3*(BlockSize>>16) + 4
)

var format = blocks.Format{
	Name:     "zstd",
	Own:      WriterBlocks,
	Size:     sizeAt,
	Largest:  BlockSize,
	Front:    withheld,
	Withheld: withheld,
	Empty:    emptyFrame,
}

// emptyFrame is a stream without input, since no output would be no zstd file (RFC 8878, section
// 3.1.1): magic number; a single segment of no bytes; an empty last block, raw. It needs no
// checksum.
const emptyFrame = "\x28\xb5\x2f\xfd" + "\x20\x00" + "\x01\x00\x00"

// sizeAt returns the input length of the block with that number.
func sizeAt(number int) int { return blocks.DoubledSize(firstSize, BlockSize, number) }
