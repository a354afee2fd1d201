package blocks

import "github.com/repomcp/repomcp/internal/base/workers"

// block is the memory for one block's history and input.
type block struct {
	memory  []byte // the history ends where the input begins
	history int    // bytes before the input
	input   int    // bytes of input
	size    int    // of a full input

	lentTo *account
	shared bool // the stream's own blocks are used up
}

// reset prepares the block for a number, with history before it.
func (b *block) reset(f *Format, number int, history []byte) {
	b.history, b.input, b.size = len(history), 0, f.Size(number)
	copy(b.memory[f.History-len(history):], history)
}

// fill copies as much of p as fits, and returns how much.
func (b *block) fill(f *Format, p []byte) int {
	n := copy(b.memory[f.History+b.input:f.History+b.size], p)
	b.input += n
	return n
}

func (b *block) full() bool { return b.input == b.size }

// tail returns the history of the next block.
func (b *block) tail(f *Format) []byte {
	end := f.History + b.input
	return b.memory[max(f.History-b.history, end-f.History):end]
}

// job is a block on its way through a worker, and its output on its way to the destination.
type job struct {
	pool    *Pool
	encoder Encoder
	stored  bool // see Stream.Store
	number  int
	block   *block // nil once the worker has encoded it

	output []byte // there are Format.Front free bytes before it
	err    error

	// done receives one value when output or err is set. Its capacity of one keeps the worker from
	// ever waiting for the stream.
	done chan struct{}
}

func newJob(p *Pool) *job {
	return &job{pool: p, output: make([]byte, p.format.Front), done: make(chan struct{}, 1)}
}

// Run encodes the block; it implements [workers.Task]. The block is returned here, and not when its
// output was written: otherwise slow readers would keep all blocks.
func (j *job) Run(w *workers.Worker) {
	f, b := j.pool.format, j.block
	encoded, err := j.encode(w, b.memory[f.History-b.history:f.History], b.memory[f.History:f.History+b.input])
	j.output, j.err = append(j.room(f.Front+len(encoded)), encoded...), err
	j.giveBack()
	j.done <- struct{}{}
}

func (j *job) encode(w *workers.Worker, history, data []byte) ([]byte, error) {
	if storer, ok := j.encoder.(Storer); ok && j.stored {
		return storer.Store(w, data)
	}
	return j.encoder.Encode(w, j.number, history, data)
}

// room returns the buffer for an output of that length, with the front. A buffer that would stay
// mostly unused is replaced: there may be as many buffers as slow readers.
func (j *job) room(length int) []byte {
	front := j.pool.format.Front
	if cap(j.output) < length || cap(j.output) > 2*length {
		j.output = make([]byte, front, length)
	}
	return j.output[:front]
}

// giveBack returns a block that no worker uses any more.
func (j *job) giveBack() {
	if j.block != nil {
		j.pool.stock.put(j.block)
		j.block = nil
	}
}

// finished reports, without waiting, whether the worker has encoded the block.
func (j *job) finished() bool { return len(j.done) > 0 }
