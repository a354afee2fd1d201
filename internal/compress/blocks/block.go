package blocks

import "github.com/repomcp/repomcp/internal/workers"

// block is one block on its way through a worker: input before, output after.
type block struct {
	format  *Format
	encoder Encoder
	number  int

	// memory holds the history, which ends where the input begins, and the
	// input. The worker puts the output over both, so that a block needs no
	// second buffer.
	memory  []byte
	history int // bytes before the input
	input   int // bytes of it
	size    int // of the input, when full

	output []byte // what comes before it has Format.Front bytes of room in it
	err    error

	// done receives one value when output or err is set. Its room for one
	// keeps the worker from ever waiting for the stream.
	done chan struct{}
}

func newBlock(f *Format) *block {
	return &block{format: f, memory: make([]byte, f.start()+f.Largest+f.Growth), done: make(chan struct{}, 1)}
}

// start is where the input begins in a block's memory.
func (f *Format) start() int { return max(f.History, f.Front) }

// reset makes the block the one with that number, after the bytes of history.
func (b *block) reset(encoder Encoder, number int, history []byte) {
	b.encoder, b.number = encoder, number
	b.history, b.input, b.size = len(history), 0, b.format.Size(number)
	b.output, b.err = nil, nil
	copy(b.memory[b.format.start()-len(history):], history)
	select {
	case <-b.done: // finished after its stream had given up
	default:
	}
}

// fill takes what it can of p.
func (b *block) fill(p []byte) int {
	start := b.format.start()
	n := copy(b.memory[start+b.input:start+b.size], p)
	b.input += n
	return n
}

func (b *block) full() bool { return b.input == b.size }

// tail returns the history of the next block.
func (b *block) tail() []byte {
	start := b.format.start()
	end := start + b.input
	return b.memory[max(start-b.history, end-b.format.History):end]
}

// Run encodes the block; it is its [workers.Task].
func (b *block) Run(w *workers.Worker) {
	start, front := b.format.start(), b.format.Front
	encoded, err := b.encoder.Encode(w, b.number, b.memory[start-b.history:start], b.memory[start:start+b.input])
	// Only now, with the encoder done, may the input be overwritten.
	b.output, b.err = append(b.memory[:front], encoded...), err
	b.done <- struct{}{}
}

// finished says, without waiting, whether the worker is done with the block.
func (b *block) finished() bool { return len(b.done) > 0 }
