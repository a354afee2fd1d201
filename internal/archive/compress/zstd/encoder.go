package zstd

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// maxMoved is how much input an encoder takes before a new one replaces it.
//
// The library keeps positions in a 32-bit counter that moves by the input and the window with each
// use, and clears its tables when the counter nears 2 GiB. The library does not promise the same
// output afterwards; below 1 GiB it does not clear them.
const maxMoved = 1 << 30

const (
	fast   = zstd.SpeedFastest
	plain  = zstd.SpeedDefault
	better = zstd.SpeedBetterCompression
)

// effortOf returns the library's effort for a level. SpeedBestCompression is not used since its
// tables take 34 MiB.
func effortOf(level int) zstd.EncoderLevel {
	switch {
	case level < DefaultLevel:
		return fast
	case level == DefaultLevel:
		return plain
	default:
		return better
	}
}

// encoder makes frames, one at a time. It belongs to a worker.
type encoder struct {
	effort  zstd.EncoderLevel
	library *zstd.Encoder // nil before the first frame
	moved   int
	out     []byte
}

// newEncoder allocates the memory for the output at once: a growing buffer would leave more garbage
// behind than its final size. Pages that no frame reaches are never touched.
func newEncoder(effort zstd.EncoderLevel) *encoder {
	return &encoder{effort: effort, out: make([]byte, 0, BlockSize+overhead)}
}

// frame returns the frame of data, which is at most BlockSize long. The result is valid until the
// next call and does not depend on earlier ones.
func (e *encoder) frame(data []byte) ([]byte, error) {
	if e.library == nil || e.moved >= maxMoved {
		library, err := newEncoderOf(e.effort, window)
		if err != nil {
			return nil, fmt.Errorf("encoder: %w", err)
		}
		e.library, e.moved = library, 0
	}
	e.moved += window + len(data)
	e.out = e.library.EncodeAll(data, e.out[:0])
	return e.out, nil
}

const (
	// storedHeader begins a frame (RFC 8878, section 3.1.1): the magic number; a single segment with a
	// size of four bytes and a checksum.
	storedHeader = "\x28\xb5\x2f\xfd" + "\xa4"
	// maxStored is the most that one block of a frame has.
	maxStored = 128 << 10
)

// store returns a frame of raw blocks (RFC 8878, section 3.1.1.2). The result is valid until the
// next call.
func (e *encoder) store(data []byte) []byte {
	e.out = binary.LittleEndian.AppendUint32(append(e.out[:0], storedHeader...), uint32(len(data)))
	sum := xxhash.Sum64(data)
	for more := true; more; {
		block := data[:min(len(data), maxStored)]
		data = data[len(block):]
		more = len(data) > 0
		header := uint32(len(block)) << 3
		if !more {
			header |= 1
		}
		e.out = append(e.out, byte(header), byte(header>>8), byte(header>>16))
		e.out = append(e.out, block...)
	}
	return binary.LittleEndian.AppendUint32(e.out, uint32(sum))
}

// newEncoderOf makes the library's encoder for frames that fit into a window. The frames have a
// checksum, unless more says otherwise.
func newEncoderOf(effort zstd.EncoderLevel, window int, more ...zstd.EOption) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, append([]zstd.EOption{
		zstd.WithEncoderLevel(effort),
		zstd.WithEncoderConcurrency(1), // one call at a time
		zstd.WithWindowSize(window),
		// This omits the room to slide the window in, which is not needed.
		zstd.WithLowerEncoderMem(true),
		// Otherwise a small frame has no size, and a dictionary is out of reach before the end.
		zstd.WithSingleSegment(true),
		// This saves a third of a percent at no cost.
		zstd.WithAllLitEntropyCompression(true),
		zstd.WithZeroFrames(true),
		zstd.WithEncoderCRC(true),
	}, more...)...)
}
