package gzip

import (
	"github.com/repomcp/repomcp/internal/archive/workers"
)

const (
	// windowSize is how far back deflate can refer (RFC 1951, section 2).
	windowSize = 32 << 10

	// libraryBlock is the input of one deflate block of the library. Our sizes
	// are multiples of it, or each block would end in a stump of a few bytes
	// with a header of its own.
	libraryBlock = 65535

	// BlockSize is the input of one block, about half a MiB. Every block
	// encodes its dictionary again: with 256 KiB that costs 5 % more processor
	// time, while 1 MiB saves 1 % and doubles the memory. The size of the
	// output hardly depends on it.
	BlockSize = 8 * libraryBlock

	// BlockMemory is what a block occupies.
	BlockMemory = windowSize + BlockSize
)

// sizeAt returns the input of the block with that number. The first ones are
// small: the first byte leaves after a fraction of a millisecond of
// compression, and a short stream still occupies several workers. They depend
// on the position only and never on time, so that the output does too.
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

// block is one block on its way through a worker: input before, output after.
type block struct {
	slot *workers.Slot[*deflater]

	// memory holds the dictionary, which ends at windowSize, and the input,
	// which begins there. The worker puts the output over both, so that a
	// block needs no second buffer.
	memory     []byte
	dictionary int // bytes before windowSize
	input      int // bytes from windowSize
	size       int // of the input, when full

	prefix []byte // put before the output: the header, in the first block
	output []byte
	err    error

	// done receives one value when output or err is set. Its room for one
	// keeps the worker from ever waiting for the Writer.
	done chan struct{}
}

func newBlock() *block {
	return &block{memory: make([]byte, BlockMemory), done: make(chan struct{}, 1)}
}

// reset makes the block the one with that number, after the bytes of history.
func (b *block) reset(slot *workers.Slot[*deflater], number int, history []byte) {
	b.slot = slot
	b.dictionary, b.input, b.size = len(history), 0, sizeAt(number)
	b.prefix, b.output, b.err = nil, nil, nil
	copy(b.memory[windowSize-len(history):], history)
	select {
	case <-b.done: // finished after its Writer had given up
	default:
	}
}

// fill takes what it can of p.
func (b *block) fill(p []byte) int {
	n := copy(b.memory[windowSize+b.input:windowSize+b.size], p)
	b.input += n
	return n
}

func (b *block) full() bool { return b.input == b.size }

// data returns the input.
func (b *block) data() []byte { return b.memory[windowSize : windowSize+b.input] }

// tail returns the dictionary of the next block: up to windowSize bytes.
func (b *block) tail() []byte {
	end := windowSize + b.input
	return b.memory[max(windowSize-b.dictionary, end-windowSize):end]
}

// Run compresses the block; it is its [workers.Task].
func (b *block) Run(w *workers.Worker) {
	compressed, err := b.slot.Of(w).deflate(b.memory[windowSize-b.dictionary:windowSize], b.data())
	// Only now, with the compressor done, may the input be overwritten.
	b.output = append(append(b.memory[:0], b.prefix...), compressed...)
	b.err = err
	b.done <- struct{}{}
}

// finished says, without waiting, whether the worker is done with the block.
func (b *block) finished() bool { return len(b.done) > 0 }
