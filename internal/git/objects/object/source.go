package object

import (
	"io"
	"sync"

	"github.com/repomcp/repomcp/internal/git/inflate"
)

// Buffers are reusable buffers for reading objects. The zero value is ready; a process has one for
// all objects.
type Buffers struct {
	inflaters sync.Pool // of *inflate.Reader
	pieces    sync.Pool // of *[]byte, of pieceBytes
}

func (b *Buffers) takePiece() *[]byte {
	if piece, ok := b.pieces.Get().(*[]byte); ok {
		return piece
	}
	piece := make([]byte, pieceBytes)
	return &piece
}

func (b *Buffers) givePiece(piece *[]byte) { b.pieces.Put(piece) }

// content is a source in memory.
type content struct {
	rest []byte
	held int
}

// Bytes returns a source of bytes that are in memory.
func Bytes(b []byte) Source { return &content{b, cap(b)} }

func (c *content) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *content) Held() int64 { return int64(c.held) }

func (c *content) Close() { c.rest, c.held = nil, 0 }

// Stream is a source that inflates from a file in a fixed buffer.
type Stream struct {
	*inflate.Reader
	buffers *Buffers
}

// Inflate returns a source of the zlib stream at off, which has at most length bytes. The caller
// keeps the file.
func (b *Buffers) Inflate(file io.ReaderAt, off, length int64) (*Stream, error) {
	inflater, ok := b.inflaters.Get().(*inflate.Reader)
	if !ok {
		inflater = new(inflate.Reader)
	}
	s := &Stream{inflater, b}
	if err := inflater.Reset(file, off, length); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Held is the memory of the buffers.
func (s *Stream) Held() int64 { return inflate.ReaderBytes }

// Close gives the buffers back.
func (s *Stream) Close() {
	s.Release()
	s.buffers.inflaters.Put(s.Reader)
}
