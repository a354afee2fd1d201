package binary

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
)

// UnknownSize in a [Ref] says that the size is known only at the end of the bytes.
const UnknownSize = -1

// Checksum is a SHA-256.
type Checksum [sha256.Size]byte

// ErrChecksum says that a string is no checksum.
var ErrChecksum = errors.New("a checksum is a SHA-256 in 64 small hexadecimal digits")

// MarshalText implements [encoding.TextMarshaler].
func (c Checksum) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, c[:]), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. The error is [ErrChecksum].
func (c *Checksum) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(c) || !bytes.Equal(hex.AppendEncode(nil, raw), text) {
		return ErrChecksum
	}
	copy(c[:], raw)
	return nil
}

// Ref is a binaryRef of the RFC: a message's declaration of the bytes that follow it, and at their
// end the parts of it that were not known before.
type Ref struct {
	Stream StreamID `json:"streamId"`
	// Size in bytes, or [UnknownSize].
	Size int64 `json:"size"`
	// Checksum of the bytes; nil where it is not known yet.
	Checksum *Checksum `json:"checksum,omitempty"`
}

// Ends reports whether size and checksum have to follow the bytes, because one of them was not
// known before.
func (r Ref) Ends() bool { return r.Size < 0 || r.Checksum == nil }

// Bytes can differ from their declaration in these ways.
var (
	ErrSize = errors.New("the stream has another size than was declared")
	ErrSum  = errors.New("the stream has another SHA-256 than was declared")
)

// Tally counts and hashes the bytes of a stream that are written to it.
type Tally struct {
	hash hash.Hash
	size int64
}

// NewTally makes an empty tally.
func NewTally() *Tally { return &Tally{hash: sha256.New()} }

// Write implements [io.Writer]. It never fails.
func (t *Tally) Write(p []byte) (int, error) {
	t.size += int64(len(p))
	return t.hash.Write(p)
}

// Size returns the number of bytes.
func (t *Tally) Size() int64 { return t.size }

// Ref returns the size and checksum of the bytes.
func (t *Tally) Ref(id StreamID) Ref {
	var sum Checksum
	t.hash.Sum(sum[:0])
	return Ref{Stream: id, Size: t.size, Checksum: &sum}
}

// Compare fails with [ErrSize] or [ErrSum] if the bytes differ from a declaration.
func (t *Tally) Compare(declared Ref) error {
	found := t.Ref(declared.Stream)
	switch {
	case declared.Size >= 0 && declared.Size != found.Size:
		return fmt.Errorf("%w: %d of %d bytes", ErrSize, found.Size, declared.Size)
	case declared.Checksum != nil && *declared.Checksum != *found.Checksum:
		return ErrSum
	default:
		return nil
	}
}
