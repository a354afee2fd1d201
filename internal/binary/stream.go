package binary

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
)

// StreamIDBytes is the length of an id in frames and chunks.
const StreamIDBytes = 16

// StreamID names a stream: a random UUID (RFC 9562, version 4) whose first bit is
// set. The first byte of a chunk then tells it from a message on the same pipe,
// which is UTF-8 that begins with a bracket.
type StreamID [StreamIDBytes]byte

// ErrStreamID says that something is no id of a stream.
var ErrStreamID = errors.New("a stream id is a random UUID (version 4) whose first bit is set")

// The bits of an id that are not random.
const (
	firstBit                 = 0x80
	versionBits, versionMask = 0x40, 0xf0
	variantBits, variantMask = 0x80, 0xc0
)

// NewStreamID makes an id that nobody can guess.
func NewStreamID() (id StreamID) {
	_, _ = rand.Read(id[:]) // it never fails
	id[0] |= firstBit
	id[6] = id[6]&^versionMask | versionBits
	id[8] = id[8]&^variantMask | variantBits
	return id
}

// check returns ErrStreamID for what NewStreamID never makes.
func (id StreamID) check() error {
	if id[0]&firstBit == 0 || id[6]&versionMask != versionBits || id[8]&variantMask != variantBits {
		return ErrStreamID
	}
	return nil
}

// groups are where the hyphens of the text stand between: the bytes of an id.
var groups = [...]struct{ start, end int }{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}}

// textBytes is the length of an id as a text.
const textBytes = 2*StreamIDBytes + len(groups) - 1

// String returns the id as it stands in messages.
func (id StreamID) String() string {
	text := make([]byte, 0, textBytes)
	for i, g := range groups {
		if i > 0 {
			text = append(text, '-')
		}
		text = hex.AppendEncode(text, id[g.start:g.end])
	}
	return string(text)
}

// MarshalText implements [encoding.TextMarshaler].
func (id StreamID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *StreamID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseStreamID(string(text))
	return err
}

// ParseStreamID reads what String writes, and nothing else. The error is
// [ErrStreamID].
func ParseStreamID(text string) (id StreamID, err error) {
	if len(text) != textBytes {
		return StreamID{}, ErrStreamID
	}
	at := 0
	for _, g := range groups {
		digits := 2 * (g.end - g.start)
		if _, err := hex.Decode(id[g.start:g.end], []byte(text[at:at+digits])); err != nil {
			return StreamID{}, ErrStreamID
		}
		at += digits + 1
	}
	if id.String() != text { // capitals, and other things than hyphens
		return StreamID{}, ErrStreamID
	}
	return id, id.check()
}
