package zstd

import (
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// maxMoved is how far an encoder goes before a new one replaces it.
//
// The library keeps positions in a 32-bit counter that moves by the input and
// the window with each use, and clears its tables when the counter nears 2 GiB.
// That the output is the same after it is nobody's promise; below 1 GiB it does
// not happen.
const maxMoved = 1 << 30

// turns are the efforts with which blocks are compressed in turn, by level. The
// library has few: what lies between two is made by giving blocks turns of both.
//
// Level 3 is just smaller than the zstd command's. SpeedDefault alone is 1.4 %
// larger, and SpeedBetterCompression alone 5 % smaller for twice the time.
// SpeedBestCompression is left out since its tables take 34 MiB.
var turns = [MaxLevel + 1][7]zstd.EncoderLevel{
	1: {fast, fast, fast, fast, fast, fast, fast},
	2: {plain, fast, plain, fast, plain, fast, fast},
	3: {better, plain, plain, plain, plain, plain, plain},
	4: {better, better, plain, better, plain, better, plain},
	5: {better, better, better, better, better, better, better},
	6: {better, better, better, better, better, better, better},
	7: {better, better, better, better, better, better, better},
	8: {better, better, better, better, better, better, better},
	9: {better, better, better, better, better, better, better},
}

// effortAt is that of the block with the given number. The small ones have the
// best effort of their level, which makes up for what they lose by being small,
// but for the first, which is waited for.
func effortAt(level, number int) zstd.EncoderLevel {
	turn := turns[level]
	switch {
	case number == 0:
		return slices.Min(turn[:])
	case sizeAt(number) < BlockSize:
		return slices.Max(turn[:])
	default:
		return turn[number%len(turn)]
	}
}

const (
	fast    = zstd.SpeedFastest
	plain   = zstd.SpeedDefault
	better  = zstd.SpeedBetterCompression
	efforts = better + 1 // bound
)

// libraries lends the library's encoders to the workers. There are as many for
// each effort as were in use at a time: a worker's own would be held by all of
// them, though the costly effort has a turn now and then.
type libraries struct {
	mu   sync.Mutex
	free [efforts][]*library
}

// library is the library's encoder for one effort.
type library struct {
	*zstd.Encoder
	moved int
}

// take lends one that can still move so far.
func (l *libraries) take(effort zstd.EncoderLevel) (*library, error) {
	if lib := l.used(effort); lib != nil && lib.moved < maxMoved {
		return lib, nil
	}
	made, err := newEncoderOf(effort, window)
	return &library{Encoder: made}, err
}

// used returns one that was given back, or nil.
func (l *libraries) used(effort zstd.EncoderLevel) *library {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.free[effort]) - 1
	if last < 0 {
		return nil
	}
	lib := l.free[effort][last]
	l.free[effort][last] = nil
	l.free[effort] = l.free[effort][:last]
	return lib
}

// put takes one back. One that was not given back, by a task that panicked, is
// garbage.
func (l *libraries) put(effort zstd.EncoderLevel, lib *library) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free[effort] = append(l.free[effort], lib)
}

// encoder makes frames, one at a time. It belongs to a worker.
type encoder struct {
	libs *libraries
	out  []byte
}

// newEncoder makes the output's memory at once: if it grew, more would be left
// behind than it takes. What no frame reaches is never touched.
func newEncoder(libs *libraries) *encoder {
	return &encoder{libs: libs, out: make([]byte, 0, BlockSize+overhead)}
}

// frame returns the frame of data, which is at most BlockSize long. The result
// is valid until the next call and does not depend on earlier ones.
func (e *encoder) frame(effort zstd.EncoderLevel, data []byte) ([]byte, error) {
	lib, err := e.libs.take(effort)
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	lib.moved += window + len(data)
	e.out = lib.EncodeAll(data, e.out[:0])
	e.libs.put(effort, lib)
	return e.out, nil
}

// newEncoderOf makes the library's encoder for frames that a window holds whole. Its
// frames have a checksum, unless more says otherwise.
func newEncoderOf(effort zstd.EncoderLevel, window int, more ...zstd.EOption) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, append([]zstd.EOption{
		zstd.WithEncoderLevel(effort),
		zstd.WithEncoderConcurrency(1), // for a call at a time
		zstd.WithWindowSize(window),
		// What this saves, room to slide the window in, is not missed.
		zstd.WithLowerEncoderMem(true),
		// Or a small frame has no size, and a dictionary is not in reach to the end.
		zstd.WithSingleSegment(true),
		// A third of a percent for nothing.
		zstd.WithAllLitEntropyCompression(true),
		zstd.WithZeroFrames(true),
		zstd.WithEncoderCRC(true),
	}, more...)...)
}
