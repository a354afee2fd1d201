package binary

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// StreamIDBytes is the length of an id in frames and chunks.
const StreamIDBytes = 16

// StreamID names a stream: a random UUID (RFC 9562, version 4) whose first bit is set. The first
// byte of a chunk thereby differs from that of a message on the same pipe, which is UTF-8 that
// begins with a bracket.
type StreamID [StreamIDBytes]byte

// ErrStreamID says that a string is no stream id.
var ErrStreamID = errors.New("a stream id is a random UUID (version 4) whose first bit is set")

// These bits of an id are not random.
const (
	firstBit                 = 0x80
	versionBits, versionMask = 0x40, 0xf0
	variantBits, variantMask = 0x80, 0xc0
)

// NewStreamID makes an id that cannot be guessed.
func NewStreamID() (id StreamID) {
	_, _ = rand.Read(id[:]) // it never fails
	id[0] |= firstBit
	id[6] = id[6]&^versionMask | versionBits
	id[8] = id[8]&^variantMask | variantBits
	return id
}

// check returns ErrStreamID for ids that NewStreamID never makes.
func (id StreamID) check() error {
	if id[0]&firstBit == 0 || id[6]&versionMask != versionBits || id[8]&variantMask != variantBits {
		return ErrStreamID
	}
	return nil
}

// String returns the id as it stands in messages.
func (id StreamID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// MarshalText implements [encoding.TextMarshaler].
func (id StreamID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *StreamID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseStreamID(string(text))
	return err
}

// ParseStreamID reads only what String writes. The error is [ErrStreamID].
func ParseStreamID(text string) (id StreamID, err error) {
	raw, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(raw) != len(id) {
		return StreamID{}, ErrStreamID
	}
	if id = StreamID(raw); id.String() != text { // capitals, or misplaced hyphens
		return StreamID{}, ErrStreamID
	}
	return id, id.check()
}
