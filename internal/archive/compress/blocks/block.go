package blocks

import "github.com/repomcp/repomcp/internal/base/workers"

// block is the memory of one block's history and input.
type block struct {
	memory  []byte // the history ends where the input begins
	history int    // bytes before the input
	input   int    // bytes of it
	size    int    // of the input, when full

	lentTo *account
	shared bool // it is beyond the stream's own
}

// reset makes the block the one with that number, after the bytes of history.
func (b *block) reset(f *Format, number int, history []byte) {
	b.history, b.input, b.size = len(history), 0, f.Size(number)
	copy(b.memory[f.History-len(history):], history)
}

// fill takes what it can of p.
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

// job is a block on its way through a worker, and what became of it on its way to the
// destination.
type job struct {
	pool    *Pool
	encoder Encoder
	number  int
	block   *block // nil once the worker is done with it

	output []byte // what comes before it has Format.Front bytes of room in it
	err    error

	// done receives one value when output or err is set. Its room for one
	// keeps the worker from ever waiting for the stream.
	done chan struct{}
}

func newJob(p *Pool) *job {
	return &job{pool: p, output: make([]byte, p.format.Front), done: make(chan struct{}, 1)}
}

// Run encodes the block; it is its [workers.Task]. The block is given back here, and
// not when its output was written: slow readers would keep all of them.
func (j *job) Run(w *workers.Worker) {
	f, b := j.pool.format, j.block
	encoded, err := j.encoder.Encode(w, j.number, b.memory[f.History-b.history:f.History],
		b.memory[f.History:f.History+b.input])
	j.output, j.err = append(j.room(f.Front+len(encoded)), encoded...), err
	j.giveBack()
	j.done <- struct{}{}
}

// room is the front of an output of that length. One that would leave much of its memory
// unused gets other memory: there may be as many as there are slow readers.
func (j *job) room(length int) []byte {
	front := j.pool.format.Front
	if cap(j.output) < length || cap(j.output) > 2*length {
		j.output = make([]byte, front, length)
	}
	return j.output[:front]
}

// giveBack returns the block that no worker has any more.
func (j *job) giveBack() {
	if j.block != nil {
		j.pool.stock.put(j.block)
		j.block = nil
	}
}

// finished says, without waiting, whether the worker is done with the block.
func (j *job) finished() bool { return len(j.done) > 0 }
