package binary

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

const (
	// ChunkHeaderBytes are the id and the number of data bytes.
	ChunkHeaderBytes = StreamIDBytes + 8
	// MaxChunkData is the most bytes that are sent in a chunk. Other output of the pipe waits for
	// one chunk at most.
	MaxChunkData = 64 << 10
	// MaxChunkAccepted is the most bytes that a received chunk may have.
	MaxChunkAccepted = 1 << 20

	sizeEnd   = 0
	sizeAbort = math.MaxUint64
)

// Chunk is a piece of a stream on a pipe that also carries messages. A chunk without data ends the
// stream: all of it was sent, unless Aborted is set.
type Chunk struct {
	Stream  StreamID
	Data    []byte
	Aborted bool
}

// ErrChunk says that the input is no chunk: the rest of the pipe cannot be understood.
var ErrChunk = errors.New("malformed chunk")

// IsChunk reports whether a chunk begins with the byte. No message does.
func IsChunk(first byte) bool { return first&firstBit != 0 }

// Ends reports whether this is the last chunk of the stream.
func (c Chunk) Ends() bool { return len(c.Data) == 0 }

// Append appends the chunk to b. An aborted chunk has no data.
func (c Chunk) Append(b []byte) []byte {
	size := uint64(len(c.Data))
	if c.Aborted {
		size = sizeAbort
	}
	b = binary.BigEndian.AppendUint64(append(b, c.Stream[:]...), size)
	return append(b, c.Data...)
}

// ReadChunk reads a chunk and no byte more. Its data is put into buffer if that is large enough. A
// truncated chunk is [io.ErrUnexpectedEOF], the end of the pipe before the first byte io.EOF, and
// invalid input [ErrChunk].
func ReadChunk(r io.Reader, buffer []byte) (Chunk, error) {
	var header [ChunkHeaderBytes]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return Chunk{}, err
	}
	c := Chunk{Stream: StreamID(header[:StreamIDBytes])}
	if err := c.Stream.check(); err != nil {
		return Chunk{}, fmt.Errorf("%w: %w", ErrChunk, err)
	}
	size := binary.BigEndian.Uint64(header[StreamIDBytes:])
	switch {
	case size == sizeAbort:
		c.Aborted = true
		return c, nil
	case size == sizeEnd:
		return c, nil
	case size > MaxChunkAccepted:
		return Chunk{}, fmt.Errorf("%w: %d bytes are more than %d", ErrChunk, size, MaxChunkAccepted)
	case size > uint64(cap(buffer)):
		buffer = make([]byte, size)
	}
	c.Data = buffer[:size]
	if _, err := io.ReadFull(r, c.Data); err != nil {
		return Chunk{}, unexpected(err)
	}
	return c, nil
}

// unexpected turns io.EOF into [io.ErrUnexpectedEOF].
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
